"""``wbgpu eval-video``: score one predicted video, strictly aligned."""

from __future__ import annotations

import json
from pathlib import Path

import click

from wbgpu.cli.artifacts import check_folder, new_run_folder, save
from wbgpu.cli.evaluating import project_values, quick_imports
from wbgpu.records.project_file import load_project_file
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
@click.option(
    "--skip-context",
    default=0,
    show_default=True,
    type=int,
    help="Leading context frames that are not scored.",
)
@click.option("--name", help="Display name.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option(
    "--output-root",
    type=click.Path(path_type=Path),
    default=Path(".wbgpu/runs"),
    show_default=True,
    help="Where results are kept.",
)
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    help="wbgpu.yml; looked for in the current folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else.")
@click.argument("overrides", nargs=-1)
def command(
    ground_truth: Path,
    prediction: Path,
    skip_context: int,
    name: str | None,
    device: str,
    output_root: Path,
    config_path: Path | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    r"""Score one predicted video against its ground truth, frame by frame.

    \b
    Example:
      wbgpu eval-video --ground-truth gt.mp4 --prediction pred.mp4 --skip-context 4
    """
    with quick_imports():
        from wbgpu.evaluation.configuration import compose, request_from
        from wbgpu.evaluation.run import run

    check_folder(output_root, "--output-root")
    project = load_project_file(config_path)
    values = {
        "suite.ground_truth": str(ground_truth),
        "suite.predictions": str(prediction),
        "suite.num_context": skip_context,
        "name": name,
        "device": device,
        **project_values(project),
    }
    result = run(request_from(compose(overrides, values), project.path))
    payload = (
        json.dumps(evaluation_payload(result, gate=project.gate), indent=2, allow_nan=False) + "\n"
    )
    files = {"result.json": payload, "report.md": result_report(result)}
    saved = save(new_run_folder(output_root), files)
    save(output_root / "latest", files)
    if as_json:
        click.echo(payload, nl=False)
        return
    click.echo(result_summary(result))
    if project.path is not None:
        click.echo(f"Configuration: {project.path}")
    click.echo(f"Saved result: {saved['result.json']}")
    click.echo(f"Saved run directory: {saved['result.json'].parent}")
