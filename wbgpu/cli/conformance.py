"""``wbgpu conformance``: does this installation compute what is known?"""

from __future__ import annotations

from dataclasses import asdict

import click

from wbgpu.records.conformance import KnownValue
from wbgpu.records.strict_json import to_text


@click.command("conformance", short_help="Compute published and closed-form values again, offline.")
@click.option("--json", "as_json", is_flag=True, help="Print the values as JSON.")
def command(as_json: bool) -> int:
    """Compute values again that are published or have a closed form: SSIM, PSNR, scores,
    divergences and codelengths in nats, intervals and tests. Nothing is downloaded.

    Exits with 0 when all agree and with 1 when one does not.

    \b
    Example:
      wbgpu conformance
    """
    from wbgpu.conformance.known_values import known_values

    values = list(known_values())
    click.echo(to_text(_payload(values)) if as_json else _table(values), nl=not as_json)
    return 0 if all(value.agrees for value in values) else 1


def _payload(values: list[KnownValue]) -> dict[str, object]:
    return {
        "agrees": all(value.agrees for value in values),
        "values": [
            {**asdict(value), "difference": value.difference, "agrees": value.agrees}
            for value in values
        ],
    }


def _table(values: list[KnownValue]) -> str:
    lines = []
    for value in values:
        lines.append(
            f"{'agrees' if value.agrees else 'DIFFERS':<8}"
            f"{value.subject}: expected {value.expected:.10g}, got {value.got:.10g} {_unit(value)}"
            f"(difference {value.difference:.1e}, allowed {value.tolerance:.1e}; {value.source})"
        )
    num_wrong = sum(not value.agrees for value in values)
    verdict = (
        f"{num_wrong} of {len(values)} values differ"
        if num_wrong
        else (f"All {len(values)} values agree")
    )
    return "\n".join([*lines, "", verdict])


def _unit(value: KnownValue) -> str:
    return "" if value.unit == "1" else f"{value.unit} "
