"""Which training-free tracker to ship: candidates of OpenCV on ten Bridge episodes.

    python scripts/measure_trackers.py --bridge BRIDGE --output artifacts/tracking/bridge.json

Two questions, each with what can answer it:

- Where is the thing that a box marks in the first frame? Against positions labelled by eye
  (artifacts/tracking/bridge_labels.json); the trackers are given the box.
- How far does the robot move from frame to frame? Against the actions: R^2 of a linear map from
  end-effector deltas to displacements, on steps or episodes that it was not fitted to. Needs no
  label, and is what action_following needs. A tracker that sees no motion explains none: 0.

Writes a JSON beside a Markdown table and a plot of the same name.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from machine import machine

from wbgpu.action_adapters import ActionsAndTrack, LinearFit
from wbgpu.tracking import FlowTracker
from wbgpu.video.pyav import PyavDecoder

LABELS = Path(__file__).resolve().parents[1] / "artifacts/tracking/bridge_labels.json"
ELEMENTS = (0, 1, 2)
NEAR_PIXELS = 20
Box = tuple[int, int, int, int]
BoxTracker = Callable[[np.ndarray, Box], np.ndarray]


def luma(frame: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)


def middle(box: Box) -> np.ndarray:
    left, top, width, height = box
    return np.array([left + width / 2, top + height / 2])


def around(centre: np.ndarray, box: Box, shape: tuple[int, ...]) -> tuple[slice, slice]:
    left, top = (np.array([centre[0] - box[2] / 2, centre[1] - box[3] / 2])).round().astype(int)
    rows = slice(max(0, top), max(0, min(shape[0], top + box[3])))
    return rows, slice(max(0, left), max(0, min(shape[1], left + box[2])))


def stands_still(frames: np.ndarray, box: Box) -> np.ndarray:
    return np.tile(middle(box), (len(frames), 1))


def multiple_instance(frames: np.ndarray, box: Box) -> np.ndarray:
    tracker = cv2.TrackerMIL_create()
    tracker.init(np.ascontiguousarray(frames[0][..., ::-1]), box)
    path = [middle(box)]
    for frame in frames[1:]:
        found, where = tracker.update(np.ascontiguousarray(frame[..., ::-1]))
        path.append(middle(where) if found else path[-1])
    return np.array(path)


def sparse_flow(frames: np.ndarray, box: Box) -> np.ndarray:
    centre, path, before = middle(box), [middle(box)], luma(frames[0])
    for frame in frames[1:]:
        after, mask = luma(frame), np.zeros_like(before)
        mask[around(centre, box, before.shape)] = 255
        points = cv2.goodFeaturesToTrack(before, 60, 0.01, 3, mask=mask)
        if points is not None:
            options = {"winSize": (21, 21), "maxLevel": 4}
            there, _, _ = cv2.calcOpticalFlowPyrLK(before, after, points, None, **options)
            back, _, _ = cv2.calcOpticalFlowPyrLK(after, before, there, None, **options)
            good = np.linalg.norm((points - back)[:, 0], axis=1) < 2
            if good.sum() >= 3:
                centre = centre + np.median((there - points)[good, 0], axis=0)
        path.append(centre)
        before = after
    return np.array(path)


def dense_flow(frames: np.ndarray, box: Box) -> np.ndarray:
    """The rules of FlowTracker, inside the box only."""
    there, back = (cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM) for _ in "ab")
    centre, path, before = middle(box), [middle(box)], luma(frames[0])
    for frame in frames[1:]:
        after = luma(frame)
        flow, returned = there.calc(before, after, None), back.calc(after, before, None)
        height, width = before.shape
        x = flow[..., 0] + np.arange(width, dtype=np.float32)
        y = flow[..., 1] + np.arange(height, dtype=np.float32)[:, None]
        returned = flow + cv2.remap(returned, x, y, cv2.INTER_LINEAR)
        counts = (np.linalg.norm(flow, axis=2) > 1) & (np.linalg.norm(returned, axis=2) < 2)
        window = around(centre, box, before.shape)
        if counts[window].size and counts[window].mean() > 0.15:
            centre = centre + np.median(flow[window][counts[window]], axis=0)
        path.append(centre)
        before = after
    return np.array(path)


def colour_histogram(frames: np.ndarray, box: Box) -> np.ndarray:
    """Mean shift on the share of the box among all pixels of a colour (8 levels a channel)."""
    binned = [((f // 32).astype(int) * [64, 8, 1]).sum(axis=2) for f in frames]
    inside = np.bincount(
        binned[0][around(middle(box), box, binned[0].shape)].ravel(), minlength=512
    )
    share = inside / np.maximum(np.bincount(binned[0].ravel(), minlength=512), 1)
    rows, columns = np.mgrid[: binned[0].shape[0], : binned[0].shape[1]]
    centre, path = middle(box), [middle(box)]
    for colours in binned[1:]:
        for _ in range(15):
            near = (np.abs(columns - centre[0]) < 0.75 * box[2]) & (
                np.abs(rows - centre[1]) < 0.75 * box[3]
            )
            weight = share[colours] * near
            if weight.sum() < 1:
                break
            new = np.array([(weight * columns).sum(), (weight * rows).sum()]) / weight.sum()
            moved, centre = np.linalg.norm(new - centre), new
            if moved < 0.3:
                break
        path.append(centre)
    return np.array(path)


def template(frames: np.ndarray, box: Box) -> np.ndarray:
    """Normalised correlation within 48 pixels, the template renewed by half at every frame."""
    left, top, width, height = box
    model = frames[0][top : top + height, left : left + width].astype(np.float32)
    rows, columns = model.shape[:2]
    path = [middle(box)]
    for frame in frames[1:]:
        x0, y0 = max(0, left - 48), max(0, top - 48)
        window = frame[y0 : top + rows + 48, x0 : left + columns + 48].astype(np.float32)
        match = cv2.matchTemplate(window, model, cv2.TM_CCOEFF_NORMED)
        y, x = np.mgrid[: match.shape[0], : match.shape[1]]
        match = match - 0.3 * (np.hypot(x + x0 - left, y + y0 - top) / 48) ** 2
        y, x = np.unravel_index(match.argmax(), match.shape)
        left, top = int(x0 + x), int(y0 + y)
        found = frame[top : top + rows, left : left + columns]
        model = (0.5 * model + 0.5 * found).astype(np.float32)
        path.append(middle((left, top, columns, rows)))
    return np.array(path)


BOX_TRACKERS: dict[str, BoxTracker] = {
    "stands still": stands_still,
    "multiple instance learning (TrackerMIL)": multiple_instance,
    "sparse flow (Lucas-Kanade)": sparse_flow,
    "dense flow (DIS) in the box": dense_flow,
    "colour histogram (mean shift)": colour_histogram,
    "template (normalised correlation)": template,
}


def whole_frame(frames: np.ndarray, _: Box) -> np.ndarray:
    tracks = FlowTracker().start().track(torch.from_numpy(frames).permute(0, 3, 1, 2))
    return tracks.position[:, 0].numpy()


def clipped(label: list[int], shape: tuple[int, ...]) -> Box:
    x, y, width, height = label
    left, top = max(0, x - width // 2), max(0, y - height // 2)
    right, bottom = min(shape[1], x + width // 2), min(shape[0], y + height // 2)
    return left, top, right - left, bottom - top


def distances(tracker: BoxTracker, frames: np.ndarray, label: dict[str, Any], at: list[int]) -> Any:
    """Pixels to the label at each labelled frame but the first, where the offset is set to 0."""
    path = tracker(frames, clipped(label["start_box"], frames.shape[1:]))
    true = np.array(label["position"], dtype=float)
    offset = true[0] - path[0]
    return np.linalg.norm(path[at] + offset - true, axis=1)[1:]


def against_labels(videos: dict[str, np.ndarray], labels: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for name, tracker in BOX_TRACKERS.items():
        row: dict[str, Any] = {"tracker": name}
        num_frames, start = 0, time.process_time()
        for role in ("robot", "object"):
            found = []
            for episode, label in labels.items():
                if role in label:
                    found.append(distances(tracker, videos[episode], label[role], label["frames"]))
                    num_frames += len(videos[episode])
            pixels = np.concatenate(found)
            row[f"{role}_median_pixels"] = float(np.median(pixels))
            row[f"{role}_near_share"] = float((pixels < NEAR_PIXELS).mean())
            row[f"{role}_num_labels"] = len(pixels)
        row["milliseconds_a_frame"] = 1e3 * (time.process_time() - start) / num_frames
        rows.append(row)
    return rows


def against_actions(
    videos: dict[str, np.ndarray], actions: dict[str, np.ndarray], labels: dict[str, Any]
) -> list[dict[str, Any]]:
    rows = []
    candidates = {
        "FlowTracker (DIS, whole frame, no box)": whole_frame,
        **{k: v for k, v in BOX_TRACKERS.items() if k != "stands still"},
    }
    for name, tracker in candidates.items():
        moved = {}
        for episode, frames in videos.items():
            box = clipped(labels[episode]["robot"]["start_box"], frames.shape[1:])
            moved[episode] = np.diff(tracker(frames, box), axis=0)
        episodes = {
            key: ActionsAndTrack(actions[key], None, displacement)
            for key, displacement in moved.items()
        }
        for delay in (0, 1, 2):
            row: dict[str, Any] = {"tracker": name, "delay_steps": delay}
            for scope in ("episode", "other_episodes"):
                fitted = LinearFit(ELEMENTS, delay, scope).fit(episodes)  # type: ignore[arg-type]
                row[scope] = {key: fit.r_squared for key, fit in fitted.items()}
            rows.append(row)
    return rows


def summary(r_squared: dict[str, float | None]) -> str:
    values = np.array([value or 0.0 for value in r_squared.values()])
    return f"{np.median(values):.2f} ({(values >= 0.3).sum()} of {len(values)})"


def markdown(result: dict[str, Any]) -> str:
    lines = [
        "# Trackers on ten Bridge episodes",
        "",
        "Distance to labels, in pixels of 256 x 256 frames; near: under "
        f"{NEAR_PIXELS} pixels. Each tracker is given a box in the first frame. "
        "Time is of one CPU thread.",
        "",
        "| tracker | robot, median | robot, near | object, median | object, near | ms a frame |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in result["labels"]:
        lines.append(
            f"| {row['tracker']} | {row['robot_median_pixels']:.1f} "
            f"| {row['robot_near_share']:.0%} "
            f"| {row['object_median_pixels']:.1f} | {row['object_near_share']:.0%} "
            f"| {row['milliseconds_a_frame']:.1f} |"
        )
    lines += [
        "",
        "R^2 of a linear map from end-effector deltas (the first three numbers of an action) to "
        "the robot's displacement: median over episodes, and how many reach 0.3.",
        "",
        "| tracker | delay, steps | map of the episode, without the step | map of the others |",
        "| --- | ---: | ---: | ---: |",
    ]
    for row in result["actions"]:
        lines.append(
            f"| {row['tracker']} | {row['delay_steps']} | {summary(row['episode'])} "
            f"| {summary(row['other_episodes'])} |"
        )
    return "\n".join([*lines, ""])


def plot(result: dict[str, Any], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    rows = [r for r in result["actions"] if r["tracker"].startswith("FlowTracker")]
    for axis, scope, title in (
        (axes[0], "episode", "map of the episode itself,\nleaving out one step after the other"),
        (axes[1], "other_episodes", "map of the other nine episodes"),
    ):
        for row, colour in zip(rows, ("#9aa5b1", "#1b6ca8", "#e08e0b"), strict=True):
            values = [value or 0.0 for value in row[scope].values()]
            x = np.arange(len(values)) + 0.27 * (row["delay_steps"] - 1)
            label = f"delay of {row['delay_steps']} step(s)"
            axis.bar(x, np.maximum(values, -0.5), 0.25, color=colour, label=label)
        axis.axhline(0.3, color="black", linewidth=1, linestyle="--")
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("Bridge episode")
        axis.set_xticks(range(10))
        axis.set_ylim(-0.5, 1)
    axes[0].set_ylabel("R² (cut off at -0.5)")
    axes[0].text(9.6, 0.31, "needed", ha="right", va="bottom", fontsize=8)
    axes[1].legend(fontsize=8, loc="lower left")
    figure.suptitle(
        "How far end-effector deltas explain the motion that FlowTracker sees", fontsize=11
    )
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bridge", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    labels = json.loads(LABELS.read_text())["episodes"]
    videos, actions = {}, {}
    for episode in labels:
        with PyavDecoder().open(arguments.bridge / f"{episode}.mp4") as reader:
            frames = reader.read(0, reader.info.num_frames)
        videos[episode] = frames.permute(0, 2, 3, 1).contiguous().numpy()
        actions[episode] = np.load(arguments.bridge / f"{episode}.npz")["arr_0"]
    result = {
        "machine": machine(("torch", "opencv-python-headless", "numpy")),
        "labels": against_labels(videos, labels),
        "actions": against_actions(videos, actions, labels),
    }
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    arguments.output.with_suffix(".md").write_text(markdown(result))
    plot(result, arguments.output.with_suffix(".png"))
    print(markdown(result))


if __name__ == "__main__":
    main()
