"""``wbgpu eval-videos``: score one saved video with safe alignment, into a folder."""

from __future__ import annotations

from pathlib import Path

import click

from wbgpu.cli.artifacts import check_folder, save
from wbgpu.cli.contact_sheet import save_contact_sheet
from wbgpu.cli.demo_suite import write_demo_pair
from wbgpu.cli.evaluating import (
    evaluating_options,
    exit_code,
    prepare,
    refuse_folders,
    report_throughput,
    run_request,
)
from wbgpu.errors import VideoError
from wbgpu.records.strict_json import to_text
from wbgpu.records.worldbench import evaluation_payload
from wbgpu.report.console import result_summary
from wbgpu.report.markdown import result_report

DEMO_NOTES = (
    "Demonstration on drawn frames.",
    "It says nothing about any model.",
    "It is not a benchmark.",
)


@click.command("eval-videos", short_help="Score one saved video, aligned as far as is safe.")
@click.option("--ground-truth", type=click.Path(path_type=Path), help="Ground-truth video.")
@click.option(
    "--reference", type=click.Path(path_type=Path), help="Another name of --ground-truth."
)
@click.option("--prediction", type=click.Path(path_type=Path), help="Predicted video.")
@click.option(
    "--output",
    "output_folder",
    type=click.Path(path_type=Path),
    default=Path("wbgpu-video-results"),
    show_default=True,
    help="Folder for result.json, summary.md and artifacts.",
)
@click.option("--name", help="Display name.")
@click.option(
    "--save-comparison/--no-save-comparison",
    default=True,
    show_default=True,
    help="Save a contact sheet of both videos.",
)
@click.option("--demo", is_flag=True, help="Make and score a small built-in pair.")
@click.option(
    "--max-frame-mismatch-ratio",
    type=float,
    help="Tolerated difference of the futures' lengths, as a share.  [default: 0.25]",
)
@click.option(
    "--max-frame-mismatch-frames",
    type=int,
    help="Tolerated difference in frames, if that is more.  [default: 8]",
)
@evaluating_options
def command(
    ground_truth: Path | None,
    reference: Path | None,
    prediction: Path | None,
    output_folder: Path,
    skip_context: int | None,
    name: str | None,
    save_comparison: bool,
    demo: bool,
    max_frame_mismatch_ratio: float | None,
    max_frame_mismatch_frames: int | None,
    device: str | None,
    config_path: Path | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> int:
    """Score one saved predicted video; lengths, sizes and rates may differ within limits.

    \b
    Example:
      wbgpu eval-videos --ground-truth gt.mp4 --prediction pred.mp4 --output results/
    """
    check_folder(output_folder, "--output")
    if demo:
        if ground_truth or reference or prediction:
            raise click.UsageError("--demo makes its own videos; leave the others out.")
        truth, prediction = write_demo_pair(output_folder / "demo_inputs")
    else:
        given = [path for path in (ground_truth, reference) if path is not None]
        if len(given) != 1:
            raise click.UsageError("Give exactly one of --ground-truth and --reference, or --demo.")
        if prediction is None:
            raise click.UsageError("Give --prediction, or --demo.")
        (truth,) = given
    refuse_folders((truth, "--ground-truth"), (prediction, "--prediction"))
    values = {
        "suite.ground_truth": str(truth),
        "suite.predictions": str(prediction),
        "suite.num_context": skip_context,
        "suite.alignment": "safe",
        "suite.max_frame_mismatch_ratio": max_frame_mismatch_ratio,
        "suite.max_frame_mismatch_frames": max_frame_mismatch_frames,
        "name": name,
        "device": device,
    }
    notes = DEMO_NOTES if demo else ()
    request, project = prepare(values, config_path, overrides, notes)
    result, timeline = run_request(request, show_progress=False)
    with timeline.span("write"):
        payload = to_text(evaluation_payload(result, gate=project.gate))
        saved = save(output_folder, {"result.json": payload, "summary.md": result_report(result)})
    lines = [f"Saved JSON: {saved['result.json']}", f"Saved Markdown: {saved['summary.md']}"]
    if save_comparison:
        alignment = result.episodes[0].alignment
        assert alignment is not None
        path = output_folder / "artifacts" / "comparison.png"
        try:
            save_contact_sheet(alignment, request.decoder, path)
            lines.append(f"Saved comparison image: {path}")
        except VideoError as error:
            lines.append(f"Comparison image skipped: {error}")
    if as_json:
        click.echo(payload, nl=False)
        report_throughput(timeline, output_folder, as_json=True)
        return exit_code(result)
    click.echo(result_summary(result))
    if project.path is not None:
        click.echo(f"Configuration: {project.path}")
    click.echo("\n".join(lines))
    report_throughput(timeline, output_folder, as_json=False)
    return exit_code(result)
