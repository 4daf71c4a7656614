"""``wbgpu gate``: PASS, FAIL or INCONCLUSIVE for a candidate against a baseline."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from wbgpu import sdk
from wbgpu.cli.artifacts import check_folder, new_run_folder, save
from wbgpu.cli.cluster_options import CLUSTERS, cluster_options, clusters_from
from wbgpu.cli.gate_files import ExtraFiles
from wbgpu.cli.given_options import refuse_given
from wbgpu.cli.limit_options import limit_options
from wbgpu.cli.policy_options import (
    EVIDENCE_ONLY,
    WORLDBENCH_ONLY,
    config_option,
    policy_from,
    policy_options,
)
from wbgpu.errors import ConfigurationError
from wbgpu.gating.load import Policy
from wbgpu.gating.noninferiority import POLICY as NONINFERIORITY
from wbgpu.gating.noninferiority import Noninferiority
from wbgpu.records.comparison import Comparison, Verdict
from wbgpu.records.profile import COMPOSITE_METRICS
from wbgpu.records.project_file import load_project_file
from wbgpu.records.regret import RegretResult
from wbgpu.records.regret_comparison import RegretComparison, RegretVerdict
from wbgpu.records.regret_gate_file import regret_gate_payload
from wbgpu.records.strict_json import to_text
from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import gate_payload
from wbgpu.report.console import verdict_summary
from wbgpu.report.markdown import gate_report
from wbgpu.report.noninferiority import evidence_report, evidence_summary
from wbgpu.report.regret_console import regret_verdict_summary
from wbgpu.report.regret_markdown import regret_gate_report
from wbgpu.report.told_apart import verdict_told_apart

EXIT_CODES = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}


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
@policy_options
@cluster_options
@limit_options
@click.option(
    "--output-root",
    type=click.Path(path_type=Path),
    default=Path(".wbgpu/gates"),
    show_default=True,
    help="Where gate results are kept.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    help="Write the report as one HTML page as well.",
)
@click.option(
    "--junit",
    type=click.Path(path_type=Path),
    help="Write the verdict as JUnit XML, for CI.",
)
@click.option(
    "--github-summary",
    is_flag=True,
    help="Add the verdict to the summary of a GitHub Actions step ($GITHUB_STEP_SUMMARY).",
)
@config_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print the gate result as JSON and nothing else."
)
def command(
    baseline: Path,
    candidate: Path,
    output_root: Path,
    html: Path | None,
    junit: Path | None,
    github_summary: bool,
    as_json: bool,
    max_regret_increase: float | None,
    max_horizon_regret_increase: float | None,
    **flags: Any,
) -> int:
    """Compare two results and end in PASS (exit 0), FAIL (exit 1) or INCONCLUSIVE (exit 3).

    Both must be of the same episodes: of videos, or of regret (wbgpu regret), which is paired by
    seed. Bad files and wrong usage exit with 2. The policy worldbench is never inconclusive.

    \b
    Example:
      wbgpu gate --baseline A.json --candidate B.json --policy noninferiority --margin 1.0
    """
    check_folder(output_root, "--output-root")
    files = ExtraFiles.checked(html, junit, github_summary, (baseline, candidate))
    before, after = sdk.load_result(baseline), sdk.load_result(candidate)
    output = _Output(output_root, as_json, files, (baseline, candidate))
    if isinstance(before, RegretResult) or isinstance(after, RegretResult):
        weighs = flags["policy"] != "worldbench"
        kept = {"confidence_level", "policy"}
        if weighs:
            kept |= {"regret_margin", "interval", "fail_inconclusive"}
        refuse_given(
            [name for name in flags if name not in kept], "does not apply to results of regret"
        )
        if weighs:
            unmeant = ["max_regret_increase", "max_horizon_regret_increase"]
            refuse_given(unmeant, "does not apply under this policy; its limit is --regret-margin")
            policy = _policy(flags["policy"], {}, flags)
            if not isinstance(policy, Noninferiority):
                raise ConfigurationError(
                    f"--policy: {flags['policy']} has no margins and cannot judge regret"
                )
            return _gate_regret(sdk.gate_regret(before, after, policy=policy), output)
        limits = {
            "max_regret_increase": max_regret_increase,
            "max_horizon_regret_increase": max_horizon_regret_increase,
            "confidence_level": flags["confidence_level"],
        }
        given = {name: limit for name, limit in limits.items() if limit is not None}
        return _gate_regret(sdk.gate_regret(before, after, **given), output)
    refuse_given(
        ["max_regret_increase", "max_horizon_regret_increase"],
        "does not apply to results of videos",
    )
    return _gate_videos(before, after, output, **flags)


@dataclass(frozen=True)
class _Output:
    root: Path
    as_json: bool
    extra: ExtraFiles
    sides: tuple[Path, Path]

    def write(
        self,
        verdict: Verdict | RegretVerdict,
        payload: str,
        report: str,
        lines: Sequence[str],
        configuration_file: str | None = None,
        clusters: Mapping[str, str] | None = None,
    ) -> None:
        """Save the verdict in a folder of its own and as the latest, and print it."""
        written = self.extra.write(verdict, report, configuration_file, clusters)
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
        for name, path in written.items():
            click.echo(f"Saved {name}: {path}")


def _gate_regret(verdict: RegretVerdict, output: _Output) -> int:
    payload = to_text(regret_gate_payload(verdict))
    verdict = verdict_told_apart(verdict, output.sides)
    if verdict.policy == NONINFERIORITY:
        output.write(verdict, payload, evidence_report(verdict), [evidence_summary(verdict)])
    else:
        output.write(
            verdict, payload, regret_gate_report(verdict), [regret_verdict_summary(verdict)]
        )
    return EXIT_CODES[verdict.status]


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
    required = dict.fromkeys([*project.profile.required_metrics, *required_metrics])
    policy = _policy(flags["policy"], project.gate, {**flags, "required_metrics": tuple(required)})
    comparison = sdk.compare(baseline, candidate, strict=policy.strict_config_match)
    _check_names(required_metrics, comparison)
    used = None if project.path is None else str(project.path)
    if not isinstance(policy, Noninferiority):
        name = flags["policy"]
        refuse_given(
            CLUSTERS,
            f"does not apply under the policy {name}, whose verdict does not depend on them: use "
            "--policy noninferiority (wbgpu report takes them for its tests over horizons)",
        )
        refuse_given(EVIDENCE_ONLY, f"does not apply under the policy {name}")
    clusters = clusters_from(
        flags["clusters"],
        flags["cluster_column"],
        flags["cluster_pattern"],
        [episode.episode_id for episode in comparison.candidate.episodes],
    )
    if isinstance(policy, Noninferiority):
        verdict = sdk.decide(
            comparison, policy, clusters=clusters, regret=_regret_beside(policy, flags)
        )
        shown = verdict_told_apart(verdict, output.sides)
        summary, report = evidence_summary(shown), evidence_report(shown, used)
    else:
        verdict = sdk.decide(comparison, policy)
        shown = verdict_told_apart(verdict, output.sides)
        summary, report = verdict_summary(shown), gate_report(shown, used)
    lines = [summary] if used is None else [summary, f"Configuration: {used}"]
    payload = to_text(gate_payload(verdict, used))
    output.write(shown, payload, report, lines, used, clusters)
    return EXIT_CODES[verdict.status]


def _policy(name: str, project_settings: Mapping[str, Any], flags: Mapping[str, Any]) -> Policy:
    policy = policy_from(name, project_settings, flags)
    if isinstance(policy, Noninferiority):
        refuse_given(WORLDBENCH_ONLY, f"does not apply under the policy {name}")
    return policy


def _regret_beside(policy: Noninferiority, flags: Mapping[str, Any]) -> RegretComparison | None:
    sides = (flags["baseline_regret"], flags["candidate_regret"])
    if (sides[0] is None) != (sides[1] is None):
        raise ConfigurationError("--baseline-regret and --candidate-regret: give both or neither")
    return None if sides[0] is None else sdk.compare_regret(*sides, level=policy.confidence_level)


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
