"""Models that are evaluated while they predict, from the command line and from Python."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import wbgpu
from tests.evaluation.live_suites import NUM_CONTEXT, Noisy, TokenModel, write_suite
from wbgpu.cli.main import run
from wbgpu.errors import ConfigurationError, InputError, NothingScoredError
from wbgpu.models import ActionConditioned, Blur, CopyLast, Prediction
from wbgpu.records.suite import SuiteResult


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_suite(tmp_path_factory.mktemp("live"), actions=2)


def live(suite: Path, model: object, *overrides: str, **arguments: object) -> SuiteResult:
    arguments.setdefault("num_context", NUM_CONTEXT)
    return wbgpu.evaluate(suite / "gt", model=model, overrides=overrides, **arguments)


def scores(result: SuiteResult) -> list[object]:
    return [(e.episode_id, e.score, e.prefix_scores, e.metrics) for e in result.episodes]


@pytest.mark.parametrize("model", ["copy_last", "context_mean", "blur"])
def test_live_scores_are_those_of_the_saved_video(suite: Path, tmp_path: Path, model: str) -> None:
    """Else a score would depend on whether anybody wrote a file."""
    saved = tmp_path / "saved"
    overrides = [f"model={model}", f"save_predictions={saved}"]
    ours = live(suite, None, *overrides)
    theirs = wbgpu.evaluate(suite / "gt", saved, num_context=NUM_CONTEXT)
    assert scores(ours) == scores(theirs)
    assert ours.summary == theirs.summary
    assert wbgpu.gate(ours, theirs).status == "PASS"


def test_copy_last_on_bridge_equals_its_lossless_video(shared: Path, tmp_path: Path) -> None:
    ground_truth = shared / "data/bridge_suite/gt"
    overrides = ["model=copy_last", f"save_predictions={tmp_path}"]
    ours = wbgpu.evaluate(ground_truth, num_context=4, overrides=overrides)
    theirs = wbgpu.evaluate(ground_truth, tmp_path, num_context=4)
    assert len(ours.episodes) == 10
    assert scores(ours) == scores(theirs)
    skill = ours.summary.metrics["skill_persistence"].distribution
    assert skill is not None
    assert skill.min == skill.max == 0.0


def test_saved_predictions_do_not_replace_the_ground_truth(tmp_path: Path) -> None:
    """`save_predictions=gt` would leave a suite without its truth."""
    write_suite(tmp_path, (6, 6))
    (tmp_path / "link").symlink_to(tmp_path / "gt")
    before = {path: path.read_bytes() for path in (tmp_path / "gt").iterdir()}
    for folder in ("gt", "link"):
        with pytest.raises(ConfigurationError, match=r"0\.mp4 is ground truth"):
            live(tmp_path, CopyLast(), f"save_predictions={tmp_path / folder}")
    assert {path: path.read_bytes() for path in (tmp_path / "gt").iterdir()} == before


def test_saved_predictions_begin_with_their_context(suite: Path, tmp_path: Path) -> None:
    """A video whose context differs would be a prediction of something else."""
    from wbgpu.video.pyav import PyavDecoder

    live(suite, CopyLast(), f"save_predictions={tmp_path}")
    for path in sorted((suite / "gt").iterdir()):
        with PyavDecoder().open(path) as truth, PyavDecoder().open(tmp_path / path.name) as saved:
            assert saved.info.num_frames == truth.info.num_frames
            assert saved.info.fps == truth.info.fps
            context = truth.read(0, NUM_CONTEXT)
            assert torch.equal(saved.read(0, NUM_CONTEXT), context)
            assert torch.equal(saved.read(NUM_CONTEXT, NUM_CONTEXT + 1), context[-1:])


@pytest.mark.parametrize(
    "overrides",
    [("loader.window_frames=1",), ("loader.num_workers=1",), ("loader.window_frames=3",)],
)
def test_windows_and_workers_do_not_change_a_bit(suite: Path, overrides: tuple[str, ...]) -> None:
    assert scores(live(suite, Noisy(), *overrides)) == scores(live(suite, Noisy()))


def test_episodes_of_one_kind_are_predicted_together(suite: Path, tmp_path: Path) -> None:
    """Episodes of other sizes or lengths must not share a batch, and none may be lost."""

    class Counting(CopyLast):
        def predict(self, context_frames, actions, num_frames):
            batches.append(len(context_frames))
            return super().predict(context_frames, actions, num_frames)

    batches: list[int] = []
    write_suite(tmp_path, (8, 11, 8, 8, 8))
    together = live(tmp_path, Counting(), "live.batch_size=3")
    assert batches == [1, 1, 2, 1]
    assert scores(together) == scores(live(tmp_path, CopyLast()))


def test_random_models_are_seeded_by_episode(suite: Path) -> None:
    """A score that changes with the order of episodes, or from run to run, compares nothing."""
    whole = live(suite, Noisy())
    alone = wbgpu.evaluate(suite / "gt/1.mp4", model=Noisy(), num_context=NUM_CONTEXT)
    assert alone.episodes[0].metrics == whole.episodes[1].metrics
    assert scores(live(suite, Noisy(), "live.seed=1")) != scores(whole)


def test_the_users_process_and_model_are_left_as_they_were(suite: Path) -> None:
    model = Noisy().train()
    model.dropout.eval()
    model.scale.grad = torch.full((1,), 3.0)
    gradient = model.scale.grad
    random.seed(1), np.random.seed(2), torch.manual_seed(3)
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    live(suite, model)
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    assert before == after
    assert model.training
    assert not model.dropout.training
    assert model.scale.grad is gradient
    assert gradient.item() == 3


def test_what_a_model_caches_can_be_used_in_training(suite: Path) -> None:
    """Tensors made in inference mode cannot be saved for backward."""

    class Caching(torch.nn.Module):
        table = None

        def predict(self, context_frames, actions, num_frames):
            assert not torch.is_inference_mode_enabled()
            assert not torch.is_grad_enabled()
            assert not self.training
            self.table = torch.ones(3)
            return CopyLast().predict(context_frames, actions, num_frames)

    model = Caching()
    with torch.inference_mode():
        live(suite, model)
    weight = torch.ones(3, requires_grad=True)
    (weight * model.table).sum().backward()
    assert weight.grad is not None


def test_a_checkpoint_with_actions_from_the_command_line(suite: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = ActionConditioned(num_actions=2, channels=4)
    torch.nn.init.normal_(network.change.weight, std=0.05)
    checkpoint = tmp_path / "step7.ckpt"
    arguments = {"num_actions": 2, "channels": 4}
    torch.save({"state_dict": network.state_dict(), "arguments": arguments}, checkpoint)
    common = [f"suite.ground_truth={suite / 'gt'}", f"suite.num_context={NUM_CONTEXT}"]
    output = tmp_path / "result.json"
    command = [*common, f"suite.actions={suite / 'actions'}", "model=action_conditioned"]
    command += [f"model.checkpoint={checkpoint}", f"output={output}", f"hydra.run.dir={tmp_path}"]
    assert run(["eval", *command]) == 0
    ours = wbgpu.load_result(output)
    assert isinstance(ours, SuiteResult)
    assert ours.checkpoint_name == "step7"
    assert ours.predictions_root == "live:step7"
    assert ours.provenance is not None
    digests = ours.provenance.input_sha256
    assert {"checkpoint", "actions/0.mp4", "ground_truth/0.mp4"} <= set(digests)
    assert not any(key.startswith("prediction/") for key in digests)
    theirs = live(suite, network, actions=suite / "actions")
    assert scores(ours) == scores(theirs)
    configuration = json.loads(output.read_text())["wbgpu"]["provenance"]["configuration"]
    assert configuration["model"]["checkpoint"] == str(checkpoint)
    assert "save_predictions" not in configuration


def test_a_models_class_may_stand_in_the_current_folder(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python train.py` finds it there, so `wbgpu eval` is expected to; a package goes first."""
    monkeypatch.chdir(tmp_path)
    for name in ("project_of_a_test", "wbgpu"):
        Path(f"{name}.py").write_text("from wbgpu.models import CopyLast as Model")
    before = list(sys.path)
    chosen = ["model=module", "model.module=project_of_a_test.Model", "metrics=[psnr]"]
    assert run(["eval", *chosen, f"suite.ground_truth={suite / 'gt'}", "suite.num_context=3"]) == 0
    assert sys.path == before


def test_logits_are_scored_beside_the_frames(suite: Path) -> None:
    result = live(suite, TokenModel())
    for episode in result.episodes:
        outcome = episode.metrics["log_loss"]
        assert outcome.is_available
        assert len(outcome.prefix) == episode.num_steps
        # Against a reference that knows nothing: ln 4 nats a token.
        assert outcome.prefix_details["reference_loss_nats"][-1] == pytest.approx(np.log(4))
        regret = outcome.prefix_details["regret_nats"][-1]
        assert regret == pytest.approx(outcome.value - np.log(4))
        assert episode.metrics["psnr"].is_available
    assert "log_loss" in result.metric_infos
    assert result.protocol is not None
    assert "log_loss" in result.protocol.metric_ids


def test_logits_alone_are_scored_and_frames_are_unsupported(suite: Path) -> None:
    both, alone = live(suite, TokenModel()), live(suite, TokenModel(with_frames=False))
    for ours, theirs in zip(alone.episodes, both.episodes):
        assert ours.metrics["log_loss"] == theirs.metrics["log_loss"]
        assert ours.metrics["psnr"].status == "unsupported"
        assert ours.metrics["psnr"].reason == "The model predicts logits and no frames."
        assert ours.score is None


class Failing:
    """Raises on the second episode, whose frames are less high."""

    def predict(self, context_frames, actions, num_frames):
        if context_frames.shape[-2] % 3 == 1 or num_frames == 8:
            raise RuntimeError("no memory left")
        return CopyLast().predict(context_frames, actions, num_frames)


def test_a_model_that_raises_costs_its_episode_and_says_where(suite: Path) -> None:
    result = live(suite, Failing())
    (failed,) = result.failed_episodes
    assert failed.episode_id == "1.mp4"
    assert failed.failure is not None
    assert failed.failure.error_type == "ModelError"
    assert "The model Failing: RuntimeError: no memory left" in failed.failure.message
    assert "test_live.py" in failed.failure.message
    others = [episode.metrics for episode in result.episodes if episode.failure is None]
    whole = live(suite, CopyLast())
    assert others == [whole.episodes[0].metrics, whole.episodes[2].metrics]


class Wrong:
    def __init__(self, prediction: object) -> None:
        self.prediction = prediction

    def predict(self, context_frames, actions, num_frames):
        return self.prediction


@pytest.mark.parametrize(
    ("prediction", "message"),
    [
        (torch.zeros(1, 5, 3, 8, 8, dtype=torch.uint8), "returned Tensor, expected"),
        (Prediction(torch.zeros(2, 5, 3, 8, 8, dtype=torch.uint8)), r"expected 1 episode\(s\)"),
        (Prediction(torch.zeros(1, 5, 3, 8, 8, dtype=torch.uint8)), "the resolution is 8x8"),
        (Prediction(logits=torch.zeros(1, 5, 2, 3)), "has no method tokenize"),
        (Prediction(torch.zeros(1, 5, 3, 0, 8, dtype=torch.uint8)), "no dimension of size 0"),
        (Prediction(torch.zeros(1, 5, 3, 8, 8, dtype=torch.uint8, device="meta")), "no data"),
    ],
)
def test_wrong_predictions_are_told(suite: Path, prediction: object, message: str) -> None:
    with pytest.raises(NothingScoredError, match=message):
        live(suite, Wrong(prediction))


def test_another_size_is_resized_where_that_is_safe(suite: Path, tmp_path: Path) -> None:
    """As for saved videos: equal scores, and it is said."""

    class Half(Blur):
        def predict(self, context_frames, actions, num_frames):
            frames = super().predict(context_frames, actions, num_frames).frames
            return Prediction(frames[..., ::2, ::2])

    ours = live(suite, Half(3), f"save_predictions={tmp_path}", alignment="safe")
    theirs = wbgpu.evaluate(suite / "gt", tmp_path, num_context=NUM_CONTEXT, alignment="safe")
    assert scores(ours) == scores(theirs)
    assert all("is resized" in " ".join(episode.warnings) for episode in ours.episodes)


def test_actions_that_are_too_few_or_too_many_are_told(suite: Path, tmp_path: Path) -> None:
    for index, num_rows in enumerate((6, 10, 30)):
        np.save(tmp_path / f"{index}.npy", np.zeros((num_rows, 2)))
    result = live(suite, CopyLast(), actions=tmp_path)
    first, second, third = result.episodes
    assert first.failure is not None
    assert "6 actions" in first.failure.message
    assert "at least 7" in first.failure.message
    assert second.failure is None
    assert second.warnings == ()
    assert third.warnings == (
        "There are 30 actions for 8 frames; those after the last frame are not used.",
    )


def test_a_model_and_saved_predictions_exclude_each_other(suite: Path) -> None:
    with pytest.raises(ConfigurationError, match="and not both"):
        wbgpu.evaluate(suite / "gt", suite / "gt", model=CopyLast())
    with pytest.raises(ConfigurationError, match=r"set suite\.predictions=\.\.\., or model=\.\.\."):
        wbgpu.evaluate(suite / "gt")
    with pytest.raises(ConfigurationError, match=r"save_predictions: .* for a model"):
        wbgpu.evaluate(suite / "gt", suite / "gt", overrides=["save_predictions=x"])
    with pytest.raises(ConfigurationError, match=r"suite\.actions: neither a model"):
        wbgpu.evaluate(suite / "gt", suite / "gt", actions="x")
    with pytest.raises(ConfigurationError, match="given twice"):
        live(suite, CopyLast(), "model=blur")
    with pytest.raises(ConfigurationError, match=r"suite\.logits"):
        live(suite, CopyLast(), "suite.logits=x")
    with pytest.raises(ConfigurationError, match="has no method predict"):
        live(suite, torch.nn.Identity())


@pytest.mark.parametrize(
    ("overrides", "error", "message"),
    [
        (("model=copy_lst",), ConfigurationError, "nearest: 'copy_last'"),
        (("model=action_conditioned",), ConfigurationError, r"missing value for model\.checkpoint"),
        (
            ("model=action_conditioned", "model.checkpoint=no.ckpt"),
            InputError,
            r"there is no file no\.ckpt",
        ),
        (("model=blur", "model.size=4"), ConfigurationError, r"model\.size: expected an odd"),
        (("model=blur", "live.batch_size=0"), ConfigurationError, r"live\.batch_size: must be"),
        (("model=blur", "live.seed=x"), ConfigurationError, r"live\.seed: expected a whole"),
        (("model=blur", "live.seed=-1"), ConfigurationError, r"live\.seed: expected 0 to"),
    ],
)
def test_wrong_settings_are_told(
    suite: Path, overrides: tuple[str, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        live(suite, None, *overrides)


def test_without_context_the_built_in_models_say_what_to_set(suite: Path) -> None:
    with pytest.raises(NothingScoredError, match=r"suite\.num_context .* at least 1"):
        live(suite, CopyLast(), num_context=0)


def test_unreadable_ground_truth_costs_its_episode(suite: Path, tmp_path: Path) -> None:
    shutil.copytree(suite / "gt", tmp_path / "gt")
    (tmp_path / "gt/1.mp4").write_bytes(b"no video")
    result = live(tmp_path, CopyLast(), "live.batch_size=4")
    assert [episode.episode_id for episode in result.failed_episodes] == ["1.mp4"]
    whole = live(suite, CopyLast())
    for index in (0, 2):
        assert result.episodes[index].metrics == whole.episodes[index].metrics


def test_a_trace_shows_the_model(suite: Path, tmp_path: Path) -> None:
    watched = live(suite, CopyLast(), trace=tmp_path / "trace.json")
    plain = live(suite, CopyLast())
    assert dataclasses.replace(watched, created_at=plain.created_at) == plain
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X" and event["name"] == "predict"]
    assert sum(span["args"]["num_frames"] for span in spans) == sum(
        episode.num_steps for episode in plain.episodes
    )


@pytest.mark.cuda
def test_on_cuda_the_scores_are_those_of_the_cpu(suite: Path) -> None:
    """The same frames from a model that draws nothing: sums are integers on both."""
    on_cpu, on_cuda = (live(suite, Blur(5), device=device) for device in ("cpu", "cuda"))
    for ours, theirs in zip(on_cuda.episodes, on_cpu.episodes):
        assert ours.metrics["mse"] == theirs.metrics["mse"]
        assert ours.prefix_scores == pytest.approx(theirs.prefix_scores, abs=1e-4)
