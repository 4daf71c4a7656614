"""The Python interface: evaluate, load, compare, gate, report.

Loading, comparing and gating need neither torch nor Hydra; :func:`evaluate` imports them.
"""

from wbgpu.gating.load import load_policy
from wbgpu.gating.noninferiority import Noninferiority
from wbgpu.gating.regret_policy import RegretThresholds
from wbgpu.gating.thresholds import Thresholds
from wbgpu.sdk.deciding import compare, compare_regret, decide, gate, gate_regret, rank
from wbgpu.sdk.evaluation import evaluate
from wbgpu.sdk.lerobot import LeRobotImport, import_lerobot
from wbgpu.sdk.reports import PAGE_SUFFIXES, report_page, verify_run, write_report
from wbgpu.sdk.results import RESULT_FILES, AnyResult, load_result, save_result

__all__ = [
    "AnyResult",
    "LeRobotImport",
    "Noninferiority",
    "PAGE_SUFFIXES",
    "RESULT_FILES",
    "RegretThresholds",
    "Thresholds",
    "compare",
    "compare_regret",
    "decide",
    "evaluate",
    "gate",
    "gate_regret",
    "import_lerobot",
    "load_policy",
    "load_result",
    "rank",
    "report_page",
    "save_result",
    "verify_run",
    "write_report",
]
