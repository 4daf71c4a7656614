"""``wbgpu compare``: two or more results of the same episodes, all pairs and a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from wbgpu import sdk
from wbgpu.aggregate.ranking import unique_labels
from wbgpu.cli.artifacts import check_folder, new_run_folder, save
from wbgpu.cli.cluster_options import cluster_options, clusters_from
from wbgpu.cli.given_options import refuse_given
from wbgpu.episodes.frame_dataset import is_frame_dataset
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.ranking import Ranking
from wbgpu.records.regret import RegretResult
from wbgpu.records.strict_json import to_text
from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import evaluation_payload
from wbgpu.records.worldbench.run_comparison import comparison_payload
from wbgpu.report.distances import TITLE, distance_ranking_lines
from wbgpu.report.ranking import conclusion, ranking_report, ranking_summary
from wbgpu.report.tables import escape
from wbgpu.report.text import one_line

_GROUND_TRUTH = ("gt", "ground_truth")


@click.command("compare", short_help="Compare two or more results: all pairs, and a ranking.")
@click.argument("target", type=click.Path(path_type=Path))
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN_B] [MORE]...")
@click.option(
    "--models",
    nargs=2,
    metavar="MODEL_A MODEL_B",
    help="TARGET is a frame dataset, or a folder with gt: score two of its prediction folders.",
)
@click.option(
    "--skip-context",
    type=int,
    default=0,
    show_default=True,
    help="With --models: context frames at the start of each episode, not scored.",
)
@cluster_options
@click.option(
    "--output-root",
    type=click.Path(path_type=Path),
    default=Path(".wbgpu/comparisons"),
    show_default=True,
    help="Where comparisons are kept.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the comparison as JSON and nothing else."
)
def command(
    target: Path,
    runs: tuple[Path, ...],
    models: tuple[str, str] | None,
    skip_context: int,
    clusters: Path | None,
    cluster_column: str | None,
    cluster_pattern: str | None,
    output_root: Path,
    as_json: bool,
) -> None:
    """Compare result files of the same episodes, of videos or of regret.

    \b
    Examples:
      wbgpu compare A.json B.json
      wbgpu compare A.json B.json C.json D.json
      wbgpu compare suite/ --models step00060 step00900 --skip-context 4
    """
    check_folder(output_root, "--output-root")
    if models is not None and runs:
        raise ConfigurationError("--models: name the two models, and no further results")
    if models is None and not runs:
        raise ConfigurationError(
            "give two or more results, or a folder with --models MODEL_A MODEL_B"
        )
    if models is not None:
        results: list[sdk.AnyResult] = _scored(target, models, skip_context)
    else:
        refuse_given(["skip_context"], "needs --models: result files were scored already")
        results = [sdk.load_result(path) for path in (target, *runs)]
    episodes = [] if isinstance(results[0], RegretResult) else results[0].episodes
    groups = clusters_from(
        clusters, cluster_column, cluster_pattern, [episode.episode_id for episode in episodes]
    )
    ranking = sdk.rank(results, clusters=groups)
    said = conclusion(ranking)
    payload = _payload(ranking, said, results, None if models is None else str(target))
    videos = [result for result in results if isinstance(result, SuiteResult)]
    labels = unique_labels([result.checkpoint_name for result in videos])
    distances = distance_ranking_lines(labels, videos)
    report = ranking_report(ranking, said)
    if distances:
        report += "\n".join(["", f"## {TITLE}", "", *(f"- {escape(d)}" for d in distances), ""])
    files = {"comparison.json": payload, "comparison.md": report}
    save(new_run_folder(output_root), files)
    latest = save(output_root / "latest", files)
    if as_json:
        click.echo(payload, nl=False)
        return
    click.echo(ranking_summary(ranking, said))
    if distances:
        click.echo("\n".join(["", f"{TITLE}:", *map(one_line, distances), ""]))
    click.echo(f"Saved comparison: {latest['comparison.json']}")
    click.echo(f"Saved report: {latest['comparison.md']}")


def _scored(folder: Path, models: Sequence[str], num_context: int) -> list[sdk.AnyResult]:
    is_frames = is_frame_dataset(folder)
    truths = [folder / name for name in _GROUND_TRUTH if (folder / name).is_dir()]
    if not truths and not is_frames:
        raise InputError(
            f"{folder}: expected a frame dataset, or a folder gt or ground_truth of videos in it; "
            "score other layouts first, and compare the result files"
        )
    for name in models:
        if Path(name).name != name or not (folder / name).is_dir():
            raise InputError(f"--models: {folder} has no folder {name!r}")
    return [
        sdk.evaluate(
            folder if is_frames else truths[0],
            folder / name,
            num_context=num_context,
            name=name,
            overrides=["suite=frames"] if is_frames else [],
            progress=True,
        )
        for name in models
    ]


def _payload(
    ranking: Ranking, said: str, results: Sequence[sdk.AnyResult], dataset: str | None
) -> str:
    videos = [result for result in results if isinstance(result, SuiteResult)]
    labels = unique_labels([result.checkpoint_name for result in videos])
    documents = {}
    # Of batches the files are large, and stand where they were read from.
    if len(videos) == 2 and all(result.result_type == "evaluation" for result in videos):
        documents = {k: evaluation_payload(r) for k, r in zip("ab", videos, strict=True)}
    return to_text(
        comparison_payload(
            ranking,
            videos,
            labels,
            conclusion=said,
            dataset_path=dataset,
            documents=documents,
        )
    )
