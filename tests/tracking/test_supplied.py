"""Tracks that somebody else made."""

from __future__ import annotations

import json

import pytest
import torch

from wbgpu.errors import InputError
from wbgpu.tracking import SuppliedFolder, SuppliedTracks, Tracks, read_tracks, write_tracks

_GOOD = {
    "names": ["robot", "object"],
    "position": [[[1, 2.5], None], [[3, 4], [5, 6]], [None, [7, 8]]],
    "area": [[9, 0], [9, 4], [0, 4]],
    "confidence": [[1, 0], [0.5, 1], [0, 0.25]],
}


def _written(folder, **changes):
    path = folder / "tracks.json"
    path.write_text(json.dumps({**_GOOD, **changes}))
    return path


def test_the_session_hands_out_rows_in_order(tmp_path):
    """However the video is cut."""
    tracks = read_tracks(_written(tmp_path))
    session = SuppliedTracks(tracks).start()
    frames = torch.zeros((3, 3, 4, 4), dtype=torch.uint8)
    parts = [session.track(frames[:1]), session.track(frames[1:])]
    joined = Tracks.cat(parts)
    assert torch.equal(joined.position.nan_to_num(-1), tracks.position.nan_to_num(-1))
    with pytest.raises(ValueError, match=r"has frame 3, but tracks were supplied for 3"):
        session.track(frames[:1])


def test_written_tracks_are_read_again(tmp_path):
    """Every bit of them."""
    tracks = read_tracks(_written(tmp_path))
    position = torch.where(tracks.seen[..., None], tracks.position / 3, tracks.position)
    thirds = Tracks(tracks.names, position, tracks.area / 3, tracks.confidence / 3)
    write_tracks(tmp_path / "again.json", thirds)
    again = read_tracks(tmp_path / "again.json")
    for column in ("position", "area", "confidence"):
        assert torch.equal(
            getattr(again, column).nan_to_num(-1), getattr(thirds, column).nan_to_num(-1)
        )


def test_area_and_confidence_may_be_unknown(tmp_path):
    """A point tracker has no area."""
    path = tmp_path / "tracks.json"
    path.write_text(json.dumps({key: _GOOD[key] for key in ("names", "position")}))
    tracks = read_tracks(path)
    assert tracks.area.sum() == 0
    assert tracks.confidence.tolist() == [[1, 0], [1, 1], [0, 1]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": []}, r"\$\.names: expected one or more roles"),
        ({"names": ["a", "a"]}, r"\$\.names: expected one or more roles, all different"),
        ({"position": [[[1, 2]]]}, r"\$\.position\[0\]: expected an entry for each of the 2"),
        ({"position": [[[1, 2, 3], None]]}, r"\$\.position\[0\]\[0\]: expected \[x, y\] or null"),
        ({"position": [[["1", 2], None]]}, r"\$\.position\[0\]\[0\]\[0\]: expected a number"),
        ({"area": [[1, 0]]}, r"\$\.area: expected 3 rows, as position has, got 1"),
        ({"area": [[-1, 0], [9, 4], [0, 4]]}, r"\$\.area\[0\]\[0\]: expected a number from 0"),
        ({"area": [[1, 3], [9, 4], [0, 4]]}, r"\$\.area\[0\]\[1\]: expected 0 where position"),
        (
            {"confidence": [[1, 0], [2, 1], [0, 1]]},
            r"\$\.confidence\[1\]\[0\]: expected a number from 0 to 1, got 2",
        ),
    ],
)
def test_malformed_files_are_refused_by_place(tmp_path, changes, message):
    """Somebody has to find the value in a file of thousands."""
    with pytest.raises(InputError, match=rf"tracks\.json: {message}"):
        read_tracks(_written(tmp_path, **changes))


def test_a_folder_has_tracks_by_episode_and_side(tmp_path):
    """Roles in the order asked for, from the frame that is scored first."""
    folder = tmp_path / "target" / "a"
    folder.mkdir(parents=True)
    _written(folder).rename(folder / "b.json")
    supplied = SuppliedFolder(tmp_path, names=("object", "robot"), tracker_id="sam2/1")
    tracker = supplied.for_episode("a/b.mp4", "target", first_frame=1)
    tracks = tracker.start().track(torch.zeros((2, 3, 4, 4), dtype=torch.uint8))
    assert (tracker.tracker_id, tracks.names) == ("sam2/1", ("object", "robot"))
    assert tracks.position[0].tolist() == [[5, 6], [3, 4]]
    with pytest.raises(InputError, match=r"prediction/a/b.json: the file does not exist"):
        supplied.for_episode("a/b.mp4", "prediction", 0)
    with pytest.raises(InputError, match="expected tracks of frame 3 and later"):
        supplied.for_episode("a/b.mp4", "target", 3)
    with pytest.raises(InputError, match=r"\['cup'\] missing"):
        SuppliedFolder(tmp_path, names=("cup",)).for_episode("a/b.mp4", "target", 0)
