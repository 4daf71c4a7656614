"""Folders as NanoWM's scripts and worldbench's adapter leave them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def files(root: Path, *names: str, content: bytes = b"x") -> Path:
    """Files that are no videos: layouts open none."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    root.mkdir(parents=True, exist_ok=True)
    return root


def manifest(
    *paths: str,
    context: int = 4,
    steps: int = 8,
    fps: float = 3.0,
    size: tuple[int, int] = (32, 24),
    candidate: bool = True,
) -> dict[str, Any]:
    """What the adapter writes, but for the files that it took clips from."""
    return {
        "schema_version": "1",
        "adapter": "nanowm_rt1_prepare_worldbench_inputs",
        "dataset": "RT-1 / Fractal",
        "dataset_source": "IPEC-COMMUNITY/fractal20220817_data_lerobot",
        "episodes": [
            {
                "episode_id": path,
                "output_relative_path": path,
                "frame_count": context + steps,
                "context_frames": context,
                "prediction_frames": steps,
                "resolution": list(size),
                "source_kind": "video",
            }
            for path in paths
        ],
        "camera": "observation.images.image",
        "baseline_checkpoint": "nanowm-50k",
        "candidate_checkpoint": "nanowm-300k" if candidate else None,
        "context_frames": context,
        "prediction_frames": steps,
        "fps": fps,
        "resolution": list(size),
        "ground_truth_directory": "ground_truth",
        "baseline_directory": "baseline",
        "candidate_directory": "candidate" if candidate else None,
        "source_files": [],
        "created_at": "2026-07-22T23:22:52+00:00",
        "worldbench_version": "0.4.1",
        "worldbench_commit": None,
        "known_limitations": ["One fixed episode."],
    }


def write_manifest(root: Path, document: dict[str, Any]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    path = root / "manifest.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def prepared(root: Path, *paths: str) -> Path:
    """A whole prepared folder."""
    for folder in ("ground_truth", "baseline", "candidate"):
        files(root / folder, *paths)
    write_manifest(root, manifest(*paths))
    return root
