"""``wbgpu demo``: the whole job on built-in episodes."""

from __future__ import annotations

from pathlib import Path

import click

from wbgpu import sdk
from wbgpu.cli.artifacts import check_folder, save
from wbgpu.cli.demo_suite import NUM_CONTEXT, PREDICTORS, write_demo_suite
from wbgpu.cli.evaluating import quick_imports
from wbgpu.records.strict_json import to_text
from wbgpu.records.worldbench import gate_payload
from wbgpu.report.console import verdict_summary
from wbgpu.report.markdown import gate_report, result_report


@click.command("demo", short_help="Evaluate and gate two built-in predictors on built-in episodes.")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("wbgpu-demo"))
def command(folder: Path) -> None:
    """Draw a few robot episodes, score two simple predictors on them, gate one by the other.

    Everything is written below FOLDER (default: wbgpu-demo).
    """
    check_folder(folder, "FOLDER")
    write_demo_suite(folder)
    with quick_imports():
        import wbgpu.evaluation.run  # noqa: F401
    results = {}
    for name in PREDICTORS:
        result = sdk.evaluate(
            folder / "gt", folder / name, num_context=NUM_CONTEXT, name=name, progress=True
        )
        sdk.save_result(result, folder / "results" / f"{name}.json")
        results[name] = result
    baseline, candidate = results["copy_last"], results["context_mean"]
    verdict = sdk.gate(baseline, candidate)
    saved = save(
        folder / "results",
        {
            "report.md": result_report(candidate, baseline),
            "gate.md": gate_report(verdict),
            "gate.json": to_text(gate_payload(verdict)),
        },
    )
    click.echo(verdict_summary(verdict))
    click.echo(
        "\nSynthetic demonstration data: drawn episodes, and two predictors that know no physics."
        "\nThe gate compares every horizon: a candidate that gains on average still fails where it"
        " lost."
    )
    click.echo(f"Report: {saved['report.md']}")
    click.echo(f"Gate:   {saved['gate.md']}")
