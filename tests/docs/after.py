"""What must hold in a page's folder after its blocks were run, beyond what they print."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import wbgpu
from tests.conftest import REPOSITORY


def _many_gpus() -> None:
    """Every run, whoever started its ranks, wrote one result."""
    runs = list(Path(".wbgpu/evals").iterdir())
    assert len(runs) == 3
    assert all((folder / "batch.json").is_file() for folder in runs)


def _lerobot() -> None:
    """Imported frames say where they come from, and the page explains every key."""
    documents = [
        json.loads(Path(folder, "episode_000002/metadata.json").read_text())
        for folder in ("frames/pusht", "frames/pusht_control", "frames/pusht_hub")
    ]
    assert [d["timeline"] for d in documents] == ["video", "control", "video"]
    page = (REPOSITORY / "docs/how-to/lerobot.md").read_text("utf-8")
    told_elsewhere = {"name", "robot", "task", "fps", "description"}
    assert set().union(*documents) - told_elsewhere <= set(re.findall(r"`(\w+)`", page))


def _training_callback() -> None:
    """The checkpoint by itself has the scores that the callback logged."""
    offline = wbgpu.load_result("best.json")
    (checkpoint,) = Path("runs/checkpoints").iterdir()
    epoch = int(re.findall(r"epoch=(\d+)", checkpoint.name)[0])
    (logged,) = Path("runs/scores").glob(f"epoch{epoch:03d}-*.json")
    online = wbgpu.load_result(logged)
    for ours, theirs in zip(offline.episodes, online.episodes, strict=True):
        assert _without_places(ours) == _without_places(theirs)


def _without_places(episode: wbgpu.EpisodeResult) -> wbgpu.EpisodeResult:
    assert episode.alignment is not None
    alignment = dataclasses.replace(episode.alignment, prediction=None, target=None)
    return dataclasses.replace(
        episode, prediction_path=None, ground_truth_path=None, alignment=alignment
    )


def _slurm() -> None:
    """The better checkpoint of the sweep is found."""
    document = json.loads(Path("sweeps/trial/sweep_report.json").read_text("utf-8"))
    names = [job["checkpoint_name"] for job in document["ranking"]]
    assert names == ["step00900", "step00060"]


def _sweep() -> None:
    """Running a sweep again keeps what is done."""
    report = json.loads(Path("sweeps/nightly/sweep_report.json").read_text("utf-8"))
    assert len(report["ranking"]) == 3
    assert Path("sweeps/nightly/sweep_report.png").is_file()


def _trackers() -> None:
    """The tracks that the page supplies reach the metric: equal on both sides."""
    results = [wbgpu.load_result(path) for path in sorted(Path(".wbgpu/evals").glob("*"))]
    (agreement,) = (
        result.summary.metrics["contact_agreement"].distribution
        for result in results
        if "contact_agreement" in result.summary.metrics
    )
    assert agreement is not None
    assert agreement.mean == 1.0


CHECKS: Mapping[str, Callable[[], None]] = {
    "docs/how-to/lerobot.md": _lerobot,
    "docs/how-to/many_gpus.md": _many_gpus,
    "docs/how-to/slurm.md": _slurm,
    "docs/how-to/sweep.md": _sweep,
    "docs/how-to/training_callback.md": _training_callback,
    "docs/trackers.md": _trackers,
}
"""By page."""
