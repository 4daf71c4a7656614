"""``wbgpu eval-batch``: score one checkpoint on folders of episode videos."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from wbgpu.cli.artifacts import (
    artifact_names,
    check_file,
    check_folder,
    default_output,
    new_run_folder,
    save,
)
from wbgpu.cli.evaluating import (
    discard_journal,
    evaluating_options,
    exit_code,
    prepare,
    report_throughput,
    run_request,
)
from wbgpu.errors import InputError
from wbgpu.records.strict_json import to_text, write_text
from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import batch_payload, evaluation_payload
from wbgpu.report.console import result_summary
from wbgpu.report.markdown import result_report


@click.command("eval-batch", short_help="Score a checkpoint on folders of episode videos.")
@click.option(
    "--ground-truth",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder of ground-truth episode videos.",
)
@click.option(
    "--predictions",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder of the checkpoint's predicted videos.",
)
@click.option(
    "--name",
    help="Checkpoint name, also of the default JSON copy.  [default: the predictions folder's]",
)
@click.option(
    "--output-root",
    type=click.Path(path_type=Path),
    default=Path(".wbgpu/batches"),
    show_default=True,
    help="Where results are kept.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="JSON file to write as well.  [default: <name>.json]",
)
@evaluating_options
def command(
    ground_truth: Path,
    predictions: Path,
    name: str | None,
    skip_context: int | None,
    device: str | None,
    output_root: Path,
    output: Path | None,
    config_path: Path | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> int:
    """Score one checkpoint's predicted videos, paired with ground truth by relative path.

    OVERRIDES are those of `wbgpu eval`, such as 'metrics=[visual_similarity,psnr]'.

    \b
    Example:
      wbgpu eval-batch --ground-truth gt/ --predictions step00900/ --skip-context 4
    """
    check_folder(output_root, "--output-root")
    for root, flag in ((ground_truth, "--ground-truth"), (predictions, "--predictions")):
        if root.is_file():
            raise InputError(f"{flag}: {root} is not a directory; score one video with eval-video")
    values = {
        "suite.ground_truth": str(ground_truth),
        "suite.predictions": str(predictions),
        "suite.num_context": skip_context,
        "name": name,
        "device": device,
    }
    folder = new_run_folder(output_root)
    request, project = prepare(values, config_path, overrides, run_folder=folder)
    copy = output or default_output(request.checkpoint_name)
    check_file(copy, "--output")
    result, timeline = run_request(request, show_progress=not as_json)
    with timeline.span("write"):
        saved, latest = save_batch(result, folder, copy, project.gate)
    discard_journal(request)
    if as_json:
        payload = batch_payload(result, gate=project.gate)
        click.echo(to_text({k: v for k, v in payload.items() if k != "episodes"}), nl=False)
        report_throughput(timeline, folder, as_json=True)
        return exit_code(result)
    click.echo(result_summary(result))
    if project.path is not None:
        click.echo(f"Configuration: {project.path}")
    click.echo(f"Saved batch result: {saved['batch.json']}")
    click.echo(f"Saved report: {saved['report.md']}")
    click.echo(f"Latest alias: {latest['batch.json']}")
    click.echo(f"Checkpoint JSON: {copy}")
    report_throughput(timeline, folder, as_json=False)
    return exit_code(result)


def save_batch(
    result: SuiteResult, folder: Path, copy: Path, gate: Mapping[str, Any]
) -> tuple[dict[str, Path], dict[str, Path]]:
    """Write the run's folder, every episode's own result, the latest alias and the copy.

    Returns:
        Paths of ``batch.json`` and ``report.md`` in the run's folder and in ``latest`` beside it.
    """
    names = artifact_names(episode.episode_id for episode in result.episodes)
    paths = {i: str(folder / "episodes" / f"{name}.json") for i, name in names.items()}
    save(
        folder / "episodes",
        {
            f"{names[episode.episode_id]}.json": to_text(
                evaluation_payload(result, episode, gate=gate)
            )
            for episode in result.episodes
            if episode.failure is None
        },
    )
    files = {
        "batch.json": to_text(batch_payload(result, paths, gate=gate)),
        "report.md": result_report(result),
    }
    saved = save(folder, files)
    latest = save(folder.parent / "latest", files)
    write_text(copy, files["batch.json"])
    return saved, latest
