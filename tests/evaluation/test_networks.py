"""LPIPS, FID and FVD in an evaluation: against torchmetrics, and however a suite is cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torchmetrics.image.fid import _compute_fid

from tests.evaluation.small_suites import write_small_suite
from tests.oracles.seeded_networks import Networks, write_networks
from wbgpu.evaluation.configuration import compose, request_from
from wbgpu.evaluation.networks import EpisodeNetworks
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.evaluation.run import run
from wbgpu.metrics import FrameValueMetric, FrechetDistance, Lpips
from wbgpu.records.strict_json import to_text
from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import batch_payload
from wbgpu.video.encode import write_video
from wbgpu.video.pyav import PyavDecoder
from wbgpu.video.resize import resize_frames

NUM_CONTEXT = 1


@pytest.fixture(autouse=True)
def _same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Networks:
    return write_networks(tmp_path_factory.mktemp("networks"))


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lengths on both sides of a group of 16 steps."""
    return write_small_suite(tmp_path_factory.mktemp("suite"), lengths=(6, 17, 18, 36, 7, 8))


def request(suite: Path, *overrides: str, **values: object) -> EvaluationRequest:
    paths = {
        "suite.ground_truth": str(suite / "gt"),
        "suite.predictions": str(suite / "step00900"),
        "suite.num_context": NUM_CONTEXT,
    }
    return request_from(compose([*overrides], {**paths, **values}))


def evaluate(suite: Path, *overrides: str, **values: object) -> SuiteResult:
    return run(request(suite, *overrides, **values))


def scored(video: Path) -> torch.Tensor:
    """Frames ``[T, 3, H, W]`` after the context."""
    with PyavDecoder().open(video) as reader:
        return reader.read(NUM_CONTEXT, reader.info.num_frames)


def sides(suite: Path) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Prediction and target of every episode."""
    return [
        (scored(suite / "step00900" / path.name), scored(path))
        for path in sorted((suite / "gt").iterdir())
    ]


def test_lpips_of_every_step_and_prefix_is_torchmetrics(suite: Path, networks: Networks) -> None:
    """A step of another episode or side, or a window's first frame twice, would be a number too."""
    result = evaluate(suite, *networks.overrides())
    for episode, (prediction, target) in zip(result.episodes, sides(suite), strict=True):
        with torch.no_grad():
            wanted = networks.lpips(prediction / 127.5 - 1, target / 127.5 - 1).flatten().numpy()
        outcome = episode.metrics["lpips"]
        np.testing.assert_allclose(outcome.step, wanted, rtol=2e-5, atol=1e-7)
        means = [wanted[: step + 1].mean() for step in range(len(wanted))]
        np.testing.assert_allclose(outcome.prefix, means, rtol=2e-5, atol=1e-7)
        assert outcome.value == outcome.prefix[-1]
    assert "lpips" not in result.enabled_metrics
    assert result.summary.metrics["lpips"].available_count == 6


def test_fvd_and_fid_are_torchmetrics_on_the_same_features(suite: Path, networks: Networks) -> None:
    """Frames of another episode or side, or the context, would be in another distribution."""
    result = evaluate(suite, *networks.overrides("fid", "fvd"))
    fid, fvd = result.distribution_distances
    features: dict[str, list[list[torch.Tensor]]] = {"fid": [[], []], "fvd": [[], []]}
    with torch.no_grad():
        for pair in sides(suite):
            for side, frames in enumerate(pair):
                features["fid"][side].append(networks.frames(frames))
                video = (frames / 255 * 2 - 1).transpose(0, 1)[None]
                features["fvd"][side].append(networks.videos(video))
    for distance in (fid, fvd):
        sets = [torch.cat(side).double() for side in features[distance.name]]
        wanted = _compute_fid(sets[0].mean(0), sets[0].T.cov(), sets[1].mean(0), sets[1].T.cov())
        assert wanted > 0
        assert distance.value == pytest.approx(wanted.item(), rel=1e-4, abs=1e-9)
    assert (fvd.num_episodes, fvd.num_observations, fvd.rank_deficiency) == (6, 6, 0)
    assert (fid.num_episodes, fid.num_observations) == (6, 5 + 16 + 17 + 35 + 6 + 7)
    assert len(fvd.extractor_sha256 or "") == 64


def test_bytes_do_not_depend_on_windows_threads_processes_or_a_crash(
    suite: Path, networks: Networks, tmp_path: Path
) -> None:
    """A network's last bits may depend on what it is given together; a suite's result must not."""
    overrides = networks.overrides("fid", "fvd")
    journal = tmp_path / "journal.jsonl"
    result = evaluate(suite, *overrides, journal=str(journal))
    whole = to_text(batch_payload(result))
    assert to_text(batch_payload(evaluate(suite, *overrides, "trainer.devices=2"))) == whole
    for num_frames in (1, 5):
        other = evaluate(suite, *overrides, f"loader.window_frames={num_frames}")
        assert other.distribution_distances == result.distribution_distances
        for ours, theirs in zip(other.episodes, result.episodes, strict=True):
            assert ours.metrics == theirs.metrics
    lines = journal.read_bytes().splitlines(keepends=True)
    for num_finished in (2, 6):
        journal.write_bytes(b"".join(lines[: 1 + num_finished]) + lines[-1][:-9])
        resumed = evaluate(suite, *overrides, "resume=true", journal=str(journal))
        assert to_text(batch_payload(resumed)) == whole


def test_one_thread_or_several_have_the_same_bits(suite: Path, networks: Networks) -> None:
    """Ranks have fewer threads each than one process alone."""
    overrides = networks.overrides("fid", "fvd")
    before = torch.get_num_threads()
    results = []
    try:
        for num_threads in (1, 3):
            torch.set_num_threads(num_threads)
            results.append(to_text(batch_payload(evaluate(suite, *overrides))))
    finally:
        torch.set_num_threads(before)
    assert results[0] == results[1]


def test_a_journal_of_another_extractor_is_refused(
    suite: Path, networks: Networks, tmp_path: Path
) -> None:
    """Features of two extractors would be in one distance."""
    from wbgpu.errors import JournalError

    journal = str(tmp_path / "journal.jsonl")
    evaluate(suite, *networks.overrides("fvd"), journal=journal)
    low = "distribution_metrics.fvd.low=0.0"
    with pytest.raises(JournalError, match=r"distribution_distances\.fvd"):
        evaluate(suite, *networks.overrides("fvd"), low, "resume=true", journal=journal)


def test_identical_videos_are_at_no_distance(suite: Path, networks: Networks) -> None:
    """The zero of all three scales, exactly."""
    values = {"suite.predictions": str(suite / "gt")}
    result = evaluate(suite, *networks.overrides("fid", "fvd"), **values)
    assert [distance.value for distance in result.distribution_distances] == [0.0, 0.0]
    assert {value for e in result.episodes for value in e.metrics["lpips"].step} == {0.0}


def test_a_model_that_runs_and_its_saved_predictions_agree(
    suite: Path, networks: Networks, tmp_path: Path
) -> None:
    """Live frames come in other windows."""
    overrides = networks.overrides("fid", "fvd")
    live = evaluate(
        suite,
        *overrides,
        "model=blur",
        save_predictions=str(tmp_path / "kept"),
        **{"suite.predictions": None},
    )
    saved = evaluate(suite, *overrides, **{"suite.predictions": str(tmp_path / "kept")})
    assert live.distribution_distances == saved.distribution_distances
    for ours, other in zip(live.episodes, saved.episodes, strict=True):
        assert ours.metrics["lpips"].step == other.metrics["lpips"].step


def test_predictions_of_another_size_are_seen_in_the_targets(
    networks: Networks, tmp_path: Path
) -> None:
    """Features of two sizes cannot be subtracted."""
    frames = torch.randint(0, 256, (4, 3, 40, 48), dtype=torch.uint8)
    small = torch.randint(0, 256, (4, 3, 34, 36), dtype=torch.uint8)
    write_video(tmp_path / "gt/a.mp4", frames, 5, lossless=True)
    write_video(tmp_path / "step00900/a.mp4", small, 5, lossless=True)
    safe = ["suite.alignment=safe", "++suite.resize=bicubic"]
    (episode,) = evaluate(tmp_path, *networks.overrides(), *safe).episodes
    ((prediction, target),) = sides(tmp_path)
    resized = resize_frames(prediction, height=40, width=48, rule="bicubic")
    wanted = Lpips(weights=networks.alexnet).frame_values(resized, target)
    assert episode.metrics["lpips"].step == tuple(wanted.tolist())


def test_without_weights_both_say_why(suite: Path) -> None:
    """And nothing is downloaded, nor is the rest of the run lost."""
    result = evaluate(suite, "metrics=[mse,lpips]", "+distribution_metrics=[fid,fvd]")
    outcomes = [episode.metrics["lpips"] for episode in result.episodes]
    assert {outcome.status for outcome in outcomes} == {"unsupported"}
    assert "set weights to a file of torchvision's alexnet" in (outcomes[0].reason or "")
    assert [distance.value for distance in result.distribution_distances] == [None, None]
    assert "set extractor to" in (result.distribution_distances[0].reason or "")
    assert result.summary.metrics["mse"].available_count == 6


def test_frames_that_are_too_small_are_unsupported(networks: Networks, tmp_path: Path) -> None:
    """A layer without a pixel would average to NaN."""
    frames = torch.randint(0, 256, (3, 3, 16, 48), dtype=torch.uint8)
    for side in ("gt", "step00900"):
        write_video(tmp_path / side / "a.mp4", frames, 5, lossless=True)
    (episode,) = evaluate(tmp_path, *networks.overrides()).episodes
    assert episode.metrics["lpips"].status == "unsupported"
    assert episode.metrics["lpips"].reason == "Frames are 16x48; alexnet needs 31 pixels a side."


def test_an_extractor_that_raises_costs_its_own_distance(
    suite: Path, networks: Networks, tmp_path: Path
) -> None:
    """Left out in silence, the distance would be of fewer episodes than it says."""
    short = write_small_suite(tmp_path / "short", lengths=(2, 6, 7))
    result = evaluate(short, *networks.overrides("fid", "fvd"))
    fid, fvd = result.distribution_distances
    assert fid.value is not None
    assert fvd.value is None
    assert (fvd.reason or "").startswith("0.mp4: RuntimeError: ")
    assert not result.failed_episodes
    assert result.summary.metrics["lpips"].available_count == 3


def test_failed_episodes_are_not_counted(networks: Networks, tmp_path: Path) -> None:
    """Frames that came before the damage are in no set."""
    short = write_small_suite(tmp_path, lengths=(5, 6, 7, 8))
    (short / "step00900/1.mp4").write_bytes(b"no video")
    result = evaluate(short, *networks.overrides("fvd"))
    (fvd,) = result.distribution_distances
    assert (fvd.num_episodes, len(result.failed_episodes)) == (3, 1)
    assert fvd.value is not None


def test_groups_are_of_steps_wherever_windows_end() -> None:
    """Seen by a network that says how many frames it was given."""
    seen: list[int] = []

    class Counting(FrameValueMetric):
        name = "counting"
        metric_id = "counting/1"
        unit = "frames"
        higher_is_better = True

        def _values(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            raise NotImplementedError

        def frame_values(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            seen.append(len(target))
            return target[:, 0, 0, 0].double()

    metric = Counting(num_horizons=64)
    views = EpisodeNetworks([metric], {"fvd": FrechetDistance()}, (4, 4))
    frames = torch.arange(37, dtype=torch.uint8)[:, None, None, None].expand(-1, 3, 4, 4)
    for start, stop in ((0, 3), (3, 20), (20, 37)):
        views.take(frames[start:stop], frames[start:stop])
    views.close()
    assert seen == [16, 16, 5]
    assert views.outcome(metric).step == tuple(range(37))
    assert views.features() == {}
