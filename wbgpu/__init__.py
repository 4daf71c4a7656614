"""wbgpu: did this world-model checkpoint get better or worse, where, and are we sure?

>>> import wbgpu
>>> baseline = wbgpu.evaluate("gt", "step00060", num_context=4)    # doctest: +SKIP
>>> candidate = wbgpu.evaluate("gt", "step00900", num_context=4)   # doctest: +SKIP
>>> wbgpu.gate(baseline, candidate).status                          # doctest: +SKIP
'PASS'

Torch is imported by :func:`evaluate` and by :mod:`wbgpu.metrics`, not by ``import wbgpu``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wbgpu.version import __version__

if TYPE_CHECKING:
    from wbgpu.aggregate.horizon_tests import horizon_tests
    from wbgpu.errors import WbgpuError
    from wbgpu.gating.noninferiority import Noninferiority
    from wbgpu.gating.thresholds import Thresholds
    from wbgpu.records.comparison import Comparison, Verdict
    from wbgpu.records.regret import RegretResult
    from wbgpu.records.suite import EpisodeResult, SuiteResult
    from wbgpu.sdk import (
        compare,
        compare_regret,
        evaluate,
        gate,
        gate_regret,
        load_policy,
        load_result,
        rank,
        save_result,
        verify_run,
        write_report,
    )

_HOMES = {
    "Comparison": "wbgpu.records.comparison",
    "EpisodeResult": "wbgpu.records.suite",
    "Noninferiority": "wbgpu.gating.noninferiority",
    "RegretResult": "wbgpu.records.regret",
    "SuiteResult": "wbgpu.records.suite",
    "Thresholds": "wbgpu.gating.thresholds",
    "Verdict": "wbgpu.records.comparison",
    "WbgpuError": "wbgpu.errors",
    "compare": "wbgpu.sdk",
    "compare_regret": "wbgpu.sdk",
    "evaluate": "wbgpu.sdk",
    "gate": "wbgpu.sdk",
    "gate_regret": "wbgpu.sdk",
    "horizon_tests": "wbgpu.aggregate.horizon_tests",
    "load_policy": "wbgpu.sdk",
    "load_result": "wbgpu.sdk",
    "rank": "wbgpu.sdk",
    "save_result": "wbgpu.sdk",
    "verify_run": "wbgpu.sdk",
    "write_report": "wbgpu.sdk",
}

__all__ = [
    "Comparison",
    "EpisodeResult",
    "Noninferiority",
    "RegretResult",
    "SuiteResult",
    "Thresholds",
    "Verdict",
    "WbgpuError",
    "__version__",
    "compare",
    "compare_regret",
    "evaluate",
    "gate",
    "gate_regret",
    "horizon_tests",
    "load_policy",
    "load_result",
    "rank",
    "save_result",
    "verify_run",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
