from __future__ import annotations

import csv
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

import wbgpu
from tests.conftest import REPOSITORY
from tests.evaluation.live_suites import NUM_CONTEXT, TokenModel, write_suite
from tests.integrations.trainings import Predictor, train
from wbgpu.errors import ConfigurationError, NothingScoredError
from wbgpu.integrations.lightning import WorldModelEvalCallback
from wbgpu.models import CopyLast

pytestmark = pytest.mark.filterwarnings(
    # What Lightning says of our tiny training.
    r"ignore:.*does not have many workers",
    r"ignore:.*smaller than the logging interval",
    r"ignore:Starting from v1\.9\.0",
    r"ignore:GPU available but not used",
    r"ignore:.*exists and is not empty",
    r"ignore:.isinstance.treespec, LeafSpec",
)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_suite(tmp_path_factory.mktemp("suite"), (6, 8))


def settings(suite: Path) -> dict[str, Any]:
    return {"ground_truth": suite / "gt", "num_context": NUM_CONTEXT}


def watching(suite: Path, **arguments: Any) -> WorldModelEvalCallback:
    return WorldModelEvalCallback(settings(suite), **arguments)


def generators() -> list[Any]:
    states: list[Any] = [random.getstate(), np.random.get_state()[1].tolist()]
    return [*states, torch.get_rng_state().tolist()]


class Failing(Callback):
    """A world model that raises; the callback warns."""

    def predict(self, *arguments: Any) -> None:
        random.random(), np.random.rand(), torch.rand(3)
        raise RuntimeError("diverged")


@pytest.mark.parametrize("kind", ["plain", "mid-epoch accumulation", "failing"])
@pytest.mark.filterwarnings("ignore:wbgpu. this evaluation failed")
def test_training_is_the_same_with_and_without_it(suite: Path, tmp_path: Path, kind: str) -> None:
    """Lightning #6988, #11840: an evaluation that draws numbers changes all that follows."""
    arguments: dict[str, Any] = {}
    callback = watching(suite)
    if kind == "mid-epoch accumulation":
        arguments = {"val_check_interval": 3, "accumulate_grad_batches": 2}
    if kind == "failing":
        callback = watching(suite, model=lambda module: Failing(), on_error="warn")
    plain, _ = train(tmp_path, [], **arguments)
    expected = generators()
    watched, _ = train(tmp_path, [callback], **arguments)
    assert generators() == expected
    assert watched.losses == plain.losses
    assert watched.seen == plain.seen
    assert len(plain.losses) == 8
    state, other = plain.state_dict(), watched.state_dict()
    assert state.keys() == other.keys()
    for name, value in state.items():
        assert torch.equal(value, other[name]), name
    assert (callback.result is None) == (kind == "failing")


def test_scores_are_those_of_the_checkpoint_by_itself(suite: Path, tmp_path: Path) -> None:
    callback = watching(suite)
    checkpoint = ModelCheckpoint(tmp_path, filename="best", monitor=callback.monitor, mode="max")
    _, trainer = train(tmp_path, [callback, checkpoint], enable_checkpointing=True, max_epochs=1)
    module = Predictor.load_from_checkpoint(tmp_path / "best.ckpt", weights_only=True)
    offline = wbgpu.evaluate(suite / "gt", model=module, num_context=NUM_CONTEXT)
    assert callback.result is not None
    assert callback.result.episodes == offline.episodes
    assert callback.result.summary == offline.summary
    logged = trainer.callback_metrics
    assert logged["wbgpu/score"].item() == offline.summary.score
    psnr = offline.summary.metrics["psnr"].distribution
    assert psnr is not None
    assert logged["wbgpu/psnr"].item() == psnr.mean
    third = offline.summary.horizons[1].prefix["psnr"].mean
    assert logged["wbgpu/psnr/horizon_2"].item() == third
    assert checkpoint.best_model_score == offline.summary.score
    kept = torch.load(tmp_path / "best.ckpt", weights_only=True)["callbacks"]
    assert kept[callback.state_key] == {"score": offline.summary.score, "gate": None}


def test_values_go_to_the_logger_each_epoch_and_not_in_the_sanity_check(
    suite: Path, tmp_path: Path
) -> None:
    """Lightning #1391: an untrained model's score as the first point of the curve."""
    logger = CSVLogger(tmp_path, name="", version="")
    train(tmp_path, [watching(suite, name="val_world", horizons=[5])], logger=logger)
    with (tmp_path / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["val_world/score"]]
    assert [row["epoch"] for row in rows] == ["0", "1"]
    assert rows[0]["val_world/score"] != rows[1]["val_world/score"]
    assert all(row["val_world/mse/horizon_5"] for row in rows)
    assert "val_world/mse/horizon_1" not in rows[0]


def test_every_second_epoch(suite: Path, tmp_path: Path) -> None:
    class Watching(WorldModelEvalCallback):
        def _evaluated(self, trainer: Trainer, pl_module: Any) -> dict[str, float]:
            epochs.append(trainer.current_epoch)
            return super()._evaluated(trainer, pl_module)

    epochs: list[int] = []
    callback = Watching(settings(suite), every_n_epochs=2, output=tmp_path / "results")
    checkpoint = ModelCheckpoint(
        tmp_path, monitor=callback.monitor, mode="max", every_n_epochs=2, save_top_k=-1
    )
    train(tmp_path, [callback, checkpoint], max_epochs=4, enable_checkpointing=True)
    assert epochs == [1, 3]
    names = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert names == ["epoch001-step000008.json", "epoch003-step000016.json"]
    result = wbgpu.load_result(tmp_path / "results" / names[-1])
    assert result.checkpoint_name == "epoch003-step000016"


@pytest.mark.parametrize("on_gate_failure", ["mark", "stop"])
def test_a_gate_marks_or_stops(
    suite: Path, tmp_path: Path, on_gate_failure: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """An untrained model is worse than copying; a stop without a word is a riddle."""
    caplog.set_level("INFO", logger="lightning.pytorch.utilities.rank_zero")
    baseline = wbgpu.evaluate(suite / "gt", model=CopyLast(), num_context=NUM_CONTEXT)
    callback = watching(suite, baseline=baseline, gate={}, on_gate_failure=on_gate_failure)
    module, trainer = train(tmp_path, [callback])
    assert callback.verdict is not None
    assert callback.verdict.status == "FAIL"
    assert callback.state_dict()["gate"] == "FAIL"
    assert trainer.callback_metrics["wbgpu/gate_passed"] == 0
    assert trainer.callback_metrics["wbgpu/change"] < 0
    assert len(module.losses) == (4 if on_gate_failure == "stop" else 8)
    is_said = "the gate says FAIL at epoch 0, so training stops" in caplog.text
    assert is_said == (on_gate_failure == "stop")


def test_a_gate_that_passes_lets_training_go_on(suite: Path, tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    copy = wbgpu.evaluate(suite / "gt", model=CopyLast(), num_context=NUM_CONTEXT)
    wbgpu.save_result(copy, baseline)
    callback = watching(
        suite,
        baseline=baseline,
        gate={},
        on_gate_failure="stop",
        model=lambda module: CopyLast(),
    )
    module, trainer = train(tmp_path, [callback])
    assert trainer.callback_metrics["wbgpu/gate_passed"] == 1
    assert trainer.callback_metrics["wbgpu/change"] == 0
    assert len(module.losses) == 8


def test_the_gate_may_be_undecided(suite: Path, tmp_path: Path) -> None:
    """Two episodes cannot show that a model is no worse; that is no failure and stops nothing."""
    baseline = wbgpu.evaluate(suite / "gt", model=CopyLast(), num_context=NUM_CONTEXT)
    callback = watching(
        suite,
        baseline=baseline,
        gate=wbgpu.Noninferiority(margin=50.0),
        on_gate_failure="stop",
    )
    module, trainer = train(tmp_path, [callback])
    assert callback.verdict is not None
    assert callback.verdict.policy == "noninferiority"
    assert callback.verdict.status in ("PASS", "INCONCLUSIVE")
    assert trainer.callback_metrics["wbgpu/gate_passed"] == (callback.verdict.status == "PASS")
    assert len(module.losses) == 8


def test_early_stopping_can_watch_it(suite: Path, tmp_path: Path) -> None:
    callback = watching(suite, model=lambda module: CopyLast())
    stopping = EarlyStopping(callback.monitor, mode="max", patience=1)
    module, _ = train(tmp_path, [callback, stopping], max_epochs=6)
    assert len(module.losses) == 8


def test_regret_is_logged_for_models_with_logits(suite: Path, tmp_path: Path) -> None:
    callback = watching(suite, model=lambda module: TokenModel())
    _, trainer = train(tmp_path, [callback], max_epochs=1)
    logged = {name: value.item() for name, value in trainer.callback_metrics.items()}
    regret = logged["wbgpu/log_loss"] - np.log(4)
    assert logged["wbgpu/regret_nats"] == pytest.approx(regret)
    assert "wbgpu/regret_nats/horizon_2" in logged
    assert logged["wbgpu/failed_episodes"] == 0


def test_without_validation_it_runs_at_the_end_of_the_epoch(suite: Path, tmp_path: Path) -> None:
    """Lightning skips the validation's hooks then, and nothing would ever be evaluated."""
    arguments: dict[str, Any] = {"limit_val_batches": 0, "enable_checkpointing": True}
    callback = watching(suite)
    checkpoint = ModelCheckpoint(tmp_path, filename="best", monitor=callback.monitor, mode="max")
    plain, _ = train(tmp_path, [], limit_val_batches=0)
    watched, _ = train(tmp_path, [callback, checkpoint], **arguments)
    assert watched.losses == plain.losses
    for name, value in plain.state_dict().items():
        assert torch.equal(value, watched.state_dict()[name]), name
    assert callback.result is not None
    assert (tmp_path / "best.ckpt").is_file()


def test_validate_evaluates_too(suite: Path, tmp_path: Path) -> None:
    callback = watching(suite, every_n_epochs=5)
    trainer = Trainer(
        accelerator="cpu",
        logger=False,
        callbacks=[callback],
        enable_progress_bar=False,
        enable_checkpointing=False,
        default_root_dir=tmp_path,
    )
    (metrics,) = trainer.validate(Predictor(), verbose=False)
    assert callback.result is not None
    assert metrics["wbgpu/score"] == callback.result.summary.score


def test_what_would_fail_later_is_refused_before_training(suite: Path, tmp_path: Path) -> None:
    for arguments, message in (
        ({"every_n_epochs": 0}, "every_n_epochs: must be at least 1"),
        ({"gate": {}}, "gate: give a baseline"),
        ({"metrics": ["psnrr"]}, "nearest: 'psnr'"),
        ({"on_gate_failure": "stopp"}, "on_gate_failure: expected one of"),
        ({"baseline": suite, "on_error": "ignore"}, "on_error: expected one of"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            watching(suite, **arguments)
    baseline = wbgpu.evaluate(suite / "gt", model=CopyLast(), num_context=NUM_CONTEXT)
    with pytest.raises(ConfigurationError, match="suite: unknown key 'ground_truht'; known: act"):
        WorldModelEvalCallback({"ground_truht": suite})
    with pytest.raises(ConfigurationError, match="unknown threshold 'max_drop'"):
        watching(suite, baseline=baseline, gate={"max_drop": 1})
    for callback, message in (
        (watching(suite, model=lambda module: module.norm), "BatchNorm2d has no method predict"),
        (WorldModelEvalCallback(tmp_path / "nowhere"), "does not exist"),
    ):
        with pytest.raises(wbgpu.WbgpuError, match=message):
            train(tmp_path, [callback])


def test_an_evaluation_that_fails_ends_training_unless_told_otherwise(
    suite: Path, tmp_path: Path
) -> None:
    with pytest.raises(NothingScoredError, match="RuntimeError: diverged"):
        train(tmp_path, [watching(suite, model=lambda module: Failing())])
    callback = watching(suite, model=lambda module: Failing(), on_error="warn")
    with pytest.warns(RuntimeWarning, match="RuntimeError: diverged"):
        module, _ = train(tmp_path, [callback])
    assert len(module.losses) == 8


class FailsAfter:
    """Copies the last frame of the first few episodes."""

    def __init__(self, num_episodes: int) -> None:
        self.num_left = num_episodes

    def predict(self, context_frames: torch.Tensor, actions: Any, num_frames: int) -> Any:
        self.num_left -= 1
        if self.num_left < 0:
            raise RuntimeError("diverged")
        return CopyLast().predict(context_frames, actions, num_frames)


def test_no_checkpoint_is_kept_for_the_score_of_an_earlier_one(suite: Path, tmp_path: Path) -> None:
    """Lightning keeps logged values, or ends the training where a monitored one is not there."""
    model = FailsAfter(2)
    callback = watching(suite, model=lambda module: model, on_error="warn")
    checkpoint = ModelCheckpoint(tmp_path, monitor=callback.monitor, mode="max", save_top_k=-1)
    with pytest.warns(RuntimeWarning, match="diverged"):
        _, trainer = train(tmp_path, [callback, checkpoint], enable_checkpointing=True)
    scores = [value.item() for value in checkpoint.best_k_models.values()]
    assert np.isfinite(scores).tolist() == [True, False]
    assert "epoch=0" in checkpoint.best_model_path
    assert trainer.callback_metrics["wbgpu/psnr"].isnan()
    assert callback.state_dict() == {"score": None, "gate": None}


def test_episodes_that_fail_are_warned_of(suite: Path, tmp_path: Path) -> None:
    model = FailsAfter(1)
    callback = watching(suite, model=lambda module: model)
    with pytest.warns(RuntimeWarning, match="1 of 2 episodes could not be scored.*diverged"):
        train(tmp_path, [callback], max_epochs=1)


@pytest.mark.parametrize("on_error", ["raise", "warn"])
def test_a_result_that_cannot_be_written(suite: Path, tmp_path: Path, on_error: Any) -> None:
    (tmp_path / "results").write_text("no folder")
    callback = watching(
        suite, model=lambda module: CopyLast(), on_error=on_error, output=tmp_path / "results"
    )
    if on_error == "raise":
        with pytest.raises(OSError, match="results"):
            train(tmp_path, [callback], max_epochs=1)
        return
    with pytest.warns(RuntimeWarning, match="results"):
        _, trainer = train(tmp_path, [callback], max_epochs=1)
    assert trainer.callback_metrics["wbgpu/score"].isfinite()


def test_two_suites_can_be_watched(suite: Path, tmp_path: Path) -> None:
    """Lightning refuses several stateful callbacks that it cannot tell apart in checkpoints."""
    first = watching(suite, model=lambda module: CopyLast())
    second = watching(suite, model=lambda module: CopyLast(), name="held_out", metrics=["psnr"])
    _, trainer = train(tmp_path, [first, second], max_epochs=1)
    assert {"wbgpu/psnr", "held_out/psnr"} <= trainer.callback_metrics.keys()


@pytest.mark.parametrize("hook", ["setup", "configure_model"])
def test_models_may_be_made_by_the_modules_hooks(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: str
) -> None:
    """Lightning calls the callbacks' setup() before both."""

    def make(module: Predictor, stage: str | None = None) -> None:
        module.world = CopyLast()

    monkeypatch.setattr(Predictor, hook, make)
    callback = watching(suite, model=lambda module: module.world)
    train(tmp_path, [callback], max_epochs=1)
    assert callback.result is not None


def test_models_spread_over_processes_are_refused(suite: Path) -> None:
    """Each rank would predict other episodes, and wait for the others in the first layer."""
    from lightning.pytorch.strategies import FSDPStrategy

    class Sharded:
        strategy = FSDPStrategy()

    with pytest.raises(ConfigurationError, match="FSDPStrategy spreads the model"):
        watching(suite).setup(Sharded(), Predictor(), "fit")  # type: ignore[arg-type]


@pytest.mark.cuda
def test_training_on_cuda_is_the_same_with_and_without_it(suite: Path, tmp_path: Path) -> None:
    arguments = {"accelerator": "gpu", "deterministic": True}
    plain, _ = train(tmp_path, [], **arguments)
    expected = torch.cuda.get_rng_state().tolist()
    watched, _ = train(tmp_path, [watching(suite)], **arguments)
    assert torch.cuda.get_rng_state().tolist() == expected
    assert watched.losses == plain.losses
    for name, value in plain.state_dict().items():
        assert torch.equal(value, watched.state_dict()[name]), name


DDP = """
import sys, warnings
from pathlib import Path
import torch
warnings.filterwarnings("ignore")
from tests.integrations.trainings import train
from wbgpu.integrations.lightning import WorldModelEvalCallback
suite, folder = Path(sys.argv[1]), Path(sys.argv[2])
kept = {}
for kind in ("plain", "watched"):
    callback = WorldModelEvalCallback(
        {"ground_truth": suite / "gt", "num_context": 3}, output=folder / "results"
    )
    module, trainer = train(
        folder, [callback] if kind == "watched" else [], devices=2, strategy="ddp", max_epochs=2
    )
    kept[kind] = module, trainer
(plain, _), (module, trainer) = kept["plain"], kept["watched"]
assert module.losses == plain.losses
for name, value in plain.state_dict().items():
    assert torch.equal(value, module.state_dict()[name]), name
from lightning.fabric.utilities.rank_zero import rank_zero_only
assert rank_zero_only.rank == trainer.global_rank
scores = [None, None]
torch.distributed.all_gather_object(scores, trainer.callback_metrics["wbgpu/score"].item())
assert scores[0] == scores[1], scores
if trainer.global_rank == 0:
    torch.save(module.state_dict(), folder / "module.pt")
(folder / f"finished-{trainer.global_rank}").write_text(str(trainer.world_size))
"""


def test_ddp_ranks_share_the_episodes_and_agree(suite: Path, tmp_path: Path) -> None:
    """Training as without it, the checkpoint's scores, and one rank that writes."""
    script = tmp_path / "train.py"
    script.write_text(DDP)
    outcome = subprocess.run(
        [sys.executable, str(script), str(suite), str(tmp_path)],
        cwd=REPOSITORY,
        env={**_environment(), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert outcome.returncode == 0, outcome.stderr
    for rank in (0, 1):
        assert (tmp_path / f"finished-{rank}").read_text() == "2"
    module = Predictor()
    module.load_state_dict(torch.load(tmp_path / "module.pt", weights_only=True))
    offline = wbgpu.evaluate(suite / "gt", model=module, num_context=NUM_CONTEXT)
    saved = wbgpu.load_result(tmp_path / "results/epoch001-step000004.json")
    assert saved.episodes == offline.episodes


def _environment() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
