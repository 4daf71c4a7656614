"""Ask a world model for the future of episodes, and check what it says."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from wbgpu.errors import ModelError, WbgpuError
from wbgpu.evaluation.generators import episode_seed, generators_kept
from wbgpu.models import Prediction, Tokenizer, Tokens, WorldModel
from wbgpu.records.video import VideoInfo


@dataclass(frozen=True, eq=False)
class LiveEpisode:
    """One episode as it is before the model has seen it.

    Attributes:
        episode_index: the number by which the loader's items name it.
        episode_id: seeds what the model draws.
        info: of the ground truth.
        context: uint8 RGB ``[C, 3, H, W]``, 0..255, on any device.
        future: likewise ``[T, 3, H, W]``, T at least 1; the model does not see it.
        actions: float32 ``[N, A]`` on the CPU, N at least C + T - 1, or ``None``.
        warnings: what a person should know.
    """

    episode_index: int
    episode_id: str
    info: VideoInfo
    context: Tensor
    future: Tensor
    actions: Tensor | None
    warnings: tuple[str, ...] = ()

    @property
    def num_steps(self) -> int:
        """T."""
        return len(self.future)

    @property
    def num_transitions(self) -> int:
        """C + T - 1, the actions that lead from the first frame to the last."""
        return len(self.context) + len(self.future) - 1

    @property
    def num_bytes(self) -> int:
        """Bytes of the frames."""
        return self.context.numel() + self.future.numel()

    def fits(self, other: LiveEpisode) -> bool:
        """Whether both can be predicted in one batch."""

        def shapes(episode: LiveEpisode) -> tuple[object, ...]:
            actions = None if episode.actions is None else episode.actions.shape[1]
            return episode.context.shape, episode.future.shape, actions

        return shapes(self) == shapes(other)


def predict(
    model: WorldModel, episodes: Sequence[LiveEpisode], device: torch.device, seed: int
) -> tuple[Prediction, Tokens | None]:
    """Predict the futures of episodes that fit together.

    Returns:
        On ``device``; the true futures in tokens where there are logits.

    Raises:
        ModelError: the model raised something, or gave what it must not.
    """
    # No inference mode: what a model keeps (tables, caches) could not be used in training.
    with (
        generators_kept(episode_seed(seed, episodes[0].episode_id)),
        torch.inference_mode(False),
        torch.no_grad(),
    ):
        context = _stacked([episode.context for episode in episodes], device)
        actions = None
        if episodes[0].actions is not None:
            rows = [e.actions[: e.num_transitions] for e in episodes if e.actions is not None]
            actions = torch.stack(rows).to(device)
        try:
            prediction = model.predict(context, actions, episodes[0].num_steps)
            _check(prediction, len(episodes))
            tokens = None
            if prediction.logits is not None:
                if not isinstance(model, Tokenizer):
                    raise ModelError(
                        "it predicts logits, but has no method tokenize(context_frames, frames) "
                        "that says which tokens were right"
                    )
                future = _stacked([episode.future for episode in episodes], device)
                tokens = model.tokenize(context, future)
            # What a GPU was asked for may fail only where it is waited for.
            frames = None if prediction.frames is None else prediction.frames.to(device)
        except WbgpuError as error:
            raise ModelError(f"{_named(model)}: {error}") from error
        # Whatever the user's model raises costs these episodes, and the message has to do.
        except (Exception, SystemExit) as error:
            raise ModelError(
                f"{_named(model)}: {type(error).__name__}: {error}{_place(error)}"
            ) from error
        return Prediction(frames, prediction.logits), tokens


def _stacked(parts: Sequence[Tensor], device: torch.device) -> Tensor:
    # Decoded frames are NHWC in memory; a model may call view().
    return torch.stack([part.to(device) for part in parts]).contiguous()


def _check(prediction: Prediction, batch_size: int) -> None:
    if not isinstance(prediction, Prediction):
        raise TypeError(
            f"predict returned {type(prediction).__name__}, expected wbgpu.models.Prediction"
        )
    for name, tensor in (("frames", prediction.frames), ("logits", prediction.logits)):
        if tensor is not None and (len(tensor) != batch_size or tensor.numel() == 0):
            raise ValueError(
                f"predict returned {name} {tuple(tensor.shape)}, expected {batch_size} episode(s) "
                "and no dimension of size 0"
            )


def _named(model: WorldModel) -> str:
    return f"The model {type(model).__name__}"


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f" (in {frames[-1].name}, {frames[-1].filename}:{frames[-1].lineno})" if frames else ""
