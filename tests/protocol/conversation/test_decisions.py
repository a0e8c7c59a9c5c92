"""A record of decisions shows what was changed, left out or moved in it."""

import json
import random

import pytest

from humanmcp.protocol.conversation.transcript import (
    Decision,
    DecisionChain,
    DecisionFlaw,
    sha256,
    verify_decisions,
)

ASKED = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"n":1.0}}'
ANSWERED = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}'


def records(count: int) -> list[bytes]:
    """Write the records of a session."""
    chain = DecisionChain()
    return [
        chain.add(
            Decision("s", n, "tools/call", ASKED, ANSWERED, "desk", "アンナ", sent_at=str(n))
        ).encode()
        for n in range(1, count + 1)
    ]


def file_of(lines: list[bytes]) -> bytes:
    """Put records into a file."""
    return b"".join(line + b"\n" for line in lines)


def test_a_record_has_the_digests_of_the_exact_bytes() -> None:
    """And no word of the messages."""
    (line,) = records(1)
    record = json.loads(line)
    assert record["asked"] == sha256(ASKED)
    assert record["answered"] == sha256(ANSWERED)
    assert record["who"] == "アンナ"
    assert record["digest"] == sha256(line.partition(b',"digest":')[0])
    assert "tools/call" not in record["asked"]


def test_an_approval_of_one_call_is_none_of_another() -> None:
    """They differ in a byte of an argument: so do their digests."""
    other = ASKED.replace("1.0", "1.1")
    assert sha256(ASKED) != sha256(other)


def test_every_changed_byte_is_found() -> None:
    """In any place of a file, to any other value."""
    whole = file_of(records(12))
    assert list(verify_decisions(whole)) == []
    chance = random.Random(7)
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1 << chance.randrange(8)
        assert list(verify_decisions(bytes(changed))), at


def test_a_changed_byte_is_found_in_each_of_ten_thousand_records() -> None:
    """In any place of any record, with no other change beside it: the record is named."""
    lines, chance = records(10_000), random.Random(7)
    assert list(verify_decisions(file_of(lines))) == []
    for first in (0, 1, 2) * 10:
        places = range(first, len(lines), 3)
        changed = list(lines)
        for at in places:
            record = bytearray(lines[at])
            record[chance.randrange(len(record))] ^= 1 << chance.randrange(8)
            assert b"\n" not in record
            changed[at] = bytes(record)
        found = {flaw.line - 1 for flaw in verify_decisions(file_of(changed))}
        assert [at for at in places if not found & {at, at + 1}] == []


@pytest.mark.parametrize(
    ("order", "flaw"),
    [
        ((0, 1, 3, 4), DecisionFlaw("left out", 3, 3)),
        ((1, 2, 3, 4), DecisionFlaw("left out", 1, 1)),
        ((0, 2, 1, 3, 4), DecisionFlaw("left out", 2, 2)),
        ((0, 1, 2, 2, 3, 4), DecisionFlaw("moved", 4, 3)),
    ],
)
def test_what_was_left_out_or_moved_is_named(order: tuple[int, ...], flaw: DecisionFlaw) -> None:
    """By its number, and the line where it is noticed."""
    lines = records(5)
    assert next(iter(verify_decisions(file_of([lines[at] for at in order])))) == flaw


def test_records_that_are_missing_at_the_end_are_told_by_their_number_and_the_last_digest() -> None:
    """No chain shows where it once ended: its number and its last digest are kept elsewhere."""
    chain, lines = DecisionChain(), records(5)
    for line in lines:
        chain.go_on(line.decode())
    assert list(verify_decisions(file_of(lines[:3]))) == []
    last = json.loads(lines[2])
    assert (last["number"], last["digest"]) != (chain.number, chain.last)


def test_a_file_may_hold_several_sessions_and_must_end() -> None:
    """Each begins with number 1; a torn last line is told."""
    assert list(verify_decisions(file_of(records(3) + records(2)))) == []
    assert next(iter(verify_decisions(file_of(records(3))[:-1]))).code == "unended"
    assert next(iter(verify_decisions(b"{}\n"))).code == "unreadable"


def test_a_chain_goes_on_after_the_records_of_another_process() -> None:
    """As a server does that was begun again."""
    before = records(3)
    chain = DecisionChain()
    chain.go_on(before[-1].decode())
    more = chain.add(Decision("s", 9, "tools/call", ASKED, ANSWERED, "desk")).encode()
    assert list(verify_decisions(file_of([*before, more]))) == []
