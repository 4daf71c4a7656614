"""Hypothesis strategies for whole results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.records.results import COMPOSITE, episode, metric_id, suite
from wbgpu.records.metric import SCORE_UNIT, MetricInfo, MetricOutcome
from wbgpu.records.suite import EpisodeFailure, EpisodeResult, Protocol, Provenance, SuiteResult
from wbgpu.records.tile import Tile
from wbgpu.records.video import Alignment, VideoInfo

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
SCORES = st.floats(0, 100, allow_subnormal=False)
VALUES = st.floats(-1e4, 1e4, allow_subnormal=False)
OTHERS = ("psnr", "skill_persistence", "mean|psnr")

VIDEOS = st.builds(
    VideoInfo,
    path=TEXT,
    num_frames=st.integers(0, 500),
    height=st.integers(1, 4096),
    width=st.integers(1, 4096),
    fps=st.none() | st.floats(0.1, 240),
    codec=TEXT,
    pixel_format=TEXT,
    color_space=st.none() | TEXT,
    color_range=st.none() | TEXT,
    rotation_degrees=st.sampled_from((0, 90, 180, 270)),
    is_variable_frame_rate=st.booleans(),
    backend=TEXT,
    device=TEXT,
    fallback_reason=st.none() | TEXT,
    frames=st.none() | st.tuples(st.integers(0, 9), st.integers(10, 99)),
    tile=st.none() | st.builds(Tile, *[st.integers(0, 9)] * 6),
    float_range=st.none() | st.tuples(VALUES, VALUES),
)
PROVENANCES = st.builds(
    Provenance,
    environment=st.dictionaries(TEXT, TEXT, max_size=3),
    device=TEXT,
    statistics_path=TEXT,
    decoder=TEXT,
    input_sha256=st.dictionaries(TEXT, TEXT, max_size=3),
    configuration=st.dictionaries(TEXT, st.none() | st.integers() | TEXT, max_size=3),
    configuration_file=st.none() | TEXT,
    command=st.none() | TEXT,
)


@st.composite
def outcomes(draw: st.DrawFn, name: str, num_steps: int) -> MetricOutcome:
    numbers = SCORES if name in COMPOSITE else VALUES
    views = st.lists(st.none() | numbers, min_size=num_steps, max_size=num_steps).map(tuple)
    status = draw(st.sampled_from(("available", "unsupported", "error")))
    prefix: tuple[float | None, ...] = draw(st.just(()) | views)
    step = draw(st.just(()) | views)
    reasons = draw(st.lists(TEXT.filter(bool), min_size=num_steps, max_size=num_steps))
    whole_reason = None if status == "available" else draw(TEXT.filter(bool))
    missing = tuple(
        None if value is not None or reason == whole_reason else reason
        for value, reason in zip(prefix, reasons, strict=False)
    )
    prefix_reasons = missing if any(missing) else ()
    if status != "available" and all(value is None for value in prefix):
        prefix = ()
    details = {}
    if any(value is not None for value in prefix):
        column = tuple(None if value is None else (1, draw(VALUES)) for value in prefix)
        details = {"mse": column} if draw(st.booleans()) else {}
    if status == "available":
        return MetricOutcome(
            name,
            metric_id(name),
            "available",
            value=draw(numbers),
            prefix=prefix,
            step=step,
            prefix_details=details,
            issues=draw(st.lists(TEXT, max_size=2).map(tuple)),
            prefix_reasons=prefix_reasons,
        )
    return MetricOutcome(
        name,
        metric_id(name),
        status,
        reason=whole_reason,
        error_type="ValueError" if status == "error" else None,
        prefix=prefix,
        step=step,
        prefix_details=details,
        issues=draw(st.lists(TEXT, max_size=2).map(tuple)),
        prefix_reasons=prefix_reasons,
    )


@st.composite
def episodes(draw: st.DrawFn, episode_id: str, may_fail: bool = True) -> EpisodeResult:
    if may_fail and draw(st.integers(0, 4)) == 0:
        return EpisodeResult(
            episode_id, draw(TEXT), draw(TEXT), 0, None, failure=EpisodeFailure("E", draw(TEXT))
        )
    num_steps = draw(st.integers(1, 4))
    names = draw(st.lists(st.sampled_from((*COMPOSITE, *OTHERS)), unique=True, max_size=4))
    found = episode(episode_id, [draw(outcomes(name, num_steps)) for name in names], num_steps)
    alignment = st.builds(
        Alignment,
        policy=st.sampled_from(("strict", "safe")),
        num_context=st.integers(0, 5),
        num_steps=st.just(num_steps),
        target=VIDEOS,
        prediction=VIDEOS,
        resized=st.booleans(),
        fps_differed=st.booleans(),
        max_count_mismatch=st.integers(0, 9),
        warnings=st.lists(TEXT, max_size=2).map(tuple),
    )
    return replace(
        found,
        alignment=draw(st.none() | alignment),
        warnings=draw(st.lists(TEXT, max_size=2).map(tuple)),
    )


@st.composite
def batches(draw: st.DrawFn) -> SuiteResult:
    ids = sorted(draw(st.lists(TEXT, min_size=1, max_size=4, unique=True)))
    return _agreeing(suite([draw(episodes(i)) for i in ids], **draw(_facts())))


@st.composite
def evaluations(draw: st.DrawFn) -> SuiteResult:
    ids = sorted(draw(st.lists(TEXT, min_size=1, max_size=3, unique=True)))
    found = [draw(episodes(i, may_fail=False)) for i in ids]
    return _agreeing(suite(found, result_type="evaluation", **draw(_facts())))


def _agreeing(result: SuiteResult) -> SuiteResult:
    """With one number of context frames and one policy in all places that state them."""
    assert result.protocol is not None
    assert result.num_context is not None
    facts: dict[str, Any] = {
        "policy": result.protocol.alignment_policy,
        "num_context": result.num_context,
    }
    return replace(
        result,
        protocol=replace(result.protocol, num_context=result.num_context),
        episodes=tuple(
            e if e.alignment is None else replace(e, alignment=replace(e.alignment, **facts))
            for e in result.episodes
        ),
    )


def _facts() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "checkpoint_name": TEXT,
            "created_at": TEXT,
            "ground_truth_root": TEXT,
            "predictions_root": TEXT,
            "num_context": st.integers(0, 9),
            "dataset_identifier": st.none() | TEXT,
            "required_metrics": st.lists(st.sampled_from(COMPOSITE), unique=True).map(tuple),
            "configuration_hash": st.none() | TEXT,
            "metric_infos": st.just(
                {
                    name: MetricInfo(
                        name,
                        metric_id(name),
                        SCORE_UNIT if name in COMPOSITE else "dB",
                        higher_is_better=name != "psnr",
                    )
                    for name in (*COMPOSITE, *OTHERS)
                }
            ),
            "protocol": st.builds(
                Protocol,
                st.just({name: metric_id(name) for name in (*COMPOSITE, *OTHERS)}),
                st.just(0),
                st.sampled_from(("strict", "safe")),
                TEXT,
            ),
            "provenance": st.none() | PROVENANCES,
            "notes": st.lists(TEXT, max_size=2).map(tuple),
        }
    )
