from __future__ import annotations

import pytest

from wbgpu.errors import InputError
from wbgpu.records.image_folder import find_images, has_images, image_clip


def _folder(tmp_path, *names):
    folder = tmp_path / "frames"
    folder.mkdir()
    for name in names:
        (folder / name).write_bytes(b"")
    return folder


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["10.png", "9.png", "11.png"], ["9.png", "10.png", "11.png"]),
        (["f_2.JPG", "f_1.png"], ["f_1.png", "f_2.JPG"]),
        (["cam2_frame_08.png", "cam2_frame_09.png"], ["cam2_frame_08.png", "cam2_frame_09.png"]),
        (["000.png", "001.png", ".hidden.png", "._000.png", "notes.txt"], ["000.png", "001.png"]),
        (["0_rgb.png", "1_rgb.png"], ["0_rgb.png", "1_rgb.png"]),
        (["only.png"], ["only.png"]),
        ([], []),
    ],
)
def test_images_stand_in_the_order_of_their_numbers(tmp_path, names, expected):
    """As text, 10.png comes before 9.png, and a hidden file shifts every pair by one."""
    assert [path.name for path in find_images(_folder(tmp_path, *names))] == expected


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["0.png", "1.png", "3.png"], r"numbered 0 to 3; missing: 2\. Restore"),
        (["0.png", "1.png", "9.png"], r"missing: 2, \.\.\."),
        (["0.png", "2.png", "900000000.png"], r"missing: 1, \.\.\."),
        (["1.png", "01.png"], r"01\.png and 1\.png are both frame 1"),
        (["1.png", "1.jpg"], r"1\.jpg and 1\.png are both frame 1"),
        (["a.png", "b.png"], r"a\.png: the name has no number"),
        (["left_0.png", "right_1.png"], r"left_0\.png and right_1\.png are not of one series"),
    ],
)
def test_what_leaves_the_order_open_is_refused(tmp_path, names, message):
    """Frames would be paired with other frames, and scored."""
    with pytest.raises(InputError, match=message):
        find_images(_folder(tmp_path, *names))


def test_links_that_lead_nowhere_are_refused(tmp_path):
    """Passed over, the frame behind it would be missing without a word."""
    folder = _folder(tmp_path, "0.png")
    (folder / "1.png").symlink_to(tmp_path / "gone.png")
    with pytest.raises(InputError, match=r"1\.png: not a file"):
        find_images(folder)


def test_a_folder_without_images_is_refused(tmp_path):
    """An episode of no frames has no scores."""
    folder = _folder(tmp_path, ".0.png", "notes.txt")
    assert not has_images(folder)
    with pytest.raises(InputError, match="no images"):
        image_clip(folder)
    with pytest.raises(InputError, match="cannot be read"):
        image_clip(tmp_path / "gone")
