"""``wbgpu eval-frames``: score one checkpoint on a frame dataset."""

from __future__ import annotations

from pathlib import Path

import click

from wbgpu.cli.artifacts import check_folder, new_run_folder, save
from wbgpu.cli.evaluating import (
    discard_journal,
    evaluating_options,
    exit_code,
    prepare,
    report_throughput,
    run_request,
)
from wbgpu.errors import InputError
from wbgpu.records.strict_json import to_text
from wbgpu.records.worldbench import evaluation_payload
from wbgpu.report.console import result_summary
from wbgpu.report.markdown import result_report


@click.command("eval-frames", short_help="Score a checkpoint on a frame dataset (images and JSON).")
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option(
    "--predictions",
    "-p",
    type=click.Path(path_type=Path),
    help="Folder of a model's predictions, by episode.  [default: episode_*/predictions]",
)
@click.option("--name", help="Checkpoint name.  [default: the predictions folder's]")
@click.option(
    "--output-root",
    type=click.Path(path_type=Path),
    default=Path(".wbgpu/runs"),
    show_default=True,
    help="Where results are kept.",
)
@evaluating_options
def command(
    dataset: Path,
    predictions: Path | None,
    name: str | None,
    skip_context: int | None,
    device: str | None,
    output_root: Path,
    config_path: Path | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> int:
    """Score predicted frames of DATASET: visual, temporal, and what robot and objects do.

    DATASET holds episode_*/ with frames/, actions.json, states.json and metadata.json; predictions
    are images in PREDICTIONS/<episode>/ or PREDICTIONS/<episode>/predictions/.

    \b
    Example:
      wbgpu eval-frames dataset/ --predictions dataset/good_model
    """
    check_folder(output_root, "--output-root")
    if dataset.is_file():
        raise InputError(f"{dataset} is a file; expected a frame dataset, a folder of episode_*/")
    values = {
        "suite.ground_truth": str(dataset),
        "suite.predictions": None if predictions is None else str(predictions),
        "suite.num_context": skip_context,
        "name": name,
        "device": device,
    }
    folder = new_run_folder(output_root)
    request, project = prepare(values, config_path, ("suite=frames", *overrides), run_folder=folder)
    result, timeline = run_request(request, show_progress=not as_json)
    with timeline.span("write"):
        payload = to_text(evaluation_payload(result, gate=project.gate))
        files = {"result.json": payload, "report.md": result_report(result)}
        saved = save(folder, files)
        latest = save(output_root / "latest", files)
    discard_journal(request)
    if as_json:
        click.echo(payload, nl=False)
        report_throughput(timeline, folder, as_json=True)
        return exit_code(result)
    click.echo(result_summary(result))
    if project.path is not None:
        click.echo(f"Configuration: {project.path}")
    click.echo(f"Saved result: {saved['result.json']}")
    click.echo(f"Saved report: {saved['report.md']}")
    click.echo(f"Latest alias: {latest['result.json']}")
    report_throughput(timeline, folder, as_json=False)
    return exit_code(result)
