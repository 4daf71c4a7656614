from __future__ import annotations

from tests.corruptions.videos import textured_video
from wbgpu.corruptions import BrightnessDrift, corrupt


def test_brightness_rises_steadily_to_its_end():
    """Metrics of neighbouring frames see nothing of so slow a drift."""
    video = textured_video(22).clamp(max=200)
    result = corrupt(video, BrightnessDrift(max_levels=40), 0.5, num_context=2)
    change = (result.int() - video.int()).flatten(1)
    assert change.amin(dim=1).tolist() == change.amax(dim=1).tolist() == [0, 0, *range(1, 21)]


def test_levels_are_cut_off_at_white():
    assert corrupt(textured_video(3), BrightnessDrift(max_levels=200), 1.0).max() == 255
