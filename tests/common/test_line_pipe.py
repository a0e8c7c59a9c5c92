"""Lines out of a stream: nothing is lost, however it was cut into pieces and however long it is."""

import itertools
import os
import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from humanmcp.common.line_pipe import FIRST, Cut, Cutter, lines


@given(content=st.binary(max_size=300), cuts=st.lists(st.integers(0, 300)))
def test_where_the_pieces_are_cut_does_not_matter(content: bytes, cuts: list[int]) -> None:
    """Any bytes, in any pieces: joined with their ends the lines are the stream."""
    edges = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    cutter = Cutter()
    got = [
        cut for start, end in itertools.pairwise(edges) for cut in cutter.feed(content[start:end])
    ]
    got += cutter.end()
    *ended, rest = content.split(b"\n")
    whole = [Cut(line, ended=True, size=len(line)) for line in ended]
    assert got == whole + [Cut(rest, ended=False, size=len(rest))] * bool(rest)


@given(content=st.binary(max_size=200), longest=st.integers(0, 40), size=st.integers(1, 50))
def test_a_long_line_hides_none_of_its_neighbours(content: bytes, longest: int, size: int) -> None:
    """Whatever is too long stands in the place of exactly one line."""
    cutter = Cutter(longest)
    got = [
        cut
        for start in range(0, len(content), size)
        for cut in cutter.feed(content[start : start + size])
    ]
    got += cutter.end()
    lines = content.split(b"\n")
    assert [cut.line for cut in got] == lines[: len(got)]
    assert [cut.whole for cut in got] == [len(line) <= longest for line in lines[: len(got)]]
    assert lines[len(got) :] in ([], [b""])


def test_a_line_that_is_too_long_is_counted_not_kept() -> None:
    """Both its ends are kept, and the next line is whole again."""
    cutter = Cutter(longest=5000)
    cuts = [*cutter.feed(b"a" * 4000), *cutter.feed(b"b" * 4000), *cutter.feed(b"\nb\n")]
    first, last = b"a" * 4000 + b"b" * 96, b"a" * 96 + b"b" * 4000
    assert len(first) == len(last) == FIRST
    assert cuts == [
        Cut(first, ended=True, size=8000, last=last),
        Cut(b"b", ended=True, size=1),
    ]
    assert [cut.whole for cut in cuts] == [False, True]
    assert cuts[0].note == "8000 bytes: too long to keep"


def test_a_line_of_white_space_is_blank() -> None:
    """So is one with nothing in it; one with a character is none."""
    cuts = [*Cutter().feed(b"\n \t\r\n.\n")]
    assert [cut.blank for cut in cuts] == [True, True, False]


def test_a_line_in_tiny_pieces_takes_linear_time() -> None:
    """Twice the pieces take about twice the time, not four times."""

    def seconds(pieces: int) -> float:
        cutter = Cutter()
        start = time.process_time()
        for _ in range(pieces):
            for _line in cutter.feed(b"x" * 64):
                raise AssertionError
        assert [cut.line for cut in cutter.end()] == [b"x" * (64 * pieces)]
        return time.process_time() - start

    assert seconds(200_000) < 12 * seconds(50_000)


def lines_of(content: bytes, longest: int) -> list[bytes]:
    """Read what another thread writes into a pipe."""
    source, sink = os.pipe()

    def write() -> None:
        with os.fdopen(sink, "wb") as stream:
            stream.write(content)

    threading.Thread(target=write).start()
    try:
        return [cut.line for cut in lines(source, longest)]
    finally:
        os.close(source)


def test_lines_of_a_descriptor_end_at_line_feeds_only() -> None:
    """U+2028 and a lone carriage return may stand in a JSON text; blank lines are no lines."""
    assert lines_of("a\u2028b\rc\n\n \nd".encode(), 100) == ["a\u2028b\rc".encode(), b"d"]
