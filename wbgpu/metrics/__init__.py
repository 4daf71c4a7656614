"""Metrics with a value per horizon: torchmetrics modules and their pure functions."""

from wbgpu.metrics.check import check_metric
from wbgpu.metrics.dynamic_region import DynamicMse, DynamicPsnr, DynamicSsim
from wbgpu.metrics.horizon_metric import HorizonMetric
from wbgpu.metrics.horizon_values import HorizonValues
from wbgpu.metrics.log_loss_regret import LogLossRegret
from wbgpu.metrics.mse import Mse
from wbgpu.metrics.prediction_losses import PredictionLosses, prediction_losses
from wbgpu.metrics.psnr import MeanPsnr
from wbgpu.metrics.skill import SkillPersistence, SkillPersistenceDynamic
from wbgpu.metrics.ssim_wang2004 import SsimWang2004
from wbgpu.metrics.temporal_fidelity import TemporalFidelity
from wbgpu.metrics.temporal_stability import TemporalStability
from wbgpu.metrics.visual_similarity import VisualSimilarity

__all__ = [
    "DynamicMse",
    "DynamicPsnr",
    "DynamicSsim",
    "HorizonMetric",
    "HorizonValues",
    "LogLossRegret",
    "MeanPsnr",
    "Mse",
    "PredictionLosses",
    "SkillPersistence",
    "SkillPersistenceDynamic",
    "SsimWang2004",
    "TemporalFidelity",
    "TemporalStability",
    "VisualSimilarity",
    "check_metric",
    "prediction_losses",
]
