"""Score a few episodes again, from their videos, and compare every number. Imports torch."""

from __future__ import annotations

import dataclasses
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf

from wbgpu.episodes.layout import Layout
from wbgpu.episodes.logits import find_logits
from wbgpu.episodes.pairing import Episode, EpisodePair
from wbgpu.errors import InputError
from wbgpu.evaluation.configuration import request_from
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.evaluation.run import run
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.suite import EpisodeResult, SuiteResult
from wbgpu.records.verification import Check
from wbgpu.verification.files import (
    InputRoots,
    UnsafePathError,
    actions_root,
    logits_root,
    missing_roles,
    recorded_root,
    video_path,
)

_VIDEO_FOLDERS = "wbgpu.episodes.video_folders.VideoFolders"

TOLERANCE = 1e-5
"""Of a value, or of this fraction of it: another device's arithmetic moves numbers by less."""


def recompute_checks(
    result: SuiteResult, roots: InputRoots, *, num_episodes: int, seed: int = 0
) -> Iterator[Check]:
    """Score ``num_episodes`` random episodes with the recorded configuration.

    It may name any class or function, and all are called: only for results that one trusts.

    Args:
        result: as it was read.
        roots: where the files lie now.
        num_episodes: at least 1; more than there are means all of them.
        seed: which ones.
    """
    if result.provenance is None:
        yield Check("recompute", "unknown", "the file holds no configuration to run again")
        return
    if moved := missing_roles(result, roots):
        yield Check("recompute", "unknown", f"no file of {' and '.join(moved)} is found")
        return
    scored = [episode for episode in result.episodes if episode.failure is None]
    chosen = random.Random(seed).sample(scored, min(num_episodes, len(scored)))
    chosen.sort(key=lambda episode: episode.episode_id)
    links: dict[str, str] = {}
    is_whole = len(chosen) == len(scored)
    try:
        fresh = _score(result, chosen, roots, links, with_distances=is_whole)
    except UnsafePathError as error:
        yield Check("recompute", "unknown", str(error))
        return
    # A configuration that somebody changed may raise anything.
    except Exception as error:
        yield Check("recompute", "failed", _linked(f"{type(error).__name__}: {error}", links))
        return
    again = {episode.episode_id: episode for episode in fresh.episodes}
    for episode in chosen:
        subject = f"recompute/{episode.episode_id}"
        differences = list(_differences(episode, again.get(episode.episode_id)))
        if _targets(result, episode.episode_id) != _targets(fresh, episode.episode_id):
            differences.append("other target tokens than were recorded")
        if differences:
            more = f" and {len(differences) - 1} more" if len(differences) > 1 else ""
            yield Check(subject, "failed", _linked(differences[0], links) + more)
        else:
            yield Check(subject, "verified", f"{len(episode.metrics)} metrics at every horizon")
    if is_whole:
        yield from _distance_checks(result, fresh)


def _distance_checks(result: SuiteResult, fresh: SuiteResult) -> Iterator[Check]:
    """Distances of distributions are of all episodes, and checked with them."""
    again = {distance.name: distance for distance in fresh.distribution_distances}
    for stated in result.distribution_distances:
        subject, found = f"recompute/{stated.name}", again.get(stated.name)
        if found is None:
            yield Check(subject, "failed", "it is not measured any more")
        elif not _close(asdict(stated), asdict(found)):
            yield Check(subject, "failed", f"{stated} in the file, {found} now")
        else:
            yield Check(subject, "verified", f"over {found.num_episodes} episodes")


def _linked(text: str, links: Mapping[str, str]) -> str:
    """A text that names files as the user knows them, not by links that were made for them."""
    for link in sorted(links, key=len, reverse=True):
        text = text.replace(link, links[link])
    return text


def _score(
    result: SuiteResult,
    episodes: Sequence[EpisodeResult],
    roots: InputRoots,
    links: dict[str, str],
    *,
    with_distances: bool,
) -> SuiteResult:
    """Evaluate some of a result's episodes; ``links`` is filled with what stands for what."""
    assert result.provenance is not None
    configuration = dict(result.provenance.configuration)
    if not with_distances:
        configuration.pop("distribution_metrics", None)
    if (actions := actions_root(result, roots)) is not None:
        configuration["suite"] = {**configuration["suite"], "actions": str(actions)}
    provenance = dataclasses.replace(result.provenance, configuration=configuration)
    result = dataclasses.replace(result, provenance=provenance)
    settings = (configuration.get("suite") or {}).get("layout")
    if settings and settings.get("_target_") != _VIDEO_FOLDERS:
        return _score_in_place(result, episodes, roots)
    return _score_links(result, episodes, roots, links)


def _score_in_place(
    result: SuiteResult, episodes: Sequence[EpisodeResult], roots: InputRoots
) -> SuiteResult:
    """From where they lie; a layout of its own finds its episodes nowhere else."""
    assert result.provenance is not None
    configuration = dict(result.provenance.configuration)
    suite = dict(configuration["suite"])
    suite["ground_truth"] = str(recorded_root(result, "ground_truth", roots))
    if suite.get("predictions") is not None:
        suite["predictions"] = str(recorded_root(result, "prediction", roots))
    request = _request(configuration | {"suite": suite})
    ids = frozenset(episode.episode_id for episode in episodes)
    return run(dataclasses.replace(request, layout=_SomeEpisodes(request.layout, ids)))


@dataclass(frozen=True)
class _SomeEpisodes:
    """A layout that leaves out all others."""

    layout: Layout
    ids: frozenset[str]

    def episodes(self, ground_truth: Path) -> tuple[Episode, ...]:
        found = self.layout.episodes(ground_truth)
        return tuple(episode for episode in found if episode.episode_id in self.ids)

    def pairs(self, ground_truth: Path, predictions: Path | None) -> tuple[EpisodePair, ...]:
        found = self.layout.pairs(ground_truth, predictions)
        return tuple(pair for pair in found if pair.episode_id in self.ids)


def _score_links(
    result: SuiteResult,
    episodes: Sequence[EpisodeResult],
    roots: InputRoots,
    links: dict[str, str],
) -> SuiteResult:
    """From a folder of links to their files."""
    assert result.provenance is not None
    with tempfile.TemporaryDirectory(prefix="wbgpu-verify-") as name:
        folder = Path(name)
        configuration = dict(result.provenance.configuration)
        suite = dict(configuration.get("suite") or {})
        for key, role in (("ground_truth", "ground_truth"), ("predictions", "prediction")):
            suite[key] = str(folder / role)
            for episode in episodes:
                path = video_path(result, episode, role, roots)
                source = path.absolute()
                if not source.exists():
                    raise InputError(f"{path}: no such file")
                target = folder / role
                if source.is_dir():
                    # Of a frame dataset: the JSON files lie beside the ground truth's images.
                    target = target / episode.episode_id
                    source = source.parent if role == "ground_truth" else source
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.symlink_to(source)
                    links[str(target)] = str(source)
                    continue
                if result.result_type == "evaluation":
                    suite[key] = str(source)
                    continue
                target = target / Path(episode.episode_id).with_suffix(source.suffix)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(source)
                links[str(target)] = str(path)
        if (root := logits_root(result, roots)) is not None:
            suite["logits"] = str(_link_logits(root, folder, episodes))
            links[suite["logits"]] = str(root)
        return run(_request(configuration | {"suite": suite}))


def _request(configuration: Mapping[str, Any]) -> EvaluationRequest:
    here = dict(configuration)
    if str(here.get("device")).startswith("cuda") and not torch.cuda.is_available():
        here["device"] = "auto"
    return request_from(OmegaConf.create(_verbatim(here)))


def _link_logits(root: Path, folder: Path, episodes: Sequence[EpisodeResult]) -> Path:
    for files in find_logits(root, [episode.episode_id for episode in episodes]).values():
        for source in files.paths.values():
            target = folder / "logits" / source.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source.absolute())
    return folder / "logits"


def _verbatim(node: Any) -> Any:
    """Text is text: nothing in a file is interpolated."""
    if isinstance(node, Mapping):
        return {str(key): _verbatim(value) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return [_verbatim(value) for value in node]
    return node.replace("${", "\\${") if isinstance(node, str) else node


def _targets(result: SuiteResult, episode_id: str) -> str | None:
    """Digest of the target tokens of an episode, where it has any."""
    digests = {} if result.provenance is None else result.provenance.input_sha256
    return digests.get(f"targets/{episode_id}")


def _differences(stated: EpisodeResult, found: EpisodeResult | None) -> Iterator[str]:
    if found is None:
        yield "the episode was not found again"
        return
    if found.failure is not None:
        yield f"cannot be scored any more: {found.failure.message}"
        return
    if not _close(stated.score, found.score):
        yield f"score: {stated.score!r} in the file, {found.score!r} now"
    for name, outcome in stated.metrics.items():
        if name not in found.metrics:
            yield f"{name} is not measured any more"
        else:
            yield from _outcome_differences(outcome, found.metrics[name])


def _outcome_differences(stated: MetricOutcome, found: MetricOutcome) -> Iterator[str]:
    if (stated.status, stated.metric_id) != (found.status, found.metric_id):
        yield (
            f"{stated.name}: {stated.status} under {stated.metric_id} in the file, {found.status} "
            f"under {found.metric_id} now"
        )
        return
    if not _close(stated.value, found.value):
        yield f"{stated.name}: {stated.value!r} in the file, {found.value!r} now"
    if not _close(stated.whole_details, found.whole_details):
        yield f"{stated.name}, details: others in the file than now"
    for view, ours, theirs in (
        ("prefix", stated.prefix, found.prefix),
        ("step", stated.step, found.step),
        *(
            (name, column, found.prefix_details.get(name, ()))
            for name, column in stated.prefix_details.items()
        ),
    ):
        for horizon, (one, other) in enumerate(zip_longest(ours, theirs), start=1):
            if not _close(one, other):
                yield f"{stated.name}, {view} {horizon}: {one!r} in the file, {other!r} now"


def _close(one: Any, other: Any) -> bool:
    """Numbers within the tolerance, and what holds them likewise; else the same thing."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_close(one[key], other[key]) for key in one)
    if not (isinstance(one, (int, float)) and isinstance(other, (int, float))):
        return bool(one == other)
    return abs(one - other) <= TOLERANCE * max(1.0, abs(one))
