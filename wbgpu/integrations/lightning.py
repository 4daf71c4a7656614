"""Watch a world model's quality while it is trained with Lightning."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.strategies import DDPStrategy, DeepSpeedStrategy, SingleDeviceStrategy
from lightning.pytorch.utilities import rank_zero_info

from wbgpu.aggregate.logged_values import gate_values, logged_values
from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.configuration import compose, request_from
from wbgpu.evaluation.ranks import ALONE, Ranks, group_ranks, leave
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.evaluation.run import run
from wbgpu.evaluation.undisturbed import buffers_of_rank_0, undisturbed
from wbgpu.models import WorldModel
from wbgpu.records.comparison import Verdict
from wbgpu.records.suite import SuiteResult
from wbgpu.report.failures import failure_lines
from wbgpu.sdk import Noninferiority, Thresholds, compare, decide, load_result, save_result

OnGateFailure = Literal["mark", "stop"]
OnError = Literal["raise", "warn"]


class WorldModelEvalCallback(Callback):
    """Evaluates the model on a suite in validation, and logs what ``wbgpu eval`` would say of it.

    In a training without validation it does so at the end of the epoch.

    Under ``<name>/``: ``score`` (the composite, 0-100), the mean of every metric,
    ``<metric>/horizon_<h>`` over steps 1..h, ``regret_nats`` for models with logits and a
    reference, ``failed_episodes``; with a baseline ``change``, with a gate ``gate_passed`` (1 or
    0). Any of them can be monitored, as by ``ModelCheckpoint(monitor=callback.monitor,
    mode="max")``; give it the same ``every_n_epochs``.

    Training goes on as it would without the callback, bit for bit: the generators of random
    numbers, the mode of each submodule and the gradients are kept. In DDP the ranks share the
    episodes, and evaluate with the buffers of rank 0. The sanity check is skipped. The numbers are
    those of the checkpoint evaluated by itself; the trainer's precision does not apply, as it does
    not there.

    Attributes:
        result: of the last evaluation, on every rank; ``None`` before the first, and where it
            failed.
        verdict: of the last evaluation with a gate, likewise.

    Args:
        suite: folder of ground-truth videos, or keys of ``configs/suite``, such as
            ``{"ground_truth": "val", "num_context": 4, "actions": "val_actions"}``.
        every_n_epochs: evaluate when so many epochs of training have ended; ``trainer.validate``
            always evaluates.
        model: the world model in the LightningModule, such as ``lambda module: module.model``;
            ``None`` if the LightningModule has ``predict`` itself.
        baseline: a result, or its file or run folder, to compare with.
        gate: :class:`wbgpu.Thresholds` or its fields, or :class:`wbgpu.Noninferiority`; ``None``
            for no verdict. Needs a baseline.
        on_gate_failure: ``mark`` logs it and keeps it in checkpoints, ``stop`` also ends training.
        on_error: ``raise``, or ``warn`` and train on when an evaluation fails; what it would have
            logged is NaN then, so that no checkpoint is kept for an earlier one's score.
        metrics: names of ``configs/metrics``; ``None`` for the default set.
        horizons: which horizons to log; ``None`` for powers of two and the last.
        output: folder for the result of each evaluation, as JSON; ``None`` to keep none.
        name: what the names of logged values begin with; another for each of several callbacks.
        overrides: further overrides of ``wbgpu eval``, such as ``statistics=reference``.

    Raises:
        ConfigurationError: a setting is wrong.
        InputError: the suite or the baseline cannot be read.
    """

    def __init__(
        self,
        suite: str | Path | Mapping[str, Any],
        *,
        every_n_epochs: int = 1,
        model: Callable[[LightningModule], WorldModel] | None = None,
        baseline: SuiteResult | str | Path | None = None,
        gate: Thresholds | Noninferiority | Mapping[str, Any] | None = None,
        on_gate_failure: OnGateFailure = "mark",
        on_error: OnError = "raise",
        metrics: Sequence[str] | None = None,
        horizons: Sequence[int] | None = None,
        output: str | Path | None = None,
        name: str = "wbgpu",
        overrides: Sequence[str] = (),
    ) -> None:
        super().__init__()
        if every_n_epochs < 1:
            raise ConfigurationError(f"every_n_epochs: must be at least 1, got {every_n_epochs}")
        for key, value, known in (
            ("on_gate_failure", on_gate_failure, get_args(OnGateFailure)),
            ("on_error", on_error, get_args(OnError)),
        ):
            if value not in known:
                raise ConfigurationError(f"{key}: expected one of {known}, got {value!r}")
        if gate is not None and baseline is None:
            raise ConfigurationError("gate: give a baseline to compare with")
        self._suite = dict(suite) if isinstance(suite, Mapping) else {"ground_truth": suite}
        self._every_n_epochs = every_n_epochs
        self._model = model
        self._policy = None if gate is None else _policy(gate)
        self._on_gate_failure = on_gate_failure
        self._on_error = on_error
        self._horizons = horizons
        self._output = None if output is None else Path(output)
        self._name = name
        self._overrides = list(overrides)
        if metrics is not None:
            self._overrides.append(f"metrics=[{','.join(metrics)}]")
        keys = {str(key) for key in compose(self._overrides).suite}
        if unknown := sorted(set(self._suite) - keys):
            raise ConfigurationError(
                f"suite: unknown key {unknown[0]!r}; known: {', '.join(sorted(keys))}"
            )
        self._baseline = None if baseline is None else _baseline(baseline)
        self._logged = ["score"]
        self.result: SuiteResult | None = None
        self.verdict: Verdict | None = None

    @property
    def monitor(self) -> str:
        """Name of the composite among the logged values; the higher the better."""
        return f"{self._name}/score"

    @property
    def state_key(self) -> str:
        """Under what checkpoints keep it; Lightning wants one for each of several callbacks."""
        return self._generate_state_key(name=self._name)

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuse a strategy that cannot work."""
        if stage not in ("fit", "validate"):
            return
        strategy = trainer.strategy
        is_known = isinstance(strategy, (SingleDeviceStrategy, DDPStrategy))
        if not is_known or isinstance(strategy, DeepSpeedStrategy):
            raise ConfigurationError(
                f"strategy: {type(strategy).__name__} spreads the model over processes, which "
                "cannot then predict one by one; evaluate its checkpoints with `wbgpu eval`"
            )

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Refuse what would fail after the first epoch."""
        # Not in setup(), which comes before the module's own and its configure_model().
        self._request(pl_module, self._world_model(pl_module)).pairs()

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Evaluate, compare and log."""
        if not trainer.sanity_checking:
            self._watch(trainer, pl_module)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The same in a training without validation."""
        if not trainer.enable_validation:
            self._watch(trainer, pl_module)

    def _watch(self, trainer: Trainer, pl_module: LightningModule) -> None:
        is_training = trainer.state.fn == "fit"
        if is_training and (trainer.current_epoch + 1) % self._every_n_epochs:
            return
        try:
            values = self._evaluated(trainer, pl_module)
            self._logged = list(values)
        # Whatever it is, it failed on every rank.
        except Exception as error:
            self._raise_or_warn(error)
            self.result = self.verdict = None
            values = dict.fromkeys(self._logged, math.nan)
        for key, value in values.items():
            # Equal on all ranks; the maximum leaves it as it is, and a mean might not.
            pl_module.log(
                f"{self._name}/{key}",
                torch.tensor(value, dtype=torch.float64, device=pl_module.device),
                on_step=False,
                on_epoch=True,
                sync_dist=True,
                reduce_fx="max",
            )
        failed = self.verdict if self.verdict and self.verdict.status == "FAIL" else None
        if is_training and failed is not None and self._on_gate_failure == "stop":
            trainer.should_stop = True
            rank_zero_info(
                f"wbgpu: the gate says FAIL at epoch {trainer.current_epoch}, so training stops: "
                + "; ".join(failure_lines(failed.failures))
            )
        if self._output is not None and self.result is not None and trainer.is_global_zero:
            # Last, because the other ranks do not see it fail.
            try:
                save_result(self.result, self._output / f"{self.result.checkpoint_name}.json")
            except OSError as error:
                self._raise_or_warn(error)

    def state_dict(self) -> dict[str, Any]:
        """What checkpoints keep: the last composite and verdict."""
        return {
            "score": None if self.result is None else self.result.summary.score,
            "gate": None if self.verdict is None else self.verdict.status,
        }

    def _raise_or_warn(self, error: Exception) -> None:
        if self._on_error == "raise":
            raise error
        warnings.warn(f"wbgpu: this evaluation failed: {error}", RuntimeWarning, stacklevel=2)

    def _evaluated(self, trainer: Trainer, pl_module: LightningModule) -> dict[str, float]:
        # The model need not be a part of the module, such as a moving average kept elsewhere.
        model = self._world_model(pl_module)
        with _ranks(trainer) as ranks:
            shared = buffers_of_rank_0(pl_module) if ranks.size > 1 else nullcontext()
            with undisturbed(pl_module), undisturbed(model), shared:
                result = run(self._request(pl_module, model), ranks=ranks)
        epoch, step = trainer.current_epoch, trainer.global_step
        name = f"epoch{epoch:03d}-step{step:06d}"
        self.result = result = dataclasses.replace(result, checkpoint_name=name)
        values = logged_values(result, self._horizons)
        if self._baseline is not None:
            strict = self._policy is None or self._policy.strict_config_match
            comparison = compare(self._baseline, result, strict=strict)
            if self._policy is not None:
                self.verdict = decide(comparison, self._policy)
            values |= gate_values(comparison, self.verdict)
        failures = [each.failure.message for each in result.episodes if each.failure is not None]
        if failures and trainer.is_global_zero:
            warnings.warn(
                f"wbgpu: {len(failures)} of {len(result.episodes)} episodes could not be scored; "
                f"the scores are of the others, which may be the easy ones: {failures[0]}",
                RuntimeWarning,
                stacklevel=2,
            )
        return values

    def _world_model(self, pl_module: LightningModule) -> WorldModel:
        model: object = pl_module if self._model is None else self._model(pl_module)
        if not isinstance(model, WorldModel):
            raise ConfigurationError(
                f"model: {type(model).__name__} has no method predict(context_frames, actions, "
                "num_frames); name the part of the LightningModule that has, as in "
                "WorldModelEvalCallback(..., model=lambda module: module.model)"
            )
        return model

    def _request(self, pl_module: LightningModule, model: WorldModel) -> EvaluationRequest:
        values = {
            f"suite.{key}": str(value) if isinstance(value, Path) else value
            for key, value in self._suite.items()
        }
        if not any(override.startswith("device=") for override in self._overrides):
            values["device"] = str(pl_module.device)
        return request_from(compose(self._overrides, values), model=model)


@contextmanager
def _ranks(trainer: Trainer) -> Iterator[Ranks]:
    """Those of the training, which share the episodes."""
    if trainer.world_size == 1:
        yield ALONE
        return
    ranks = group_ranks()
    try:
        yield ranks
    finally:
        leave(ranks)


def _policy(
    gate: Thresholds | Noninferiority | Mapping[str, Any],
) -> Thresholds | Noninferiority:
    if isinstance(gate, (Thresholds, Noninferiority)):
        return gate
    known = {field.name for field in dataclasses.fields(Thresholds)}
    if unknown := sorted(set(gate) - known):
        raise ConfigurationError(
            f"gate: unknown threshold {unknown[0]!r}; known: {', '.join(sorted(known))}"
        )
    return Thresholds(**gate)


def _baseline(baseline: SuiteResult | str | Path) -> SuiteResult:
    result = load_result(baseline) if isinstance(baseline, (str, Path)) else baseline
    if not isinstance(result, SuiteResult):
        raise ConfigurationError("baseline: expected a result of videos, got one of regret")
    return result
