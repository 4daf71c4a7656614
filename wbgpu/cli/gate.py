"""``wbgpu gate``: PASS or FAIL for a candidate against a baseline."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from wbgpu import sdk
from wbgpu.cli.artifacts import check_folder, new_run_folder, save
from wbgpu.errors import ConfigurationError
from wbgpu.gating.thresholds import Thresholds
from wbgpu.records.comparison import Comparison
from wbgpu.records.profile import COMPOSITE_METRICS
from wbgpu.records.project_file import load_project_file
from wbgpu.records.regret import RegretResult
from wbgpu.records.regret_comparison import RegretVerdict
from wbgpu.records.regret_gate_file import regret_gate_payload
from wbgpu.records.strict_json import to_text
from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import gate_payload
from wbgpu.report.console import verdict_summary
from wbgpu.report.markdown import gate_report
from wbgpu.report.regret_console import regret_verdict_summary
from wbgpu.report.regret_markdown import regret_gate_report


@click.command("gate", short_help="PASS or FAIL for a candidate against a baseline.")
@click.option(
    "--baseline",
    required=True,
    type=click.Path(path_type=Path),
    help="Baseline result JSON, or a run folder.",
)
@click.option(
    "--candidate",
    required=True,
    type=click.Path(path_type=Path),
    help="Candidate result JSON, or a run folder.",
)
@click.option(
    "--max-overall-drop",
    default=0.0,
    show_default=True,
    type=float,
    help="Allowed drop of the mean composite score.",
)
@click.option(
    "--max-metric-drop",
    type=float,
    help="Allowed drop of any composite metric's mean. [default: 0]",
)
@click.option(
    "--max-horizon-drop",
    type=float,
    help="Allowed drop of any composite metric's mean at any horizon. [default: 0]",
)
@click.option(
    "--require-metric",
    "required_metrics",
    multiple=True,
    help="Metric that the candidate must have; repeatable, adds to the configuration's.",
)
@click.option(
    "--min-metric-count", type=int, help="Least number of available metrics. [default: 1]"
)
@click.option(
    "--min-metric-coverage",
    type=float,
    help="Least available/configured metrics, 0-1. [default: 0]",
)
@click.option(
    "--min-configured-weight-coverage",
    type=float,
    help="Least share of configured weight that is available, 0-1. [default: 0]",
)
@click.option(
    "--strict-config-match/--no-strict-config-match",
    default=None,
    help="Fail on differing metrics, weights, horizons or protocols. [default: strict]",
)
@click.option(
    "--max-episode-regressions",
    type=int,
    help="Most episodes that may get worse. [default: no limit]",
)
@click.option(
    "--min-composite-improvement",
    type=float,
    help="Least required change of the composite. [default: 0]",
)
@click.option(
    "--bootstrap-samples",
    default=0,
    show_default=True,
    type=int,
    help="Draws for a paired bootstrap interval of the change; 0 for none.",
)
@click.option(
    "--bootstrap-seed", default=42, show_default=True, type=int, help="Seed of the bootstrap."
)
@click.option(
    "--confidence-level", default=0.95, show_default=True, type=float, help="Level of the interval."
)
@click.option(
    "--min-confidence-lower-bound",
    type=float,
    help="Least lower bound of the interval; needs --bootstrap-samples.",
)
@click.option(
    "--max-regret-increase",
    type=float,
    help="Allowed increase of the expected regret, nats per step. [default: 0]",
)
@click.option(
    "--max-horizon-regret-increase",
    type=float,
    help="Allowed increase of the expected regret up to any horizon, nats per step. [default: 0]",
)
@click.option(
    "--output-root",
    type=click.Path(path_type=Path),
    default=Path(".wbgpu/gates"),
    show_default=True,
    help="Where gate results are kept.",
)
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    help="wbgpu.yml; looked for in the current folder.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the gate result as JSON and nothing else."
)
def command(
    baseline: Path,
    candidate: Path,
    output_root: Path,
    as_json: bool,
    max_regret_increase: float | None,
    max_horizon_regret_increase: float | None,
    **flags: Any,
) -> int:
    """Compare two results and end in PASS (exit 0) or FAIL (exit 1).

    Both must be of the same episodes: of videos, or of regret (wbgpu regret), which is paired by
    seed. Bad files and wrong usage exit with 2.
    """
    check_folder(output_root, "--output-root")
    before, after = sdk.load_result(baseline), sdk.load_result(candidate)
    output = _Output(output_root, as_json)
    if isinstance(before, RegretResult) or isinstance(after, RegretResult):
        _refuse_given([name for name in flags if name != "confidence_level"], "of regret")
        limits = {
            "max_regret_increase": max_regret_increase,
            "max_horizon_regret_increase": max_horizon_regret_increase,
            "confidence_level": flags["confidence_level"],
        }
        given = {name: limit for name, limit in limits.items() if limit is not None}
        return _gate_regret(sdk.gate_regret(before, after, **given), output)
    _refuse_given(["max_regret_increase", "max_horizon_regret_increase"], "of videos")
    return _gate_videos(before, after, output, **flags)


@dataclass(frozen=True)
class _Output:
    root: Path
    as_json: bool

    def write(self, payload: str, report: str, lines: Sequence[str]) -> None:
        """Save the verdict in a folder of its own and as the latest, and print it."""
        files = {"gate.json": payload, "gate.md": report}
        saved = save(new_run_folder(self.root), files)
        latest = save(self.root / "latest", files)
        if self.as_json:
            click.echo(payload, nl=False)
            return
        for line in lines:
            click.echo(line)
        click.echo(f"Saved gate result: {saved['gate.json']}")
        click.echo(f"Saved report: {saved['gate.md']}")
        click.echo(f"Latest alias: {latest['gate.json']}")


def _gate_regret(verdict: RegretVerdict, output: _Output) -> int:
    payload = to_text(regret_gate_payload(verdict))
    output.write(payload, regret_gate_report(verdict), [regret_verdict_summary(verdict)])
    return 0 if verdict.status == "PASS" else 1


def _gate_videos(
    baseline: SuiteResult,
    candidate: SuiteResult,
    output: _Output,
    *,
    config_path: Path | None,
    required_metrics: tuple[str, ...],
    **flags: Any,
) -> int:
    project = load_project_file(config_path)
    settings = {**project.gate, **{k: v for k, v in flags.items() if v is not None}}
    settings["required_metrics"] = tuple(
        dict.fromkeys([*project.profile.required_metrics, *required_metrics])
    )
    thresholds = Thresholds(**settings)
    comparison = sdk.compare(baseline, candidate, strict=thresholds.strict_config_match)
    _check_names(required_metrics, comparison)
    verdict = sdk.decide(comparison, thresholds)
    used = None if project.path is None else str(project.path)
    lines = [verdict_summary(verdict)]
    if used is not None:
        lines.append(f"Configuration: {used}")
    output.write(to_text(gate_payload(verdict, used)), gate_report(verdict, used), lines)
    return 0 if verdict.status == "PASS" else 1


def _refuse_given(names: Sequence[str], kind: str) -> None:
    """Refuse options that mean nothing for results of this kind, instead of ignoring them."""
    context = click.get_current_context()
    flags = {p.name: p.opts[0] for p in context.command.params}
    for name in names:
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise ConfigurationError(f"{flags[name]} does not apply to results {kind}")


def _check_names(required_metrics: tuple[str, ...], comparison: Comparison) -> None:
    known = {
        *COMPOSITE_METRICS,
        *comparison.baseline.metric_infos,
        *comparison.candidate.metric_infos,
    }
    for name in required_metrics:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise ConfigurationError(
                f"--require-metric: unknown metric {name!r}; nearest: {near!r}"
            )
