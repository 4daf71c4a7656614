"""Distances of distributions in a result's file."""

from __future__ import annotations

import pytest

from tests.records.results import simple_suite
from wbgpu.aggregate.consistency import check_result
from wbgpu.errors import ResultFileError
from wbgpu.records.distribution_distance import DistributionDistance
from wbgpu.records.worldbench import batch_payload, evaluation_payload, parse_result

FVD = DistributionDistance("fvd", "fvd/frechet-1.0(a)", 0.1 + 0.2, None, 2, 2, 400, "ab" * 32)
FID = DistributionDistance("fid", "fid/frechet-1.0(none)", None, "No extractor.", 0, 0, 2048)


def suite(*distances):
    scores = {"a.mp4": [50.0, 60.0], "b.mp4": [70.0]}
    return simple_suite(scores, distribution_distances=distances)


def test_they_come_back_and_are_in_no_episode_and_no_composite():
    """The number that a paper reports must be the one that was measured."""
    document = batch_payload(suite(FVD, FID))
    assert parse_result(document, "a.json").distribution_distances == (FVD, FID)
    written = document["wbgpu"]["distribution_distances"]
    assert written[0]["rank_deficiency"] == 399
    plain = batch_payload(suite())
    assert document["aggregate"] == plain["aggregate"]
    assert document["episodes"] == plain["episodes"]
    assert document["coverage"] == plain["coverage"]


def test_results_without_any_have_no_such_key():
    """Files of before stay what they were, digest of settings included."""
    assert "distribution_distances" not in batch_payload(suite())["wbgpu"]


def test_the_file_of_one_episode_has_none():
    """They are of the suite."""
    result = suite(FVD)
    document = evaluation_payload(result, result.episodes[0])
    assert parse_result(document, "a.json").distribution_distances == ()


def test_the_settings_digest_covers_them():
    """No other number in the file would tell that one was changed."""
    one, other = (batch_payload(suite(distance))["wbgpu"] for distance in (FVD, FID))
    assert one["settings_sha256"] != other["settings_sha256"]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("value", None, "either a value, or the reason"),
        ("value", -1.0, "finite distance >= 0"),
        ("value", "1", "value"),
        ("num_episodes", -2, "expected an integer >= 0"),
        ("rank_deficiency", 0, "2 observations of 400 features lack 399"),
        ("name", "fid", "one name stands twice"),
    ],
)
def test_what_cannot_be_is_refused(key, value, message):
    """By its place."""
    document = batch_payload(suite(FVD, FID))
    document["wbgpu"]["distribution_distances"][0][key] = value
    with pytest.raises(ResultFileError, match=rf"wbgpu.distribution_distances.*{message}"):
        parse_result(document, "a.json")


@pytest.mark.parametrize(("key", "most"), [("num_episodes", 2), ("num_observations", 3)])
def test_more_than_there_is_is_a_contradiction(key, most):
    """A claim of 300 episodes would pass the gate's minimum."""
    document = batch_payload(suite(FVD))
    entry = document["wbgpu"]["distribution_distances"][0]
    entry[key], entry["rank_deficiency"] = 300, 399 if key == "num_episodes" else 101
    result = parse_result(document, "a.json")
    with pytest.raises(ResultFileError, match=rf"{key}: .*300, but its episodes give {most}"):
        check_result(result, "a.json")
