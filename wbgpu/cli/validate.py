"""``wbgpu validate``: what is wrong with a frame dataset."""

from __future__ import annotations

from pathlib import Path

import click

from wbgpu.episodes.frame_dataset_check import check_dataset
from wbgpu.records.strict_json import to_text


@click.command("validate", short_help="Say what is wrong with a frame dataset.")
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON and nothing else.")
def command(dataset: Path, as_json: bool) -> int:
    """Check DATASET's JSON files, the names and sizes of its images, and their counts.

    Exits with 0 where it can be evaluated and with 2 where not; warnings do not count.
    """
    report = check_dataset(dataset)
    if as_json:
        document = {
            "dataset": str(report.dataset),
            "is_valid": report.is_valid,
            "episode_count": report.num_episodes,
            "frame_count": report.num_frames,
            "errors": list(report.errors),
            "warnings": list(report.warnings),
        }
        click.echo(to_text(document), nl=False)
    else:
        for kind, messages in (("Error", report.errors), ("Warning", report.warnings)):
            for message in messages:
                click.echo(f"{kind}: {message}")
        counts = f"{report.num_episodes} episode(s), {report.num_frames} frame(s)"
        verdict = "Valid" if report.is_valid else "Invalid"
        click.echo(
            f"{verdict} dataset: {counts}, {len(report.errors)} error(s), "
            f"{len(report.warnings)} warning(s)"
        )
    return 0 if report.is_valid else 2
