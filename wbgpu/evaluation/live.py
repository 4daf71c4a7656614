"""The loader of a request whose predictions come from a model."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from wbgpu.episodes.pairing import EpisodePair
from wbgpu.evaluation.live_loader import LiveLoader, LiveSource
from wbgpu.evaluation.live_model import LiveModel
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.evaluation.saved_predictions import SavedPredictions
from wbgpu.records.timeline import NO_TIMELINE, Timeline


def live_loader(
    request: EvaluationRequest,
    live: LiveModel,
    pairs: Sequence[EpisodePair],
    indices: Sequence[int],
    device: torch.device,
    *,
    num_workers: int | None = None,
    timeline: Timeline = NO_TIMELINE,
) -> LiveLoader:
    """Make the model, and a loader that lets it predict some of the request's episodes.

    Args:
        request: what to evaluate.
        live: its model.
        pairs: all its episodes.
        indices: of those to evaluate, rising.
        device: where the model predicts and windows are put.
        num_workers: decoding threads.
        timeline: measures the stages.

    Raises:
        ConfigurationError, InputError: the model cannot be made, actions do not pair up, or saved
            predictions would replace ground truth.
    """
    actions = request.actions_of_model(pairs)
    save = None
    if live.save_predictions is not None:
        save = SavedPredictions(live.save_predictions, pairs)
    sources = [
        LiveSource(
            index,
            pairs[index].episode_id,
            pairs[index].ground_truth,
            pairs[index].prediction,
            actions.get(pairs[index].episode_id),
        )
        for index in indices
    ]
    return LiveLoader(
        sources,
        live.made(device),
        decoder=request.decoder,
        num_context=request.num_context,
        policy=request.alignment,
        batch_size=live.batch_size,
        seed=live.seed,
        window_frames=request.window_frames,
        device=device,
        num_workers=num_workers,
        statistics_path=request.statistics_path,
        max_mismatch_ratio=request.max_mismatch_ratio,
        max_mismatch_frames=request.max_mismatch_frames,
        resize=request.resize,
        save=save,
        timeline=timeline,
    )
