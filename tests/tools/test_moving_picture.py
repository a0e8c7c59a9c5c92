"""The moving picture of the README is one, and small."""

import struct
import zlib
from pathlib import Path
from typing import Final

import pytest

from tools import moving_picture
from tools.moving_picture import SIGNATURE, Frame, animation, chunks

IMAGES: Final = Path(__file__).parents[2] / "docs" / "images"
LARGEST: Final = 200_000
"""Bytes: it is the first thing that a visitor loads."""


def picture(height: int) -> bytes:
    """Write a grey picture of one column, in two parts, as a browser does."""
    header = struct.pack(">IIBBBBB", 1, height, 8, 0, 0, 0, 0)
    packed = zlib.compress(b"\0\x80" * height)
    parts = ((b"IHDR", header), (b"IDAT", packed[:4]), (b"IDAT", packed[4:]), (b"IEND", b""))
    return SIGNATURE + b"".join(
        struct.pack(">I", len(content)) + kind + content + b"\0\0\0\0" for kind, content in parts
    )


def test_pictures_become_one_that_moves() -> None:
    """Numbered without a gap, each with its place, its time and all of its pixels."""
    found = list(chunks(animation([Frame(picture(3), 0, 700), Frame(picture(2), 1, 900)])))
    assert [kind for kind, _ in found] == [
        *(b"IHDR", b"acTL", b"fcTL", b"IDAT", b"fcTL", b"fdAT", b"IEND")
    ]
    numbers = [struct.unpack(">I", one[:4])[0] for kind, one in found if kind in (b"fcTL", b"fdAT")]
    assert numbers == [0, 1, 2]
    width, height, _left, top, lasts = struct.unpack(">4x4IH", found[4][1][:22])
    assert (width, height, top, lasts) == (1, 2, 1, 900)
    assert zlib.decompress(found[5][1][4:]) == b"\0\x80" * 2


@pytest.mark.parametrize("name", moving_picture.LANGUAGES)
def test_the_picture_of_the_readme_moves_and_is_small(name: str) -> None:
    """`make screenshots` takes it; who changes the page copies it to docs/images."""
    png = (IMAGES / f"{name}.png").read_bytes()
    assert len(png) < LARGEST
    assert sum(kind == b"fcTL" for kind, _ in chunks(png)) == 5
