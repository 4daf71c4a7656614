"""Fetch what is needed of a LeRobot dataset on the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wbgpu.episodes.lerobot.dataset import LeRobotDataset
from wbgpu.errors import ConfigurationError, InputError


def download(
    repo_id: str,
    episodes: Sequence[int] | None = None,
    camera: str | None = None,
    revision: str | None = None,
) -> Path:
    """Metadata first, then the files in which the chosen episodes lie, into the Hub's cache.

    Environment variables of huggingface_hub hold: ``HF_HOME``, ``HF_TOKEN``, ``HF_HUB_OFFLINE``.

    Args:
        repo_id: such as ``lerobot/pusht``.
        episodes: numbers; ``None`` for all.
        camera: see `LeRobotDataset`.
        revision: branch, tag or commit; ``None`` for ``main``.

    Returns:
        The dataset's folder, which is named after the commit.

    Raises:
        ConfigurationError: huggingface_hub is not installed, or camera or episodes do not exist.
        InputError: the dataset cannot be fetched, or is malformed.
    """
    root = _fetch(repo_id, revision, ["meta/**"])
    dataset = LeRobotDataset(root, camera)
    entries = [dataset.entries[index] for index in dataset.chosen(episodes)]
    files = {str(file) for entry in entries for file in (entry.data_file, entry.video_file)}
    # By its commit, so that nothing changes between the two.
    return _fetch(repo_id, root.name, sorted(files))


def _fetch(repo_id: str, revision: str | None, patterns: list[str]) -> Path:
    try:
        import huggingface_hub
        from huggingface_hub.errors import HFValidationError
    except ImportError as error:
        raise ConfigurationError(
            "--repo-id needs huggingface_hub, which is not installed: pip install 'wbgpu[lerobot]'"
        ) from error
    try:
        folder = huggingface_hub.snapshot_download(
            repo_id, repo_type="dataset", revision=revision, allow_patterns=patterns
        )
    except HFValidationError as error:
        raise ConfigurationError(f"--repo-id: {error}") from error
    # Its errors are those of requests or httpx, by version; all mean that nothing came.
    except Exception as error:
        raise InputError(
            f"the dataset {repo_id!r} cannot be fetched from the Hugging Face Hub "
            f"({type(error).__name__}: {error}); where there is no network, copy the dataset here "
            "and give its folder"
        ) from error
    return Path(folder)
