"""Slow, readable twin of wbgpu.worlds: rules interpreted one state at a time, draws in integers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

MASK = 0xFFFFFFFF


def all_states(document):
    names = list(document["variables"])
    for values in product(*document["variables"].values()):
        yield dict(zip(names, values, strict=True))


def distribution(document, variable, state, action):
    """Exact probabilities of a variable's outcomes: the first rule whose guard holds."""
    for rule in document["rules"][variable]:
        if holds(rule.get("when", {}), document, state, action):
            return spread(rule["then"], document["variables"][variable], variable, document, state)
    raise LookupError(f"no rule of {variable} covers {state}, {action}")


def policy(document, state):
    for rule in document.get("policy", [{"then": "uniform"}]):
        if holds(rule.get("when", {}), document, state, None):
            return spread(rule["then"], document["actions"], None, document, state)
    raise LookupError("no rule of the policy covers this")


def holds(when, document, state, action):
    for name, wanted in when.items():
        value = action if name == "action" else state[name]
        is_negated = isinstance(wanted, dict)
        if is_negated:
            wanted = wanted["not"]
        terms = wanted if isinstance(wanted, list) else [wanted]
        is_among = any(value == meaning(term, document, state, at_ends=False) for term in terms)
        if is_among == is_negated:
            return False
    return True


def spread(then, outcomes, variable, document, state):
    if then == "uniform":
        return {outcome: 1 / len(outcomes) for outcome in outcomes}
    if isinstance(then, str):
        then = {then: 1}
    result = dict.fromkeys(outcomes, 0.0)
    for term, probability in then.items():
        if term == "keep":
            term = f"same_as({variable})"
        if term in ("next", "previous"):
            term = f"{term}({variable})"
        result[meaning(term, document, state, at_ends=True)] += float(Fraction(probability))
    return result


def meaning(term, document, state, at_ends):
    """The name that a term stands for; ``None`` beyond an end that does not count."""
    if not term.endswith(")"):
        return term
    relation, _, variable = term[:-1].partition("(")
    order = document["variables"][variable]
    here = order.index(state[variable])
    there = here + {"same_as": 0, "next": 1, "previous": -1}[relation]
    if 0 <= there < len(order):
        return order[there]
    return order[here] if at_ends else None


def philox(counter, key):
    """Philox4x32-10 as its paper writes it, on Python's integers."""
    a, b, c, d = counter
    k, m = key
    for _ in range(10):
        low, high = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (high >> 32) ^ b ^ k, high & MASK, (low >> 32) ^ d ^ m, low & MASK
        k, m = (k + 0x9E3779B9) & MASK, (m + 0xBB67AE85) & MASK
    return a, b, c, d


def uniform(seed, step, stream):
    """The draw of one stream; the action's stream is "action"."""
    block, half = (MASK, 0) if stream == "action" else divmod(stream, 2)
    words = philox((step, block, 0, 0), (seed & MASK, seed >> 32))
    return ((words[2 * half] << 32 | words[2 * half + 1]) >> 11) * 2.0**-53


def pick(probabilities, u):
    """The outcome in whose part of [0, 1) ``u`` lies."""
    total, last = 0.0, None
    for outcome, probability in probabilities.items():
        if probability > 0:
            total, last = total + probability, outcome
            if u < total:
                break
    return last


def episode(document, seed, num_steps):
    """States and actions of one episode under the behaviour policy."""
    variables = document["variables"]
    state = {
        name: pick(
            spread(document["initial"][name], outcomes, None, document, {}),
            uniform(seed, 0, stream),
        )
        for stream, (name, outcomes) in enumerate(variables.items())
    }
    states, actions = [state], []
    for step in range(1, num_steps + 1):
        action = pick(policy(document, state), uniform(seed, step, "action"))
        state = {
            name: pick(distribution(document, name, state, action), uniform(seed, step, stream))
            for stream, name in enumerate(variables)
        }
        states.append(state)
        actions.append(action)
    return states, actions
