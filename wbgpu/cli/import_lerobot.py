"""``wbgpu import-lerobot``: episodes of a LeRobot dataset as a dataset of frames."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from wbgpu import sdk
from wbgpu.cli.artifacts import check_folder
from wbgpu.episodes.lerobot.selection import parse_selection
from wbgpu.episodes.lerobot.timelines import TIMELINES, TimelineName


@click.command("import-lerobot", short_help="Copy a LeRobot dataset into a dataset of frames.")
@click.argument("input_path", required=False, type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder to make for the frames."
)
@click.option("--repo-id", help="Dataset on the Hugging Face Hub, instead of a local folder.")
@click.option("--revision", help="Its branch, tag or commit.  [default: main]")
@click.option("--episodes", help="Such as 0:3,7,2.  [default: all]")
@click.option(
    "--camera", help="Key of the video, such as observation.images.front.  [default: the only one]"
)
@click.option(
    "--timeline",
    type=click.Choice(TIMELINES),
    default="video",
    show_default=True,
    help="video: each frame once; control: a frame for each row.",
)
def command(
    input_path: Path | None,
    out: Path,
    repo_id: str | None,
    revision: str | None,
    episodes: str | None,
    camera: str | None,
    timeline: TimelineName,
) -> None:
    """Copy episodes of a LeRobot dataset (v2.0, v2.1, v3.0) into frames and JSON files.

    INPUT_PATH is the folder that holds meta/ and data/. To evaluate it where it lies, without a
    copy: wbgpu eval suite=lerobot suite.ground_truth=INPUT_PATH ...

    \b
    Examples:
      wbgpu import-lerobot datasets/pusht --episodes 0:3,7,2 --out frames/pusht
      wbgpu import-lerobot --repo-id lerobot/pusht --episodes 0:3 --out frames/pusht
    """
    check_folder(out.absolute().parent, "--out")
    with click.progressbar(
        length=1, label="Importing", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:

        def show(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        imported = sdk.import_lerobot(
            input_path,
            out,
            repo_id=repo_id,
            revision=revision,
            episodes=None if episodes is None else parse_selection(episodes),
            camera=camera,
            timeline=timeline,
            on_episode=show,
        )
    click.echo(
        f"Imported dataset: {imported.folder} ({imported.num_episodes} episodes, "
        f"{imported.num_frames} frames of {imported.camera})"
    )
