"""Small corruption studies."""

from __future__ import annotations

from wbgpu.aggregate.degradation import response
from wbgpu.records.corruption import CorruptionStudy, MeasuredMetric
from wbgpu.records.metric import MetricInfo
from wbgpu.records.suite import EpisodeFailure

SEVERITIES = (0.0, 0.5, 1.0)
INFOS = {
    "psnr": MetricInfo("psnr", "psnr/1.0", "dB", higher_is_better=True),
    "mse": MetricInfo("mse", "mse/1.0", "squared intensity", higher_is_better=False),
}


def study(values, *, reason=None, predictions=None, failures=None) -> CorruptionStudy:
    """A study with these values: by corruption and metric, a row for each episode."""
    measured = {
        corruption: {
            metric: MeasuredMetric(tuple(map(tuple, rows)), reason)
            for metric, rows in by_metric.items()
        }
        for corruption, by_metric in values.items()
    }
    responses = {
        corruption: {
            metric: response(found, SEVERITIES, higher_is_better=INFOS[metric].higher_is_better)
            for metric, found in by_metric.items()
        }
        for corruption, by_metric in measured.items()
    }
    first = next(iter(next(iter(measured.values())).values()))
    return CorruptionStudy(
        producer="wbgpu 0",
        created_at="2026-01-01T00:00:00+00:00",
        ground_truth_root="gt",
        predictions_root=predictions,
        num_context=4,
        dataset_identifier="sha256:0",
        seed=0,
        severities=SEVERITIES,
        corruptions=dict.fromkeys(values, "is wrong"),
        metric_infos={name: INFOS[name] for name in next(iter(values.values()))},
        episode_ids=tuple(f"e{i}" for i in range(len(first.values))),
        failures={k: EpisodeFailure("VideoError", v) for k, v in (failures or {}).items()},
        measured=measured,
        responses=responses,
        configuration={},
        environment={},
        device="cpu",
        statistics_path="cpu",
        decoder="pyav",
    )


WORSE = [[60, 40, 20], [60, 41, 22], [60, 39, 21]]
BETTER = [[20, 40, 60], [22, 41, 60], [21, 39, 60]]
SAME = [[60, 60, 60]] * 3
BY_CHANCE = [[60, 59, 58], [60, 70, 50], [60, 45, 70]]
