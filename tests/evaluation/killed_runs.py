"""Kill an evaluation with SIGKILL again and again, and resume it each time: a program.

    python killed_runs.py SUITE JOURNAL RESULT NUM_KILLS SEED

It forks, so that not each of many runs imports torch; so it must itself evaluate nothing.
Prints how many episodes the journal had after each kill.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from wbgpu.evaluation import module
from wbgpu.evaluation.configuration import compose, request_from
from wbgpu.evaluation.run import run
from wbgpu.records.strict_json import to_text
from wbgpu.records.worldbench import batch_payload


def evaluate(suite: Path, journal: Path, result: Path) -> None:
    paths = {
        "suite.ground_truth": str(suite / "gt"),
        "suite.predictions": str(suite / "step00900"),
        "journal": str(journal),
    }
    overrides = ["resume=true", "loader.num_workers=1", "loader.window_frames=4"]
    request = request_from(compose(overrides, paths))
    result.write_text(to_text(batch_payload(run(request))))


def num_lines(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def main() -> None:
    # These episodes take milliseconds: after each, so that there are many points to die at.
    module._MAX_SECONDS_UNTOLD = 0.0
    suite, journal, result = map(Path, sys.argv[1:4])
    num_kills, generator = int(sys.argv[4]), random.Random(int(sys.argv[5]))
    results = set()
    while num_kills:
        # Before the journal is there, in its header, or after so many more episodes; then anywhere.
        enough = num_lines(journal) + generator.choice([0, 1, 1, 2, 3])
        child = os.fork()
        if child == 0:
            evaluate(suite, journal, result)
            os._exit(0)
        while num_lines(journal) < enough and not has_ended(child):
            time.sleep(0.001)
        time.sleep(generator.uniform(0, 0.02))
        if has_ended(child):
            # Too late. Its result counts, and the next starts from nothing.
            results.add(result.read_bytes())
            journal.unlink()
        else:
            os.kill(child, signal.SIGKILL)
            print(max(0, num_lines(journal) - 1), flush=True)
            num_kills -= 1
        os.waitpid(child, 0)
    evaluate(suite, journal, result)
    assert results <= {result.read_bytes()}, "resumed runs have written different bytes"


def has_ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


if __name__ == "__main__":
    main()
