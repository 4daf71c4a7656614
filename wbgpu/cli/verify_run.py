"""``wbgpu verify-run``: is a result still what its files and settings give?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from wbgpu import sdk
from wbgpu.records.strict_json import to_text
from wbgpu.records.verification import Verification
from wbgpu.report.text import one_line

EXIT_CODES = {"VERIFIED": 0, "FAILED": 1, "NOT VERIFIABLE": 2, "PARTIAL": 3}


@click.command("verify-run", short_help="Re-check a result's hashes, settings and scores.")
@click.argument("result_json", type=click.Path(path_type=Path))
@click.option(
    "--ground-truth",
    type=click.Path(path_type=Path),
    help="Where the ground truth lies now. [default: where the result says]",
)
@click.option(
    "--predictions",
    type=click.Path(path_type=Path),
    help="Where the predictions lie now. [default: where the result says]",
)
@click.option(
    "--logits",
    type=click.Path(path_type=Path),
    help="Where saved logits lie now. [default: where the result says]",
)
@click.option(
    "--actions",
    type=click.Path(path_type=Path),
    help="Where saved actions lie now. [default: where the result says]",
)
@click.option(
    "--recompute",
    "num_recomputed",
    default=0,
    show_default=True,
    type=int,
    metavar="N",
    help="Score N random episodes again from their videos. It runs the code that RESULT_JSON "
    "names: only for results that you trust.",
)
@click.option("--seed", default=0, show_default=True, type=int, help="Which N episodes.")
@click.option("--json", "as_json", is_flag=True, help="Print all checks as JSON and nothing else.")
def command(
    result_json: Path,
    ground_truth: Path | None,
    predictions: Path | None,
    logits: Path | None,
    actions: Path | None,
    num_recomputed: int,
    seed: int,
    as_json: bool,
) -> int:
    """Check that a result agrees with itself, its settings, its videos and, with --recompute, a
    fresh computation.

    Exits with 0 when all is verified, 1 when something is not as recorded, 2 when the file is no
    result, and 3 when the file does not say enough to check all of it. Paths in the file that hold
    '..' are not followed.

    \b
    Example:
      wbgpu verify-run step00900.json --recompute 3
    """
    found = sdk.verify_run(
        result_json,
        ground_truth=ground_truth,
        predictions=predictions,
        logits=logits,
        actions=actions,
        num_recomputed=num_recomputed,
        seed=seed,
    )
    click.echo(to_text(_payload(found)) if as_json else _summary(found), nl=not as_json)
    return EXIT_CODES[found.status]


def _summary(found: Verification) -> str:
    lines: list[str] = [found.status]
    verified = [check for check in found.checks if check.status == "verified"]
    for status in ("failed", "unknown"):
        part = [check for check in found.checks if check.status == status]
        lines += [f"{status.capitalize()}: {c.subject}: {c.detail}" for c in part]
    lines.append(f"{len(verified)} of {len(found.checks)} checks verified")
    lines += [f"Note: {note}" for note in found.notes]
    return "\n".join(map(one_line, lines))


def _payload(found: Verification) -> dict[str, object]:
    return {
        "result_type": "verification",
        "schema_version": "1",
        "status": found.status,
        "result": found.path,
        "checks": [asdict(check) for check in found.checks],
        "notes": list(found.notes),
    }
