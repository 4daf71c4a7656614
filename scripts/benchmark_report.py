"""How long ``wbgpu report`` takes on a large suite, and how large and how quick its page is.

Usage: scripts/benchmark_report.py [--episodes 1000] [--horizons 64] [--output FILE.json]
Two results are drawn and written, the command makes a page of them, and Chromium opens it where
there is one: time to load, time to open the last page of the table of episodes, scrolling.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.chromium import Chromium, find_chromium
from scripts.machine import machine
from tests.records.results import available, episode, suite
from wbgpu import sdk
from wbgpu.records.metric import MetricInfo
from wbgpu.records.suite import SuiteResult

_OTHERS = ("psnr", "mse", "skill_persistence", "dynamic_ssim")
_OPEN_LAST = """(() => {
  const pages = document.querySelectorAll('details.page');
  const start = performance.now();
  pages[pages.length - 1].parentElement.open = true;
  pages[pages.length - 1].open = true;
  document.body.getBoundingClientRect();
  return performance.now() - start;
})()"""
_SCROLL = """new Promise((done) => {
  const times = [];
  let last = performance.now();
  const step = (now) => {
    times.push(now - last);
    last = now;
    window.scrollBy(0, 400);
    if (times.length < 60) requestAnimationFrame(step);
    else done(Math.max(...times.slice(1)));
  };
  requestAnimationFrame(step);
})"""


def drawn_suite(name: str, shift: float, num_episodes: int, num_horizons: int) -> SuiteResult:
    """A result whose scores fall along the horizon."""
    generator = np.random.default_rng(7)
    fall = np.linspace(0, 20, num_horizons)
    episodes = []
    for index in range(num_episodes):
        noise = generator.normal(0, 2, (2 + len(_OTHERS), num_horizons)).cumsum(axis=1) / 8
        own = shift * generator.normal(1, 2)
        scores = np.clip(85 - fall + noise[:2] + own, 0, 100)
        outcomes = [
            available("visual_similarity", scores[0].tolist(), step=tuple(scores[0].tolist())),
            available("temporal_stability", scores[1].tolist()),
        ]
        for metric, row in zip(_OTHERS, noise[2:], strict=True):
            values = row / 10 if metric.startswith(("skill", "dynamic")) else 25 + row
            outcomes.append(
                available(metric, (values + own / 50).tolist(), step=tuple(values.tolist()))
            )
        episodes.append(episode(f"episode_{index:05}.mp4", outcomes, num_horizons))
    result = suite(episodes, checkpoint_name=name)
    infos = {
        key: MetricInfo(key, info.metric_id, info.unit, key != "mse")
        for key, info in result.metric_infos.items()
    }
    return replace(result, metric_infos=infos)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--horizons", type=int, default=64)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(found := measured(Path(folder), arguments.episodes, arguments.horizons)))
    if arguments.output is not None:
        arguments.output.write_text(
            json.dumps({"machine": machine(("wbgpu", "numpy", "matplotlib")), **found}, indent=1)
            + "\n"
        )


def measured(folder: Path, num_episodes: int, num_horizons: int) -> dict[str, float | int | None]:
    """Seconds, bytes and milliseconds."""
    files = {name: folder / f"{name}.json" for name in ("baseline", "candidate")}
    for (name, path), shift in zip(files.items(), (0.0, 0.4), strict=True):
        sdk.save_result(drawn_suite(name, shift, num_episodes, num_horizons), path)
    page = folder / "report.html"
    command = [sys.executable, "-m", "wbgpu", "report", str(files["candidate"])]
    command += ["--against", str(files["baseline"]), "--output", str(page)]
    start = time.perf_counter()
    subprocess.run([*command, "--policy", "noninferiority"], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    found: dict[str, float | int | None] = {
        "episodes": num_episodes,
        "horizons": num_horizons,
        "report_seconds": round(time.perf_counter() - start, 2),
        # On a busy machine the command waits; this is what it works.
        "report_cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
        "result_bytes": files["candidate"].stat().st_size,
        "page_bytes": page.stat().st_size,
    }
    program = find_chromium()
    if program is not None:
        with Chromium(program) as browser:
            start = time.perf_counter()
            browser.show(page.as_uri(), width=1280)
            found["load_seconds"] = round(time.perf_counter() - start, 2)
            found["elements"] = browser.evaluate("document.getElementsByTagName('*').length")
            found["open_last_page_ms"] = round(browser.evaluate(_OPEN_LAST), 1)
            found["slowest_frame_ms"] = round(browser.evaluate(_SCROLL), 1)
            found["problems"] = len(browser.problems)
    return found


if __name__ == "__main__":
    main()
