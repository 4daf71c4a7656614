"""wbgpu against worldbench 0.4.1 on frame datasets: its recorded results, to 1e-5."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wbgpu
from wbgpu.records.worldbench import evaluation_payload

SCENARIOS = (
    "action_mismatch",
    "object_disappears",
    "pre_contact_motion",
    "push_cube",
    "temporal_flicker",
)
EDGES = (
    "alternating",
    "contact_boundary",
    "fewer_preds",
    "flash",
    "modes",
    "more_preds",
    "no_actions",
    "no_robot_sat_fallback",
    "noise_only",
    "odd_51x35",
    "one_frame",
    "robot_missing",
    "seven_7x7",
    "shrinking_object",
    "two_frames",
)


def _scored(dataset: Path, predictions: Path | None) -> dict[str, Any]:
    result = wbgpu.evaluate(dataset, predictions, overrides=["suite=frames"])
    assert not result.failed_episodes
    return evaluation_payload(result)


def _differences(ours: Any, theirs: Any, path: str = "$") -> Iterator[str]:
    """Places where ours lacks or contradicts something of theirs; it may have more."""
    if isinstance(theirs, dict):
        for key, value in theirs.items():
            # Sentences for a person are our own, except the reasons of what is not there.
            if key in ("issues", "main_failure", "exit", "unavailable", "snapshot_equal"):
                continue
            if not isinstance(ours, dict) or key not in ours:
                yield f"{path}.{key} is missing"
            else:
                yield from _differences(ours[key], value, f"{path}.{key}")
    elif isinstance(theirs, list):
        if not isinstance(ours, list) or len(ours) != len(theirs):
            yield f"{path}: {ours!r} and not {theirs!r}"
        else:
            for index, (one, other) in enumerate(zip(ours, theirs)):
                yield from _differences(one, other, f"{path}[{index}]")
    elif isinstance(theirs, float) and isinstance(ours, (int, float)):
        if abs(ours - theirs) > 1e-5 + 3e-7 * abs(theirs):
            yield f"{path}: {ours!r} and not {theirs!r}"
    elif ours != theirs:
        yield f"{path}: {ours!r} and not {theirs!r}"


def _assert_as_recorded(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    ours = dict(ours, episodes={entry["episode"]: entry for entry in ours["episodes"]})
    for entry in (*theirs["episodes"].values(), theirs):
        for metric in entry["metrics"].values():
            if metric["status"] == "unsupported":
                # Which actions there were, and which episodes lack it, stands elsewhere in ours.
                metric.pop("details")
    for episode in theirs["episodes"].values():
        for entry in episode["horizon"].values():
            # Recorded flat: the score and some of the details.
            entry["metrics"] = {
                name: {"score": value.pop("score"), "details": value}
                for name, value in entry["metrics"].items()
            }
    assert [*_differences(ours, theirs)] == []
    for name, episode in theirs["episodes"].items():
        for label, entry in episode["horizon"].items():
            found = ours["episodes"][name]["horizon"][label]["unavailable_metrics"]
            reasons = {metric: value["reason"] for metric, value in found.items()}
            assert reasons == entry["unavailable"]


def _recorded(shared: Path, file: str, key: str) -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads((shared / "golden/expected" / file).read_text())[key]
    return recorded


@pytest.mark.parametrize(
    "key", ["png_full/predictions", "png_full/model_good", "png_full/model_bad"]
)
def test_all_five_metrics(shared: Path, key: str) -> None:
    """Values, details, horizons, aggregates, coverage; one episode's predictions are resized."""
    dataset = shared / "golden" / "png_full"
    predictions = None if key.endswith("predictions") else shared / "golden" / key
    _assert_as_recorded(_scored(dataset, predictions), _recorded(shared, "png.json", key))


def test_metrics_that_some_episodes_lack(shared: Path) -> None:
    """A metric counts where every episode has it; the reasons are worldbench's."""
    key = "png_mixed/predictions"
    ours = _scored(shared / "golden" / "png_mixed", None)
    _assert_as_recorded(ours, _recorded(shared, "png.json", key))


@pytest.mark.parametrize("case", EDGES)
def test_edge_cases(shared: Path, case: str) -> None:
    """One frame, no robot, gray images, a boundary of contact ..."""
    ours = _scored(shared / "golden" / "png_edge" / case, None)
    _assert_as_recorded(ours, _recorded(shared, "png.json", f"png_edge/{case}"))


def test_frames_under_7_pixels_have_no_similarity(shared: Path) -> None:
    """worldbench takes another statistic there without a word; all else is equal."""
    ours = _scored(shared / "golden" / "png_edge" / "tiny_6x6", None)
    theirs = _recorded(shared, "png.json", "png_edge/tiny_6x6")
    assert ours["metrics"]["visual_similarity"]["score"] is None
    for name, metric in theirs["metrics"].items():
        if name != "visual_similarity":
            assert ours["metrics"][name]["score"] == metric["score"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenarios_score_as_recorded_and_rank_good_above_bad(shared: Path, scenario: str) -> None:
    """What the five faults are there for."""
    dataset = shared / "data" / "worldbench_scenarios" / scenario
    scores = {}
    for model in ("good_model", "bad_model"):
        ours = _scored(dataset, dataset / model)
        theirs = _recorded(shared, "demo_and_benchmarks.json", f"benchmarks/{scenario}/{model}")
        _assert_as_recorded(ours, theirs)
        scores[model] = ours["score"]
    assert scores["good_model"] > scores["bad_model"] + 1


@pytest.mark.parametrize("window_frames", [1, 3])
def test_no_window_changes_a_score(shared: Path, window_frames: int) -> None:
    """Tracks and own sizes are cut where windows end; no number may show where."""
    dataset = shared / "golden" / "png_full"
    one, other = (
        wbgpu.evaluate(dataset, dataset / "model_bad", overrides=["suite=frames", *overrides])
        for overrides in ([], [f"loader.window_frames={window_frames}"])
    )
    for first, second in zip(one.episodes, other.episodes):
        assert first.metrics == second.metrics
