"""An e-process for paired differences of a loss over episodes: evidence that may be watched.

An e-value above 20 refutes its hypothesis at 5 %, at whichever episode one stops (Ville 1939).
Log-loss differences have no known bound and no known variance, so processes that bet on bounded or
sub-Gaussian differences would need a constant that nobody has. This one needs none: for z
symmetric about a centre of at most 0 and every bet b >= 0, exp(b z - b^2 z^2 / 2) has a mean of at
most 1 (de la Pena, Annals of Probability 1999, lemma 6.1, for a centre of 0; f(x) = exp(x - x^2 /
2) is increasing below 0, so f(u) + f(v) <= f(u) + f(-u) <= 2 wherever u + v <= 0). Differences are
scaled by the root mean square of those before them, which the past decides, and bets are mixed
over a half-normal distribution of scale 1, which gives with S = sum of z and Q = sum of z^2

    E = 2 Phi(S / sqrt(1 + Q)) exp(S^2 / (2 (1 + Q))) / sqrt(1 + Q).

*Assumption*: given the past, an episode's difference is symmetric about its centre, which holds
exactly when candidate and baseline are exchangeable; the hypothesis is about that centre, not
about the mean of a skewed difference. Episodes must come in an order that does not depend on their
differences. The first difference that is not 0 only sets the scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from wbgpu.records.evidence import SequentialEvidence

MAX_E_VALUE = 1e100
DEFAULT_THRESHOLD = 20.0


@dataclass
class EProcess:
    """Evidence that differences are centred above ``null``; `update` once for each episode.

    Attributes:
        null: largest centre under the hypothesis, in the unit of the differences.
        num_episodes: so far.
        log_e_value: natural logarithm of the e-value so far.
    """

    null: float = 0.0
    num_episodes: int = 0
    log_e_value: float = 0.0
    _sum: float = field(default=0.0, repr=False)
    _squares: float = field(default=0.0, repr=False)
    _past_squares: float = field(default=0.0, repr=False)
    _num_past: int = field(default=0, repr=False)

    def update(self, difference: float) -> float:
        """Take the next episode's difference, finite; returns the logarithm of the e-value."""
        shifted = difference - self.null
        self.num_episodes += 1
        if self._past_squares > 0:
            scaled = shifted / math.sqrt(self._past_squares / self._num_past)
            self._sum += scaled
            self._squares += scaled * scaled
            self.log_e_value = _log_mixture(self._sum, self._squares)
        if shifted != 0 or self._num_past:
            self._past_squares += shifted * shifted
            self._num_past += 1
        return self.log_e_value

    @property
    def e_value(self) -> float:
        """So far, at most 1e100."""
        return min(math.exp(min(self.log_e_value, 500.0)), MAX_E_VALUE)


def sequential_evidence(
    losses: Iterable[float], *, margin: float = 0.0, threshold: float = DEFAULT_THRESHOLD
) -> SequentialEvidence:
    """Both e-processes over differences of a loss (candidate - baseline; lower is better).

    Args:
        losses: one difference an episode, finite, in their order.
        margin: increase that does not count as worse, >= 0.
        threshold: e-value that decides.
    """
    worse, better = EProcess(null=margin), EProcess()
    decided_after = None
    for index, loss in enumerate(losses, start=1):
        largest = max(worse.update(loss), better.update(-loss))
        if decided_after is None and largest >= math.log(threshold):
            decided_after = index
    return SequentialEvidence(worse.e_value, better.e_value, decided_after, threshold)


def _log_mixture(total: float, squares: float) -> float:
    spread = 1.0 + squares
    ratio = total / math.sqrt(spread)
    # 2 Phi(x) = erfc(-x / sqrt 2); far below 0 its logarithm is that of its asymptote.
    if ratio > -30.0:
        tail = math.log(math.erfc(-ratio / math.sqrt(2.0)))
    else:
        tail = -ratio * ratio / 2.0 - math.log(-ratio * math.sqrt(math.pi / 2.0))
    return tail + ratio * ratio / 2.0 - math.log(spread) / 2.0
