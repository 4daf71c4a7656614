"""``wbgpu eval-batch``: score one checkpoint on folders of episode videos."""

from __future__ import annotations

import json
from pathlib import Path

import click

from wbgpu.cli.artifacts import (
    artifact_names,
    check_file,
    check_folder,
    default_output,
    new_run_folder,
    save,
)
from wbgpu.cli.evaluating import exit_code, project_values, quick_imports
from wbgpu.records.project_file import load_project_file
from wbgpu.records.strict_json import write_text
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
    help="Checkpoint name, also of the default JSON copy. [default: the predictions folder's name]",
)
@click.option(
    "--skip-context",
    default=0,
    show_default=True,
    type=int,
    help="Leading context frames that are not scored.",
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
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
    help="JSON file to write as well. [default: <name>.json]",
)
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    help="wbgpu.yml; looked for in the current folder.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the aggregates as JSON and nothing else."
)
@click.argument("overrides", nargs=-1)
def command(
    ground_truth: Path,
    predictions: Path,
    name: str | None,
    skip_context: int,
    device: str,
    output_root: Path,
    output: Path | None,
    config_path: Path | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> int:
    r"""Score one checkpoint's predicted videos, paired with ground truth by relative path.

    OVERRIDES are those of `wbgpu eval`, such as 'metrics=[visual_similarity,psnr]'.

    \b
    Example:
      wbgpu eval-batch --ground-truth gt/ --predictions step00900/ --skip-context 4
    """
    with quick_imports():
        from wbgpu.evaluation.configuration import compose, request_from
        from wbgpu.evaluation.run import run

    check_folder(output_root, "--output-root")
    project = load_project_file(config_path)
    values = {
        "suite.ground_truth": str(ground_truth),
        "suite.predictions": str(predictions),
        "suite.num_context": skip_context,
        "name": name,
        "device": device,
        "output": None if output is None else str(output),
    }
    request = request_from(compose(overrides, {**values, **project_values(project)}), project.path)
    copy = output or default_output(request.checkpoint_name)
    check_file(copy, "--output")

    result = run(request, show_progress=not as_json)
    folder = new_run_folder(output_root)
    names = artifact_names(episode.episode_id for episode in result.episodes)
    paths = {i: str(folder / "episodes" / f"{names[i]}.json") for i in names}
    payload = batch_payload(result, paths, gate=project.gate)
    save(
        folder / "episodes",
        {
            f"{names[episode.episode_id]}.json": _text(
                evaluation_payload(result, episode, gate=project.gate)
            )
            for episode in result.episodes
            if episode.failure is None
        },
    )
    files = {"batch.json": _text(payload), "report.md": result_report(result)}
    saved = save(folder, files)
    latest = save(output_root / "latest", files)
    write_text(copy, files["batch.json"])
    if as_json:
        click.echo(_text({k: v for k, v in payload.items() if k != "episodes"}), nl=False)
        return exit_code(result)
    click.echo(result_summary(result))
    if project.path is not None:
        click.echo(f"Configuration: {project.path}")
    click.echo(f"Saved batch result: {saved['batch.json']}")
    click.echo(f"Saved report: {saved['report.md']}")
    click.echo(f"Latest alias: {latest['batch.json']}")
    click.echo(f"Checkpoint JSON: {copy}")
    return exit_code(result)


def _text(payload: object) -> str:
    return json.dumps(payload, indent=2, allow_nan=False) + "\n"
