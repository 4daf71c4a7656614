"""Compile the Triton kernels for GPUs that are not here, and report what they need of them.

Registers, stack and shared memory are the assembler's own figures; instructions are counted in the
machine code. Any access to local memory is a spill: it costs hundreds of cycles.

    python scripts/compile_kernels.py [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from wbgpu.statistics.triton import KernelLaunch
from wbgpu.statistics.triton_kernel import frame_sums
from wbgpu.statistics.triton_log_loss import launch_constants
from wbgpu.statistics.triton_log_loss_kernel import row_log_losses

ARCHITECTURES = (80, 90, 100)
_NOTHING = {"DELTA": False, "CONTEXT": False, "LUMA": False, "WINDOWS": False, "ALIGNED": True}
_EVERYTHING = {**dict.fromkeys(_NOTHING, True)}
SPECIALISATIONS: dict[str, tuple[dict[str, bool], tuple[int, int]]] = {
    "squared error": (_NOTHING, (256, 256)),
    "squared error, deltas": ({**_NOTHING, "DELTA": True}, (256, 256)),
    "no windows": ({**_EVERYTHING, "WINDOWS": False}, (256, 256)),
    "SSIM": ({**_NOTHING, "WINDOWS": True}, (256, 256)),
    "SSIM, deltas": ({**_NOTHING, "WINDOWS": True, "DELTA": True}, (256, 256)),
    "default metrics": ({**_EVERYTHING, "LUMA": False}, (256, 256)),
    "everything": (_EVERYTHING, (256, 256)),
    "everything, odd sizes": ({**_EVERYTHING, "ALIGNED": False}, (255, 255)),
    "everything, under 10 columns": ({**_EVERYTHING, "ALIGNED": False}, (255, 9)),
}
"""Groups to compile for, and a size of frames that decides the rest."""

LOG_LOSS_SPECIALISATIONS: dict[str, tuple[str, int]] = {
    "log loss, bfloat16": ("bf16", 262_144),
    "log loss, float16": ("fp16", 262_144),
    "log loss, float32": ("fp32", 262_144),
    "log loss, bfloat16, 512 classes": ("bf16", 512),
    "log loss, bfloat16, odd classes": ("bf16", 50_257),
}
"""Types of logits, and numbers of classes that decide the rest."""


def report(architecture: int, name: str) -> dict[str, Any]:
    """Compile one specialisation for ``sm_<architecture>``."""
    flags, (height, width) = SPECIALISATIONS[name]
    launch = KernelLaunch.of(height, width, flags["WINDOWS"])
    constants = {**flags, **launch.constants}
    signature = {name: _argument_type(name, constants) for name in frame_sums.arg_names}
    constexprs = {(frame_sums.arg_names.index(key),): value for key, value in constants.items()}
    figures, code = _figures(
        ASTSource(frame_sums, signature, constexprs), architecture, launch.num_warps
    )
    return {
        "architecture": f"sm_{architecture}",
        "specialisation": name,
        **figures,
        **_loop_cost(code, flags["WINDOWS"], constants["COLUMNS"]),
    }


def log_loss_report(architecture: int, name: str) -> dict[str, Any]:
    """Compile one specialisation of the log-loss kernel for ``sm_<architecture>``."""
    logits, num_classes = LOG_LOSS_SPECIALISATIONS[name]
    block, num_warps = launch_constants(num_classes)
    names = row_log_losses.arg_names
    signature = {
        "logits": f"*{logits}",
        "targets": "*i64",
        "loss_nats": "*fp64",
        "log_sum_exp": "*fp64",
        "top_class": "*i64",
        "row_stride": "i64",
        "num_classes": "i32",
        "BLOCK": "constexpr",
    }
    # What the launcher finds of addresses and sizes.
    known = ("logits", "row_stride", "num_classes") if num_classes % 16 == 0 else ("logits",)
    attributes = {(names.index(key),): [["tt.divisibility", 16]] for key in known}
    figures, code = _figures(
        ASTSource(row_log_losses, signature, {(names.index("BLOCK"),): block}, attributes),
        architecture,
        num_warps,
    )
    return {
        "architecture": f"sm_{architecture}",
        "specialisation": name,
        **figures,
        "instructions_per_class": longest_loop(code) / (block / (32 * num_warps)),
    }


def _figures(source: ASTSource, architecture: int, num_warps: int) -> tuple[dict[str, Any], str]:
    """What the compiled kernel needs, and its disassembly."""
    compiled = triton.compile(
        source,
        target=GPUTarget("cuda", architecture, 32),
        options={"num_warps": num_warps, "enable_fp_fusion": False},
    )
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernel.cubin"
        cubin.write_bytes(compiled.asm["cubin"])
        usage = _run(triton.knobs.nvidia.cuobjdump.path, "-res-usage", str(cubin))
        code = _run(triton.knobs.nvidia.nvdisasm.path, "-c", str(cubin))
    resources = dict(re.findall(r"(REG|STACK|SHARED|LOCAL):(\d+)", usage))
    instructions = machine_instructions(code)
    figures = {
        "num_threads": 32 * num_warps,
        "num_registers": int(resources["REG"]),
        "stack_bytes": int(resources["STACK"]),
        "local_bytes": int(resources["LOCAL"]),
        "shared_bytes": int(resources["SHARED"]) + compiled.metadata.shared,
        "num_local_accesses": sum(line.startswith(("LDL", "STL")) for line in instructions),
        "num_instructions": len(instructions),
    }
    return figures, code


def _argument_type(argument: str, constants: dict[str, Any]) -> str:
    if argument in constants:
        return "constexpr"
    if argument in ("target", "prediction", "context"):
        return "*u8"
    if argument in ("rows", "previous_rows", "context_rows", "out"):
        return "*i64"
    return "i32"


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def machine_instructions(code: str) -> list[str]:
    """The instructions of a disassembly, without addresses and predicates."""
    found = re.findall(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(.*?)\s*;", code, re.MULTILINE)
    return [line for line in found if not line.startswith("NOP")]


def longest_loop(code: str) -> int:
    """Instructions between the farthest backward branch and its target; 0 without a loop."""
    labels: dict[str, int] = {}
    longest = count = 0
    for line in code.splitlines():
        if label := re.match(r"\s*(\.L_\w+):", line):
            labels[label[1]] = count
        elif instruction := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line):
            count += 1
            branch = re.search(r"\bBRA\b.*?(\.L_\w+)", instruction[1])
            if branch and branch[1] in labels:
                longest = max(longest, count - labels[branch[1]])
    return longest


def _loop_cost(code: str, has_windows: bool, columns: int) -> dict[str, float]:
    """The walk down the windows is the longest loop; a turn is seven rows of a lane's columns."""
    if not has_windows:
        return {}
    return {"instructions_per_window": longest_loop(code) / (7 * columns)}


def _print(row: dict[str, Any]) -> None:
    per_window, per_class = (row.get(f"instructions_per_{x}") for x in ("window", "class"))
    print(
        f"{row['architecture']:<7} {row['specialisation']:<32} {row['num_registers']:4} registers  "
        f"{row['stack_bytes']:3} B stack  {row['num_local_accesses']:3} spills  "
        f"{row['shared_bytes']:5} B shared  {row['num_instructions']:5} instructions"
        + (f"  {per_window:5.1f} a window" if per_window else "")
        + (f"  {per_class:5.1f} a class" if per_class else ""),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, help="write the report here as JSON")
    arguments = parser.parse_args()
    rows = []
    for architecture in ARCHITECTURES:
        for make, names in (
            (report, SPECIALISATIONS),
            (log_loss_report, LOG_LOSS_SPECIALISATIONS),
        ):
            for name in names:
                row = make(architecture, name)
                rows.append(row)
                _print(row)
    if arguments.output:
        document = {
            "report": "the Triton kernels compiled ahead of time, without a GPU",
            "triton": triton.__version__,
            "kernels": rows,
        }
        arguments.output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
