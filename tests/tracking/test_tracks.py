"""The boundary type of all trackers."""

from __future__ import annotations

import pytest
import torch

from wbgpu.tracking import Tracks

_NAN = float("nan")


def _tracks(**changes):
    columns = {
        "names": ("robot", "object"),
        "position": torch.tensor([[[1.0, 2.0], [_NAN, _NAN]], [[3.0, 4.0], [5.0, 6.0]]]).double(),
        "area": torch.tensor([[9.0, 0.0], [9.0, 4.0]]).double(),
        "confidence": torch.tensor([[1.0, 0.0], [0.5, 1.0]]).double(),
    }
    return Tracks(**{**columns, **changes})


def test_parts_join_to_the_whole():
    """An episode comes in windows."""
    whole = _tracks()
    joined = Tracks.cat([whole[:1], whole[1:]])
    assert torch.equal(joined.position.nan_to_num(-1), whole.position.nan_to_num(-1))
    assert torch.equal(joined.area, whole.area)
    assert torch.equal(joined.confidence, whole.confidence)
    assert len(whole) == 2
    assert whole.seen.tolist() == [[True, False], [True, True]]


def test_one_role_can_be_picked_out():
    """By name, because trackers order their roles as they like."""
    own = _tracks().of("object")
    assert own.names == ("object",)
    assert own.position[1].tolist() == [[5.0, 6.0]]
    with pytest.raises(ValueError, match=r"no role 'cup' .* they have: robot, object"):
        _tracks().of("cup")


def test_unseen_tracks_show_nothing():
    """What a tracker returns of a scene without its things."""
    assert not Tracks.unseen(("robot",), 3).seen.any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("robot", "robot")}, "names: expected different roles"),
        ({"names": ("robot",)}, r"position \(2, 2, 2\): expected \(2, 1, 2\)"),
        ({"area": torch.zeros(3, 2).double()}, r"area \(3, 2\): expected \(2, 2\)"),
        ({"area": torch.full((2, 2), -1.0).double()}, "area: expected finite numbers"),
        ({"area": torch.ones(2, 2).double()}, "area: expected 0 where position is NaN"),
        ({"confidence": torch.full((2, 2), 1.5).double()}, "confidence: expected numbers from 0"),
        ({"confidence": torch.full((2, 2), _NAN).double()}, "confidence: expected numbers from 0"),
        ({"position": torch.full((2, 2, 2), torch.inf).double()}, "position: expected finite"),
    ],
)
def test_columns_that_contradict_each_other_are_refused(changes, message):
    """A tracker's slip must not become a metric's value."""
    with pytest.raises(ValueError, match=message):
        _tracks(**changes)


def test_half_a_position_is_refused():
    """x without y is no place."""
    position = _tracks().position.clone()
    position[0, 0, 0] = _NAN
    with pytest.raises(ValueError, match="expected both of x and y to be NaN"):
        _tracks(position=position)


def test_other_precisions_are_refused():
    """float32 positions would make results depend on where they were computed."""
    with pytest.raises(TypeError, match="area: expected float64"):
        _tracks(area=torch.zeros(2, 2))


def test_parts_of_other_roles_or_none_do_not_join():
    """They are not of one tracker."""
    whole = _tracks()
    with pytest.raises(ValueError, match="the same roles in all"):
        Tracks.cat([whole, whole.of("robot")])
    with pytest.raises(ValueError, match="at least one"):
        Tracks.cat([])
