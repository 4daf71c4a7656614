"""Metrics with a value per horizon: torchmetrics modules and their pure functions."""

from wbgpu.metrics.action_consistency import ActionConsistency
from wbgpu.metrics.action_following import ActionFollowing
from wbgpu.metrics.check import check_metric
from wbgpu.metrics.check_track_metric import check_track_metric
from wbgpu.metrics.contact_realism import ContactRealism
from wbgpu.metrics.dynamic_region import DynamicMse, DynamicPsnr, DynamicSsim
from wbgpu.metrics.episode_metric import EpisodeMetric
from wbgpu.metrics.frame_value_metric import FrameValueMetric
from wbgpu.metrics.frechet_distance import FrechetDistance
from wbgpu.metrics.horizon_metric import HorizonMetric
from wbgpu.metrics.horizon_values import HorizonValues
from wbgpu.metrics.log_loss_regret import LogLossRegret
from wbgpu.metrics.lpips import Lpips
from wbgpu.metrics.mse import Mse
from wbgpu.metrics.object_permanence import ObjectPermanence
from wbgpu.metrics.prediction_losses import PredictionLosses, prediction_losses
from wbgpu.metrics.psnr import MeanPsnr
from wbgpu.metrics.skill import SkillPersistence, SkillPersistenceDynamic
from wbgpu.metrics.ssim_wang2004 import SsimWang2004
from wbgpu.metrics.temporal_fidelity import TemporalFidelity
from wbgpu.metrics.temporal_stability import TemporalStability
from wbgpu.metrics.track_agreement import (
    ContactAgreement,
    MotionOnsetError,
    TrackError,
    TrackPresence,
)
from wbgpu.metrics.track_metric import TrackedEpisode, TrackMetric
from wbgpu.metrics.visual_similarity import VisualSimilarity

__all__ = [
    "ActionConsistency",
    "ActionFollowing",
    "ContactAgreement",
    "ContactRealism",
    "DynamicMse",
    "DynamicPsnr",
    "DynamicSsim",
    "EpisodeMetric",
    "FrameValueMetric",
    "FrechetDistance",
    "HorizonMetric",
    "HorizonValues",
    "LogLossRegret",
    "Lpips",
    "MotionOnsetError",
    "MeanPsnr",
    "Mse",
    "ObjectPermanence",
    "PredictionLosses",
    "SkillPersistence",
    "SkillPersistenceDynamic",
    "SsimWang2004",
    "TemporalFidelity",
    "TemporalStability",
    "TrackError",
    "TrackMetric",
    "TrackPresence",
    "TrackedEpisode",
    "VisualSimilarity",
    "check_metric",
    "check_track_metric",
    "prediction_losses",
]
