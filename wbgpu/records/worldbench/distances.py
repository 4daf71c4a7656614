"""Distances of distributions in our extension, which has the key only where there are any."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from wbgpu.records.distribution_distance import DistributionDistance
from wbgpu.records.node import Node

DISTANCES = "distribution_distances"


def distance_payload(distance: DistributionDistance) -> dict[str, Any]:
    """One distance, with what it takes to judge it."""
    return asdict(distance) | {"rank_deficiency": distance.rank_deficiency}


def parse_distances(own: Node) -> tuple[DistributionDistance, ...]:
    """Read all distances of our block of a file.

    Raises:
        ResultFileError: a key is missing, of the wrong type or out of range, or one name stands
            twice.
    """
    node = own.get(DISTANCES)
    if node is None:
        return ()
    distances = tuple(map(_distance, node.elements()))
    names = [distance.name for distance in distances]
    if len(set(names)) < len(names):
        node.fail(f"one name stands twice: {', '.join(names)}")
    return distances


def _distance(node: Node) -> DistributionDistance:
    try:
        distance = DistributionDistance(
            name=node["name"].string(),
            metric_id=node["metric_id"].string(),
            value=node.optional_number("value"),
            reason=node.optional_string("reason"),
            num_episodes=node["num_episodes"].integer(),
            num_observations=node["num_observations"].integer(),
            num_features=node["num_features"].integer(),
            extractor_sha256=node.optional_string("extractor_sha256"),
        )
    except ValueError as error:
        node.fail(str(error))
    if node["rank_deficiency"].integer() != distance.rank_deficiency:
        node["rank_deficiency"].fail(
            f"{distance.num_observations} observations of {distance.num_features} features lack "
            f"{distance.rank_deficiency}"
        )
    return distance
