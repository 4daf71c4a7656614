"""Refuse a file that states one fact twice with different values.

Which numbers follow from the episodes is checked by :mod:`wbgpu.aggregate.consistency`; here are
the repetitions that the format itself makes, and those between worldbench's keys and ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from wbgpu.records.metric import SCORE_UNIT
from wbgpu.records.node import Node
from wbgpu.records.profile import worldbench_metric_info
from wbgpu.records.worldbench.extension import EXTENSION


def check_agreement(root: Node, composite: Sequence[str]) -> None:
    """Compare all that a file repeats.

    Args:
        root: a batch or an evaluation whose keys and types were read without complaint.
        composite: names of the composite's metrics, also when the file leaves them to be inferred.

    Raises:
        ResultFileError: two places differ, or one lacks what the other has; it names the second.
    """
    kind = root.get("result_type")
    is_batch = kind is not None and kind.value == "batch_evaluation"
    entries = root["episodes"].elements()
    own = root.get(EXTENSION)
    _check_coverage(root)
    if is_batch:
        _check_batch_head(root, len(entries))
        for entry in entries:
            _check_batch_episode(entry)
    else:
        _same_where_stated(root, "score", root, "composite_score")
    if own is not None:
        _check_extension(root, own, composite, is_batch)
        for entry in entries:
            _check_own_episode(entry, own, is_batch)


def _check_coverage(root: Node) -> None:
    coverage = root.get("coverage")
    if coverage is None or not coverage.object():
        return
    for kind in ("available", "configured"):
        count = coverage.get(f"{kind}_metric_count")
        listed = len(coverage[f"{kind}_metrics"].elements())
        if count is not None and count.integer() != listed:
            count.fail(f"is {count.value}, but {coverage.path}.{kind}_metrics lists {listed}")
    key = "effective_normalized_weights"
    _same_where_stated(root, key, coverage, key)


def _check_batch_head(root: Node, num_episodes: int) -> None:
    count = root.get("episode_count")
    if count is not None and count.integer() != num_episodes:
        count.fail(f"is {count.value}, but $.episodes holds {num_episodes}")
    _same_where_stated(root["aggregate"], "overall", root["aggregate"], "composite_score")
    if settings := root.get("configuration"):
        _same_where_stated(root, "skip_context", settings, "skip_context")


def _check_batch_episode(entry: Node) -> None:
    """A batch nests each episode as an evaluation, and repeats what that says beside it."""
    evaluation = entry.get("result")
    if evaluation is None:
        for key in ("metrics", "horizon"):
            if (part := entry.get(key)) is not None and part.object():
                part.fail("the episode has no 'result' and yet has scores")
        return
    inner = evaluation["episodes"].elements()[0]
    _same_where_stated(entry, "score", evaluation, "composite_score")
    for metrics in (evaluation["metrics"], inner["metrics"]):
        _same_names(entry["metrics"], metrics)
        for name, metric in entry["metrics"].items():
            for key in ("score", "status"):
                _same_where_stated(metric, key, metrics[name], key)
    _same_where_stated(entry, "horizon", evaluation, "horizon")
    _check_horizons(entry, inner)


def _check_horizons(entry: Node, inner: Node) -> None:
    """The outer horizons are distributions of one value, which is the inner score."""
    outer, scored = entry.get("horizon"), inner.get("horizon")
    if outer is None and scored is None:
        return
    _same_names(entry["horizon"], inner["horizon"])
    for label, distributions in entry["horizon"].items():
        scores = inner["horizon"][label]
        for key in ("metrics", "unavailable_metrics"):
            _same_names(distributions[key], scores[key])
        for name, distribution in distributions["metrics"].items():
            _same(distribution["mean"], scores["metrics"][name]["score"])


def _check_extension(root: Node, own: Node, composite: Sequence[str], is_batch: bool) -> None:
    protocol = own.get("protocol")
    if is_batch:
        keys = ("checkpoint_name", "ground_truth_root", "predictions_root")
        for key in (*keys, "skip_context", "dataset_identifier"):
            _same(root[key], own[key])
    for name in composite:
        if (info := own["metrics"].get(name)) is None:
            continue
        if info["unit"].value != SCORE_UNIT:
            info["unit"].fail(f"a metric of the composite has the unit {SCORE_UNIT!r}")
        if info["higher_is_better"].value is not True:
            info["higher_is_better"].fail("a metric of the composite is better when higher")
    # They would hide what worldbench's keys say of the same metric.
    _lacks(own["aggregate"]["metrics"], composite)
    for _, horizon in own["horizon"].items():
        _lacks(horizon["prefix"], composite)
        _lacks(horizon["unavailable_metrics"], composite)
    if protocol is None:
        _check_foreign(own)
        return
    _same(own["skip_context"], protocol["num_context"])
    for name, metric_id in protocol["metric_ids"].items():
        if name in own["metrics"].object():
            _same(own["metrics"][name]["metric_id"], metric_id)


def _check_foreign(own: Node) -> None:
    """Only what worldbench measured, saved again by us, has no protocol."""
    if not own["producer"].string().startswith("worldbench"):
        own["protocol"].fail("a file of wbgpu has a protocol, but this is null")
    for name, info in own["metrics"].items():
        expected = worldbench_metric_info(name).metric_id
        if info["metric_id"].value != expected:
            info["metric_id"].fail(f"without a protocol expected {expected!r}")


def _check_own_episode(entry: Node, own: Node, is_batch: bool) -> None:
    """The extension of one episode against the suite's and against worldbench's keys."""
    part, infos, protocol = entry[EXTENSION], own["metrics"], own.get("protocol")
    scored = entry
    if is_batch and (evaluation := entry.get("result")) is not None:
        scored = evaluation["episodes"].elements()[0]
    shared = scored["metrics"]
    for name in shared.object():
        if name not in part["metrics"].object():
            part["metrics"].fail(f"lacks {name!r}, which {shared.path} has")
    for name, metric in part["metrics"].items():
        # A metric that the suite does not list is refused when the aggregates are recomputed.
        if name in infos.object():
            _same(infos[name]["metric_id"], metric["metric_id"])
        status = shared[name]["status"] if name in shared.object() else metric["status"]
        listed = protocol is None or name in protocol["metric_ids"].object()
        if protocol is not None and not listed and status.value == "available":
            protocol["metric_ids"].fail(f"lacks {name!r}, which {metric.path} measured")
    alignment = part.get("alignment")
    if alignment is None:
        return
    if own.get("skip_context") is not None:
        _same(own["skip_context"], alignment["num_context"])
    if protocol is not None:
        _same(protocol["alignment_policy"], alignment["policy"])
    if part.get("failure") is None:
        _same(part["num_steps"], alignment["num_steps"])


def _lacks(node: Node, names: Sequence[str]) -> None:
    if found := sorted(set(node.object()) & set(names)):
        node.fail(f"holds {found[0]!r}, which is a metric of the composite and stands elsewhere")


def _same_where_stated(first: Node, key: str, second: Node, second_key: str) -> None:
    if key in first.object() and second_key in second.object():
        _same(first[key], second[second_key])


def _same(first: Node, second: Node) -> None:
    if first.value == second.value:
        return
    if isinstance(first.value, (dict, list)) or isinstance(second.value, (dict, list)):
        second.fail(f"differs from {first.path}")
    second.fail(f"is {second.value!r}, but {first.path} says {first.value!r}")


def _same_names(first: Node, second: Node) -> None:
    if different := sorted(set(first.object()) ^ set(second.object())):
        where, other = (first, second) if different[0] in second.object() else (second, first)
        where.fail(f"lacks {different[0]!r}, which {other.path} has")
