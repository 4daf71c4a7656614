"""Evaluate a checkpoint."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wbgpu.errors import ConfigurationError
from wbgpu.records.strict_json import write_text
from wbgpu.records.suite import SuiteResult
from wbgpu.records.timeline import Timeline
from wbgpu.report.throughput import throughput_summary

if TYPE_CHECKING:
    from wbgpu.models import WorldModel
    from wbgpu.records.video import AlignmentPolicy


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
