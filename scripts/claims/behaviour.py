"""Claims on failures, exit codes, known values and seconds."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from claims.runs import (
    NUM_CONTEXT,
    Finding,
    Suite,
    load,
    run,
    timed,
    wbgpu_command,
    wbgpu_words,
)

REPOSITORY = Path(__file__).resolve().parents[2]


def sweep_goes_on(suite: Suite) -> Finding:
    checkpoints = suite.checkpoints[:2]
    arguments = [
        *("eval", "--multirun", "suite.ground_truth=gt", f"suite.num_context={NUM_CONTEXT}"),
        *(f"suite.predictions=nowhere,{','.join(checkpoints)}", "hydra.sweep.dir=sweep"),
    ]
    ended = wbgpu_command(arguments, suite.folder, codes=(2,))
    states = [load(path)["state"] for path in sorted(suite.folder.glob("sweep/*/status.json"))]
    return {
        "holds": states == ["failed", *["done"] * len(checkpoints)],
        "measured": f"jobs end {', '.join(states)}; exit code {ended.returncode}",
        "figures": {"states": states, "exit_code": ended.returncode},
    }


def damage_is_named(suite: Suite) -> Finding:
    """A video that is cut off and one of another length."""
    import av
    import torch

    from wbgpu.video.encode import write_video

    shutil.copytree(suite.folder / suite.checkpoints[0], suite.folder / "damaged")
    cut_off, short = (suite.folder / "damaged" / video.name for video in suite.videos[:2])
    with av.open(str(short)) as container:
        video = container.streams.video[0]
        shape = (NUM_CONTEXT + 2, 3, video.height, video.width)
        rate = float(video.average_rate)
    short.unlink()
    write_video(short, torch.zeros(shape, dtype=torch.uint8), rate)
    content = cut_off.read_bytes()
    cut_off.write_bytes(content[: len(content) // 2])
    ended = wbgpu_command(suite.eval_arguments("damaged"), suite.folder, codes=(2,))
    shutil.copy(suite.folder / "result.json", suite.folder / "damaged.json")
    wbgpu_command(suite.eval_arguments(suite.checkpoints[0]), suite.folder)
    gate = ["gate", "--baseline", "result.json", "--candidate", "damaged.json"]
    codes = {
        name: wbgpu_command([*gate, *policy], suite.folder, codes=(0, 1, 2, 3)).returncode
        for name, policy in {
            "worldbench": ["--max-overall-drop", "100", "--no-strict-config-match"],
            "noninferiority": ["--policy", "noninferiority", "--margin", "100"],
        }.items()
    }
    num_scored = len(suite.videos) - 2
    document = load(suite.folder / "damaged.json")
    scored = sum(episode["score"] is not None for episode in document["episodes"])
    named = [path.name in ended.stdout for path in (cut_off, short)]
    return {
        "holds": all(named) and scored == num_scored and all(codes.values()),
        "measured": f"both named, {scored} other episodes scored, exit code {ended.returncode}; "
        f"the gate then exits with {codes['worldbench']} (policy worldbench, a drop of 100 allowed)"
        f" and {codes['noninferiority']} (noninferiority, margin 100)",
        "figures": {"named": named, "num_scored": scored, "gate_exit_codes": codes},
    }


def gate_exit_codes(suite: Suite) -> Finding:
    """On the committed results of real checkpoints."""
    del suite
    results = REPOSITORY / "artifacts/bridge_suite"
    questions = {
        "PASS": ("step00060", "step00900", []),
        "FAIL": ("copy_last", "step00060", []),
        "bad input": ("step00060", "nothing", []),
        "INCONCLUSIVE": ("copy_last", "step00900", ["--policy=noninferiority", "--margin=0.1"]),
    }
    codes = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (baseline, candidate, options) in questions.items():
            files = (str(results / f"{one}.json") for one in (baseline, candidate))
            words = ["gate", "--baseline", next(files), "--candidate", next(files), *options]
            ended = wbgpu_command(words, Path(folder), codes=(0, 1, 2, 3))
            codes[name] = ended.returncode
    return {
        "holds": list(codes.values()) == [0, 1, 2, 3],
        "measured": ", ".join(f"{name} {code}" for name, code in codes.items()),
        "figures": codes,
    }


def counting_learner_fails(suite: Suite) -> Finding:
    """`kt` against `action_blind` in block_to_bowl."""
    for contestant in ("action_blind", "kt"):
        play = ["world=block_to_bowl", f"contestant={contestant}", "seeds=64", "steps=200"]
        wbgpu_command(["regret", *play, f"output={contestant}_regret.json"], suite.folder)
    gate = ["gate", "--baseline", "action_blind_regret.json", "--candidate", "kt_regret.json"]
    gate += ["--max-regret-increase", "0.01", "--json"]
    ended = wbgpu_command(gate, suite.folder, codes=(1,))
    document = json.loads(ended.stdout)
    expected, first = document["expected_regret"], document["horizons"][0]
    interval = expected["interval"]
    return {
        "holds": document["status"] == "FAIL",
        "measured": f"{document['status']}: {first['change']:+.3f} nats at t+1; "
        f"{expected['change']:+.3f} nats a step over all of {document['num_steps']} "
        f"({interval['lower']:+.3f} to {interval['upper']:+.3f})",
        "figures": {"expected_regret": expected, "first_horizon": first},
    }


def installation_conforms(suite: Suite) -> Finding:
    document = json.loads(wbgpu_command(["conformance", "--json"], suite.folder).stdout)
    num_values = len(document["values"])
    return {
        "holds": document["agrees"],
        "measured": f"{sum(one['agrees'] for one in document['values'])} of {num_values} published "
        "or closed-form values agree",
        "figures": document,
    }


def starts_in_seconds(suite: Suite) -> Finding:
    """Whole commands in fresh processes, kernels kept and not, with `import torch` beside them."""
    arguments = ["eval-batch", "--ground-truth", "gt", "--predictions", suite.checkpoints[0]]
    arguments += ["--skip-context", str(NUM_CONTEXT), "--output", "batch.json"]
    words = wbgpu_words(arguments)
    run(words, suite.folder)
    seconds: dict[str, list[float]] = {"import_torch": [], "kept": [], "compiling": []}
    for index in range(5):
        empty = {"NUMBA_CACHE_DIR": str(suite.folder / f"kernels_{index}")}
        seconds["import_torch"].append(timed([sys.executable, "-c", "import torch"], suite.folder))
        seconds["kept"].append(timed(words, suite.folder))
        if index < 3:
            seconds["compiling"].append(timed(words, suite.folder, empty))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    empty = {"NUMBA_CACHE_DIR": str(suite.folder / "kernels")}
    # Compiled first, loaded then.
    profiles = [run([*words, "profile=true"], suite.folder, environment=empty) for _ in range(2)]
    load_kernels = [
        float(re.findall(r"load kernels +\d+ +([\d.]+)", ended.stdout)[0]) for ended in profiles
    ]
    figures = {
        "eval_batch_seconds": medians["kept"],
        "import_torch_seconds": medians["import_torch"],
        "compiling_seconds": medians["compiling"] - medians["kept"],
        "compile_kernels_seconds": load_kernels[0],
        "load_kernels_seconds": load_kernels[1],
        "seconds": seconds,
    }
    return {
        "holds": True,
        "measured": f"{medians['kept']:.1f} s, `import torch` alone "
        f"{medians['import_torch']:.1f} s; with kernels to compile "
        f"{figures['compiling_seconds']:.1f} s more (medians of 5, 5 and 3)",
        "figures": figures,
    }
