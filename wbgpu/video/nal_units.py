"""Holes in H.264 and HEVC streams, found without decoding.

Inside a NAL unit no three bytes ``00 00 00``, ``00 00 01`` or ``00 00 02`` can follow each other
(ITU-T H.264, 7.4.1; H.265, 7.4.2: the encoder puts a 3 in between). What a broken download, a full
disk or a lost block leaves is a run of zeros, which a decoder would fill with invented pixels.
"""

from __future__ import annotations

from collections.abc import Iterator

_FORBIDDEN = (b"\0\0\0", b"\0\0\1", b"\0\0\2")


def nal_length_bytes(codec: str, extradata: bytes | None) -> int | None:
    """How many bytes hold the length of each NAL unit, as mp4 and Matroska store them.

    Returns:
        ``None`` for other codecs, and for streams with start codes, where zeros may stand between
        the units.
    """
    # avcC (ISO/IEC 14496-15, 5.3.3) and hvcC (8.3.3) begin with version 1, start codes with zeros.
    position = {"h264": 4, "hevc": 21}.get(codec)
    if position is None or not extradata or len(extradata) <= position or extradata[0] != 1:
        return None
    return (extradata[position] & 3) + 1


def has_hole(packet: bytes, codec: str, length_bytes: int) -> bool:
    """Whether a packet of NAL units has bytes that no encoder writes, or ends inside a unit.

    Only the units of pictures are looked at: FFmpeg passes over others, and some programs write
    them wrong.
    """
    if packet.startswith(b"\0\0\0\1"):
        return False  # start codes, where the file promised lengths; FFmpeg takes them
    try:
        # Zeros at the end of a unit are filling that some programs put there.
        return any(
            forbidden in unit.rstrip(b"\0")
            for unit in _units(packet, length_bytes)
            if _is_of_a_picture(unit, codec)
            for forbidden in _FORBIDDEN
        )
    except ValueError:
        return True


def _is_of_a_picture(unit: bytes, codec: str) -> bool:
    # Types 1 to 5 (H.264, table 7-1) and under 32 (H.265, table 7-1). A header of zeros is lost.
    if codec == "hevc":
        return (unit[0] >> 1) & 63 < 32
    return 1 <= unit[0] & 31 <= 5 or unit[0] == 0


def _units(packet: bytes, length_bytes: int) -> Iterator[bytes]:
    start = 0
    while len(packet) - start > length_bytes:  # as FFmpeg, which passes over a shorter rest
        end = start + length_bytes + int.from_bytes(packet[start : start + length_bytes], "big")
        if end > len(packet) or end == start + length_bytes:
            raise ValueError(f"a unit of {end - start} bytes in {len(packet) - start}")
        yield packet[start + length_bytes : end]
        start = end
