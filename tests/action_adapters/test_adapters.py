"""What actions mean in the picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from wbgpu.action_adapters import ActionAdapter, LinearMap, NamedElements
from wbgpu.errors import ConfigurationError, InputError

CONFIGS = Path(__file__).resolve().parents[2] / "configs/action_adapter"
_ACTIONS = np.arange(12, dtype=np.float32).reshape(4, 3) ** 2
_NAMES = ("dx", "dy", "gripper")


def test_named_elements_scale_two_numbers():
    """x to the right, y downwards, in pixels."""
    motion = NamedElements("dx", "dy", x_pixels=2.0, y_pixels=-0.5).motion(_ACTIONS, _NAMES)
    assert motion.pixels.tolist() == (_ACTIONS[:, :2] * [2, -0.5]).tolist()


def test_places_do_for_datasets_without_names():
    """Many have none."""
    motion = NamedElements(2, 0).motion(_ACTIONS, None)
    assert motion.pixels.tolist() == _ACTIONS[:, [2, 0]].tolist()


def test_targets_move_by_their_differences():
    """PushT's actions are places; the first one's motion is not known."""
    motion = NamedElements("dx", "dy", are_targets=True).motion(_ACTIONS, _NAMES)
    assert np.isnan(motion.pixels[0]).all()
    assert motion.pixels[1:].tolist() == np.diff(_ACTIONS[:, :2], axis=0).tolist()


@pytest.mark.parametrize("delay", [0, 1, 3, 4, 9])
def test_a_delay_moves_motion_to_later_steps(delay):
    """Robots move after they are told to; what came before the first action is not known."""
    motion = LinearMap([0], [[1.0], [0.0]], delay).motion(_ACTIONS, None).pixels
    assert len(motion) == len(_ACTIONS)
    assert np.isnan(motion[:delay]).all()
    assert motion[delay:, 0].tolist() == _ACTIONS[: max(0, 4 - delay), 0].tolist()


def test_a_linear_map_is_a_product():
    """By a loop that anybody can check."""
    matrix = [[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]]
    motion = LinearMap(["dx", "dy", "gripper"], matrix).motion(_ACTIONS, _NAMES)
    for row, action in zip(motion.pixels, _ACTIONS, strict=True):
        for pixels, weights in zip(row, matrix, strict=True):
            assert pixels == pytest.approx(
                sum(w * float(a) for w, a in zip(weights, action, strict=True))
            )


@pytest.mark.parametrize(
    ("elements", "names", "reason"),
    [
        (("dx", "dz"), _NAMES, "'dz' is not among the names of the actions: dx, dy, gripper."),
        (("dx", "dy"), None, "The actions have no names, so 'dx' cannot be found."),
        (("dx", "dy"), ("dx", "dx", "dy"), "'dx' is twice or more among the names"),
        ((0, 3), None, "The actions have 3 number(s), and none at 3."),
    ],
)
def test_actions_without_the_elements_are_unsupported(elements, names, reason):
    """A reason, and not a guess at another column."""
    for adapter in (NamedElements(*elements), LinearMap(elements, np.eye(2))):
        motion = adapter.motion(_ACTIONS, names)
        assert motion.pixels is None
        assert motion.reason.startswith(reason)


def test_malformed_actions_are_refused_by_place():
    """A NaN would make a metric of a whole episode vanish without a word."""
    adapter = NamedElements(0, 1)
    broken = _ACTIONS.copy()
    broken[2, 1] = np.nan
    with pytest.raises(InputError, match=r"actions\[2, 1\] is nan"):
        adapter.motion(broken, None)
    with pytest.raises(InputError, match=r"expected \[N, A\]"):
        adapter.motion(_ACTIONS[0], None)
    with pytest.raises(InputError, match=r"2 name\(s\) for 3 number\(s\)"):
        adapter.motion(_ACTIONS, ("dx", "dy"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NamedElements("dx", "dx"), "elements: .* all different"),
        (lambda: NamedElements(-1, 0), "elements: expected places from 0 on"),
        (lambda: NamedElements(True, 0), "elements: expected names or integers"),
        (lambda: NamedElements(0, 1, x_pixels=0.0), "x_pixels: expected pixels per unit, not 0"),
        (lambda: NamedElements(0, 1, delay_steps=-1), "delay_steps: expected an integer >= 0"),
        (lambda: LinearMap([0, 1], [[1.0, 2.0]]), "matrix: expected 2 rows of 2"),
        (lambda: LinearMap([0], [[np.inf], [0.0]]), "matrix: expected finite numbers"),
    ],
)
def test_declarations_out_of_range_are_refused(make, message):
    """By the name of the argument."""
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_each_setting_is_part_of_the_id():
    """Values under adapters that differ are not compared."""
    adapters = [
        NamedElements("dx", "dy"),
        NamedElements("dx", "dy", x_pixels=2.0),
        NamedElements("dx", "dy", are_targets=True),
        NamedElements("dx", "dy", delay_steps=1),
        LinearMap(["dx", "dy"], np.eye(2)),
        LinearMap(["dx", "dy"], 2 * np.eye(2)),
    ]
    assert all(isinstance(adapter, ActionAdapter) for adapter in adapters)
    assert len({adapter.adapter_id for adapter in adapters}) == len(adapters)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("named_elements", {"x": "dx", "y": "dy"}),
        ("linear_map", {"elements": [0, 1], "matrix": [[1, 0], [0, 1]]}),
        ("linear_fit", {"elements": [0, 1, 2]}),
    ],
)
def test_each_config_makes_its_adapter(name, values):
    """And says that what it cannot know is missing."""
    config = OmegaConf.load(CONFIGS / f"{name}.yaml")
    assert set(values) == OmegaConf.missing_keys(config)
    assert instantiate(config, **values).adapter_id.startswith(f"{name}/wbgpu-1.0(")


def test_there_are_no_other_configs():
    """A config without a test is shipped untried."""
    names = {path.stem for path in CONFIGS.glob("*.yaml")}
    assert names == {"named_elements", "linear_map", "linear_fit"}
