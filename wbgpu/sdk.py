"""The Python interface: evaluate, load, compare, gate.

Loading, comparing and gating need neither torch nor Hydra; :func:`evaluate` imports them.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wbgpu.aggregate.bootstrap import change_interval
from wbgpu.aggregate.comparison import compare as _compare
from wbgpu.aggregate.consistency import check_result
from wbgpu.aggregate.regret_comparison import compare_regret as _compare_regret
from wbgpu.aggregate.regret_consistency import check_regret
from wbgpu.errors import ConfigurationError, IncompatibleResultsError, ResultFileError
from wbgpu.gating.policy import decide as _decide
from wbgpu.gating.regret_policy import RegretThresholds, decide_regret
from wbgpu.gating.thresholds import Thresholds
from wbgpu.records.garbage import collection_paused
from wbgpu.records.regret import INTERVAL_LEVEL, RegretResult
from wbgpu.records.regret_file import is_regret, parse_regret, regret_payload
from wbgpu.records.strict_json import read_json, write_json, write_text
from wbgpu.records.suite import SuiteResult
from wbgpu.records.timeline import Timeline
from wbgpu.records.worldbench import batch_payload, evaluation_payload, parse_result
from wbgpu.report.markdown import result_report
from wbgpu.report.regret_markdown import regret_report
from wbgpu.report.throughput import throughput_summary

if TYPE_CHECKING:
    from wbgpu.models import WorldModel
    from wbgpu.records.comparison import Comparison, Verdict
    from wbgpu.records.regret_comparison import RegretComparison, RegretVerdict
    from wbgpu.records.video import AlignmentPolicy

AnyResult = SuiteResult | RegretResult
"""What :func:`load_result` reads."""

RESULT_FILES = ("batch.json", "result.json")
"""Names of results in a run's folder."""


def evaluate(
    ground_truth: str | Path,
    predictions: str | Path | None = None,
    *,
    model: WorldModel | None = None,
    actions: str | Path | None = None,
    num_context: int = 0,
    metrics: Sequence[str] | None = None,
    name: str | None = None,
    alignment: AlignmentPolicy = "strict",
    device: str = "auto",
    overrides: Sequence[str] = (),
    progress: bool = False,
    trace: str | Path | None = None,
) -> SuiteResult:
    """Score one checkpoint against ground truth: the videos it predicted, or the model itself.

    Args:
        ground_truth, predictions: two folders of videos paired by relative path, or two files.
        model: predicts from the context frames, instead of ``predictions``; see
            `wbgpu.models.WorldModel`. Its modes, its gradients and all generators of random numbers
            are afterwards what they were before. Models that the configuration names are given by
            ``overrides``, such as ``model=copy_last``.
        actions: for the model: folder of saved actions, see `wbgpu.episodes.actions`.
        num_context: leading frames that the model was given; they are not scored.
        metrics: names of ``configs/metrics``; ``None`` for the default set.
        name: checkpoint name; ``None`` takes the predictions folder's name.
        alignment: ``strict`` (equal lengths, sizes, rates) or ``safe`` (common prefix, resize).
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        overrides: further Hydra overrides, such as ``loader.window_frames=32``.
        progress: show a progress bar on standard error.
        trace: measure every stage, write what each thread did when to this file, which
            chrome://tracing and ui.perfetto.dev open, and print the throughput on standard error.

    Returns:
        The result; episodes that could not be scored are in ``failed_episodes``.

    Raises:
        ConfigurationError: a setting is wrong.
        InputError: folders that do not exist or do not pair up.
        NothingScoredError: every episode failed.
    """
    from wbgpu.evaluation.configuration import compose, request_from
    from wbgpu.evaluation.run import run
    from wbgpu.evaluation.undisturbed import undisturbed

    if isinstance(metrics, str):
        raise ConfigurationError(f"metrics: expected a list of names, got the text {metrics!r}")
    chosen = [] if metrics is None else [f"metrics=[{','.join(metrics)}]"]
    values: dict[str, Any] = {"suite.ground_truth": str(ground_truth)}
    # Defaults stay out, so that an override may set the same key.
    for key, value, default in (
        ("suite.predictions", None if predictions is None else str(predictions), None),
        ("suite.actions", None if actions is None else str(actions), None),
        ("suite.num_context", num_context, 0),
        ("suite.alignment", alignment, "strict"),
        ("name", name, None),
        ("device", str(device), "auto"),
    ):
        if value != default:
            values[key] = value
    request = request_from(compose([*chosen, *overrides], values), model=model)
    if trace is None:
        if request.measures_stages:
            raise ConfigurationError("profile: from Python, give evaluate(..., trace='trace.json')")
        with undisturbed(model):
            return run(request, show_progress=progress)
    timeline = Timeline()
    with undisturbed(model):
        result = run(request, show_progress=progress, timeline=timeline)
    write_text(trace, json.dumps(timeline.trace()) + "\n")
    print(throughput_summary(timeline), file=sys.stderr)
    return result


def load_result(path: str | Path) -> AnyResult:
    """Read a result of wbgpu or worldbench: a file, or a run's folder.

    Returns:
        A :class:`RegretResult` of what ``wbgpu regret`` wrote, else a :class:`SuiteResult`.

    Raises:
        ResultFileError: not strict JSON, not a known result, or the file contradicts itself;
            the message names the place.
    """
    file = Path(path)
    if file.is_dir():
        names = [name for name in RESULT_FILES if (file / name).is_file()]
        if not names:
            raise ResultFileError(file, "$", f"no {' or '.join(RESULT_FILES)} in this folder")
        file = file / names[0]
    document = read_json(file)
    if is_regret(document):
        regret = parse_regret(document, file)
        check_regret(regret, file)
        return regret
    result = parse_result(document, file)
    check_result(result, file)
    return result


@collection_paused()
def save_result(result: AnyResult, path: str | Path) -> Path:
    """Write a result as JSON that wbgpu reads, and worldbench too unless it is of regret.

    The file appears whole or not at all.
    """
    if isinstance(result, RegretResult):
        return write_json(path, regret_payload(result))
    if result.result_type == "evaluation":
        return write_json(path, evaluation_payload(result))
    return write_json(path, batch_payload(result))


def write_report(
    result: AnyResult | str | Path,
    path: str | Path,
    baseline: AnyResult | str | Path | None = None,
) -> Path:
    """Write a Markdown report of a result, with its changes against a baseline if given.

    Raises:
        IncompatibleResultsError: one is of regret and the other of videos, or regret was measured
            on other episodes.
        ResultFileError: as :func:`load_result`.
    """
    after = _result(result)
    before = None if baseline is None else _result(baseline)
    if isinstance(after, RegretResult) or isinstance(before, RegretResult):
        change = None if before is None else compare_regret(before, after)
        return write_text(path, regret_report(_regret(after), change))
    return write_text(path, result_report(after, before))


def compare(
    baseline: SuiteResult | str | Path,
    candidate: SuiteResult | str | Path,
    *,
    strict: bool = True,
) -> Comparison:
    """Compare two results on the same episodes; change is candidate - baseline.

    Raises:
        IncompatibleResultsError: other episodes, other ground truth, two definitions of one
            metric, (``strict``) another number of context frames, or a result of regret.
        ResultFileError: as :func:`load_result`.
    """
    return _compare(_suite(baseline), _suite(candidate), strict=strict)


def gate(
    baseline: SuiteResult | str | Path, candidate: SuiteResult | str | Path, **thresholds: Any
) -> Verdict:
    """Decide PASS or FAIL.

    Args:
        baseline, candidate: results, their files or their run folders.
        **thresholds: fields of :class:`wbgpu.gating.thresholds.Thresholds`.

    Raises:
        ConfigurationError: a threshold is unknown, not finite or out of range.
        IncompatibleResultsError, ResultFileError: as :func:`compare`.
    """
    limits = Thresholds(**_known(thresholds, Thresholds))
    return decide(compare(baseline, candidate, strict=limits.strict_config_match), limits)


def compare_regret(
    baseline: AnyResult | str | Path,
    candidate: AnyResult | str | Path,
    *,
    level: float = INTERVAL_LEVEL,
) -> RegretComparison:
    """Compare two regret results, paired by seed; change is candidate - baseline, nats per step.

    Args:
        baseline, candidate: results of ``wbgpu regret``, their files or their run folders.
        level: confidence of the interval of the paired change.

    Raises:
        IncompatibleResultsError: another world, other seeds, another number of steps, or a result
            that is not of regret.
        ResultFileError: as :func:`load_result`.
    """
    return _compare_regret(_regret(baseline), _regret(candidate), level=level)


def gate_regret(
    baseline: AnyResult | str | Path, candidate: AnyResult | str | Path, **thresholds: Any
) -> RegretVerdict:
    """Decide PASS or FAIL on regret.

    Args:
        baseline, candidate: results of ``wbgpu regret``, their files or their run folders.
        **thresholds: fields of :class:`wbgpu.gating.regret_policy.RegretThresholds`.

    Raises:
        ConfigurationError: a threshold is unknown, not finite or out of range.
        IncompatibleResultsError, ResultFileError: as :func:`compare_regret`.
    """
    limits = RegretThresholds(**_known(thresholds, RegretThresholds))
    return decide_regret(compare_regret(baseline, candidate, level=limits.confidence_level), limits)


def decide(comparison: Comparison, thresholds: Thresholds) -> Verdict:
    """Decide PASS or FAIL on a comparison, with an interval where the thresholds ask for one."""
    interval = None
    if thresholds.bootstrap_samples:
        interval = change_interval(
            comparison,
            num_samples=thresholds.bootstrap_samples,
            seed=thresholds.bootstrap_seed,
            level=thresholds.confidence_level,
        )
    return _decide(comparison, thresholds, interval)


def _known(thresholds: dict[str, Any], kind: type) -> dict[str, Any]:
    """The thresholds, which must be fields of ``kind``."""
    known = [field.name for field in fields(kind)]
    if unknown := sorted(set(thresholds) - set(known)):
        near = difflib.get_close_matches(unknown[0], known, n=1, cutoff=0.0)[0]
        raise ConfigurationError(f"gate: unknown threshold {unknown[0]!r}; nearest: {near!r}")
    return thresholds


def _result(value: AnyResult | str | Path) -> AnyResult:
    return load_result(value) if isinstance(value, (str, Path)) else value


def _suite(value: AnyResult | str | Path) -> SuiteResult:
    result = _result(value)
    if isinstance(result, RegretResult):
        raise IncompatibleResultsError(
            f"{_what(value, result)} is a result of regret, not of videos; compare it with another "
            "one of regret (compare_regret and gate_regret in Python)"
        )
    return result


def _regret(value: AnyResult | str | Path) -> RegretResult:
    result = _result(value)
    if isinstance(result, SuiteResult):
        raise IncompatibleResultsError(
            f"{_what(value, result)} is a result of videos, not of regret; the two kinds cannot be "
            "compared with each other"
        )
    return result


def _what(value: AnyResult | str | Path, result: AnyResult) -> str:
    if isinstance(value, (str, Path)):
        return str(value)
    return result.contestant if isinstance(result, RegretResult) else result.checkpoint_name


__all__ = [
    "RegretThresholds",
    "Thresholds",
    "compare",
    "compare_regret",
    "decide",
    "evaluate",
    "gate",
    "gate_regret",
    "load_result",
    "save_result",
    "write_report",
]
