"""``wbgpu eval-video``: score one predicted video, strictly aligned."""

from __future__ import annotations

from pathlib import Path

import click

from wbgpu.cli.artifacts import check_folder, new_run_folder, save
from wbgpu.cli.evaluating import (
    evaluating_options,
    exit_code,
    prepare,
    refuse_folders,
    report_throughput,
    run_request,
)
from wbgpu.records.strict_json import to_text
from wbgpu.records.worldbench import evaluation_payload
from wbgpu.report.console import result_summary
from wbgpu.report.markdown import result_report


@click.command("eval-video", short_help="Score one predicted video, strictly aligned.")
@click.option(
    "--ground-truth",
    required=True,
    type=click.Path(path_type=Path),
    help="Ground-truth video, context and future.",
)
@click.option(
    "--prediction",
    required=True,
    type=click.Path(path_type=Path),
    help="Predicted video of the same length, size and rate.",
)
@click.option("--name", help="Display name.")
@click.option(
    "--output-root",
    type=click.Path(path_type=Path),
    default=Path(".wbgpu/runs"),
    show_default=True,
    help="Where results are kept.",
)
@evaluating_options
def command(
    ground_truth: Path,
    prediction: Path,
    skip_context: int | None,
    name: str | None,
    device: str | None,
    output_root: Path,
    config_path: Path | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> int:
    """Score one predicted video against its ground truth, frame by frame.

    \b
    Example:
      wbgpu eval-video --ground-truth gt.mp4 --prediction pred.mp4 --skip-context 4
    """
    check_folder(output_root, "--output-root")
    refuse_folders((ground_truth, "--ground-truth"), (prediction, "--prediction"))
    values = {
        "suite.ground_truth": str(ground_truth),
        "suite.predictions": str(prediction),
        "suite.num_context": skip_context,
        "name": name,
        "device": device,
    }
    request, project = prepare(values, config_path, overrides)
    result, timeline = run_request(request, show_progress=False)
    folder = new_run_folder(output_root)
    with timeline.span("write"):
        payload = to_text(evaluation_payload(result, gate=project.gate))
        files = {"result.json": payload, "report.md": result_report(result)}
        saved = save(folder, files)
        save(output_root / "latest", files)
    if as_json:
        click.echo(payload, nl=False)
        report_throughput(timeline, folder, as_json=True)
        return exit_code(result)
    click.echo(result_summary(result))
    if project.path is not None:
        click.echo(f"Configuration: {project.path}")
    click.echo(f"Saved result: {saved['result.json']}")
    click.echo(f"Saved run directory: {folder}")
    report_throughput(timeline, folder, as_json=False)
    return exit_code(result)
