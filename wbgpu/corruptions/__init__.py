"""Faults that a world model could have, put into good videos: frames to frames, on their device."""

from wbgpu.corruptions.action_mismatch import ActionMismatch
from wbgpu.corruptions.blur import Blur
from wbgpu.corruptions.brightness_drift import BrightnessDrift
from wbgpu.corruptions.check_corruption import check_corruption
from wbgpu.corruptions.colour_shift import ColourShift
from wbgpu.corruptions.corrupted_video import CorruptedVideo, corrupt
from wbgpu.corruptions.corruption import Corruption, Rollout
from wbgpu.corruptions.flicker import Flicker
from wbgpu.corruptions.freeze import Freeze
from wbgpu.corruptions.noise import Noise
from wbgpu.corruptions.object_erase import ObjectErase
from wbgpu.corruptions.premature_motion import PrematureMotion
from wbgpu.corruptions.scramble import Scramble
from wbgpu.corruptions.stutter import Stutter
from wbgpu.corruptions.time_shift import TimeShift

__all__ = [
    "ActionMismatch",
    "Blur",
    "BrightnessDrift",
    "ColourShift",
    "CorruptedVideo",
    "Corruption",
    "Flicker",
    "Freeze",
    "Noise",
    "ObjectErase",
    "PrematureMotion",
    "Rollout",
    "Scramble",
    "Stutter",
    "TimeShift",
    "check_corruption",
    "corrupt",
]
