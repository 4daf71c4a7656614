"""Log-loss, KL divergence and prequential regret in nats, float64, torch-free; docs/regret.md."""

from wbgpu.regret.accumulator import RegretAccumulator
from wbgpu.regret.distributions import (
    SUM_TOLERANCE,
    check_distributions,
    log_probabilities,
    log_softmax,
)
from wbgpu.regret.losses import kl_nats, log_loss_nats

__all__ = [
    "RegretAccumulator",
    "SUM_TOLERANCE",
    "check_distributions",
    "kl_nats",
    "log_loss_nats",
    "log_probabilities",
    "log_softmax",
]
