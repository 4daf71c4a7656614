"""A sweeper that optimises, and small suites to sweep over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import numpy as np
from hydra.plugins.sweeper import Sweeper

from wbgpu.cli.demo_suite import draw_episode
from wbgpu.video.encode import write_video


class Greedy(Sweeper):
    """Launches jobs one after the other, as an optimiser does, and keeps what it was given."""

    given: ClassVar[list[float]] = []

    def __init__(self, **settings_of_the_one_it_replaces):
        pass

    def setup(self, *, hydra_context, task_function, config):
        self.setting = hydra_context, task_function, config

    def sweep(self, arguments):
        from hydra.core.plugins import Plugins

        context, task, config = self.setting
        launcher = Plugins.instance().instantiate_launcher(
            hydra_context=context, task_function=task, config=config
        )
        key = "suite.predictions"
        fixed = [argument for argument in arguments if not argument.startswith(f"{key}=")]
        choices = next(a for a in arguments if a.startswith(f"{key}=")).partition("=")[2]
        for index, choice in enumerate(choices.split(",")):
            (job,) = launcher.launch([[*fixed, f"{key}={choice}"]], initial_job_idx=index)
            Greedy.given.append(float(job.return_value))


# Hydra takes plugins from this package only.
Greedy.__module__ = "hydra_plugins.greedy"
GREEDY = "hydra.sweeper._target_=hydra_plugins.greedy.Greedy"


def write_suite(folder: Path, num_episodes: int = 3, num_frames: int = 8) -> None:
    """Ground truth ``gt`` and predictions ``good``, ``bad``, and ``broken``, which is no video."""
    generator = np.random.default_rng(0)
    for index in range(num_episodes):
        truth = draw_episode(generator, num_frames)
        write_video(folder / f"gt/{index}.mp4", truth, fps=5)
        for name, noise in (("good", 4), ("bad", 40)):
            frames = np.clip(truth + generator.normal(0, noise, truth.shape), 0, 255)
            write_video(folder / name / f"{index}.mp4", frames.astype(np.uint8), fps=5)
        broken = folder / f"broken/{index}.mp4"
        broken.parent.mkdir(exist_ok=True)
        broken.write_text("not a video")


def statuses(folder: str | Path = "sweep") -> list[dict]:
    """Status documents by job."""
    documents = [json.loads(p.read_text("utf-8")) for p in Path(folder).glob("*/status.json")]
    return sorted(documents, key=lambda document: document["job"])
