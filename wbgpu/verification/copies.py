"""Whether what stands twice in a file agrees: for worldbench's readers, and for ours.

A result is written in worldbench's schema with our own block beside it, so weights, coverage or
alignment stand in several places, of which one is read. A reader of the others must not be told
something else, so the file is written again from what was read, and both are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wbgpu.records.suite import SuiteResult
from wbgpu.records.verification import Check
from wbgpu.records.worldbench import batch_payload, evaluation_payload
from wbgpu.version import __version__

_NUM_NAMED = 3
_NOT_READ = "result_path"
"""Where the file of a single episode was put: of no meaning once a result has been moved."""


def copies_check(result: SuiteResult, document: Mapping[str, Any]) -> Iterator[Check]:
    """Check all of a file that this version of wbgpu wrote; others may write other things.

    Args:
        result: as it was read.
        document: the JSON it was read from.
    """
    if result.provenance is None or result.provenance.environment.get("wbgpu") != __version__:
        return
    write = evaluation_payload if result.result_type == "evaluation" else batch_payload
    found = list(_differences(document, write(result), "$"))
    subject = "copies"
    if not found:
        yield Check(subject, "verified", "what stands twice in the file agrees")
        return
    more = f" and {len(found) - _NUM_NAMED} more" if len(found) > _NUM_NAMED else ""
    named = ", ".join(found[:_NUM_NAMED])
    what = "an entry was" if len(found) == 1 else f"{len(found)} entries were"
    yield Check(
        subject,
        "failed",
        f"{what} edited after the file was written: {named}{more} is not what other places in the "
        "file say of the same",
    )


def _differences(stated: Any, written: Any, path: str) -> Iterator[str]:
    """Paths at which two documents differ; types count, as ``true`` is no 1."""
    if isinstance(stated, Mapping) and isinstance(written, Mapping):
        for key in {**stated, **written}:
            if key == _NOT_READ:
                continue
            if key in stated and key in written:
                yield from _differences(stated[key], written[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(stated, (list, tuple)) and isinstance(written, (list, tuple)):
        if len(stated) != len(written):
            yield path
            return
        for index, (one, other) in enumerate(zip(stated, written, strict=True)):
            yield from _differences(one, other, f"{path}[{index}]")
    elif isinstance(stated, bool) != isinstance(written, bool) or stated != written:
        yield path
