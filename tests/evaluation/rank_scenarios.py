"""What each of two ranks sees, started with torchrun's variables: a program that prints JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import NoReturn

import torch

import wbgpu
from wbgpu.errors import RankError
from wbgpu.evaluation.configuration import compose, request_from
from wbgpu.evaluation.ranks import environment_ranks, group_ranks, leave
from wbgpu.evaluation.run import run


def refuse() -> NoReturn:
    raise ValueError("no room")


def caught(work: object) -> str:
    try:
        work()  # type: ignore[operator]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def main() -> None:
    suite = Path(sys.argv[1])
    ranks = environment_ranks()
    seen: dict[str, object] = {"rank": ranks.rank, "size": ranks.size}
    seen["together"] = ranks.together(lambda: f"from {ranks.rank}")
    with torch.inference_mode():
        seen["in inference mode"] = ranks.together(lambda: ranks.rank)
    fails = refuse if ranks.rank == 1 else (lambda: 0)
    seen["one fails"] = caught(lambda: ranks.together(fails))
    no_pickle = (lambda: lambda: 0) if ranks.rank == 1 else (lambda: 0)
    seen["one is no pickle"] = caught(lambda: ranks.together(no_pickle)).partition(":")[0]
    seen["afterwards"] = ranks.together(lambda: ranks.rank)

    joined = group_ranks()
    seen["of a training"] = joined.together(lambda: joined.rank)
    leave(joined)
    seen["the training's group"] = torch.distributed.get_world_size()

    paths = {
        "suite.ground_truth": str(suite / "gt/0.mp4"),
        "suite.predictions": str(suite / "step00900/0.mp4"),
    }
    request = request_from(compose([], paths))
    result = run(request, ranks=ranks)
    alone = wbgpu.evaluate(*paths.values())
    seen["one episode as alone"] = result.episodes == alone.episodes
    seen["environment is kept"] = os.environ.get("WORLD_SIZE")
    two = dataclasses.replace(request, num_processes=2)
    seen["devices"] = caught(lambda: run(two, ranks=ranks)).partition(":")[0]
    if ranks.rank == 1:
        print(json.dumps(seen), flush=True)
        os._exit(7)
    seen["the other is gone"] = caught(lambda: ranks.together(lambda: 0))
    assert RankError.__name__ in str(seen["the other is gone"])
    print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main()
