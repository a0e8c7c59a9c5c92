"""A record of decisions shows what was changed, left out or moved in it."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from humanmcp.protocol.conversation.approvals import action_of
from humanmcp.protocol.conversation.decisions import (
    ChainEnd,
    DecisionChain,
    DecisionFlaw,
    DecisionRecord,
    origin_in_words,
    sha256,
    verify_decisions,
)
from humanmcp.protocol.conversation.exchange import APPROVAL, KIND
from tests.support.verdicts import asked

ASKED = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"n":1.0}}'
ANSWERED = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}'


def records(count: int, session: str = "s") -> list[bytes]:
    """Write the records of a session."""
    chain = DecisionChain()
    return [
        chain.add(
            DecisionRecord(
                session, n, "tools/call", ASKED, ANSWERED, "desk", "アンナ", sent_at=str(n)
            )
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


def test_a_changed_byte_is_found_in_each_of_a_thousand_records() -> None:
    """In any place of any record, with no other change beside it: the record is named."""
    lines, chance = records(1_000), random.Random(7)
    assert list(verify_decisions(file_of(lines))) == []
    for first in (0, 1, 2) * 3:
        places = range(first, len(lines), 3)
        changed = list(lines)
        for at in places:
            record = bytearray(lines[at])
            record[chance.randrange(len(record))] ^= 1 << chance.randrange(8)
            assert b"\n" not in record
            changed[at] = bytes(record)
        found = {flaw.line - 1 for flaw in verify_decisions(file_of(changed))}
        assert [at for at in places if not found & {at, at + 1}] == []


def again(lines: list[bytes], change: Callable[[int, dict[str, Any]], None]) -> list[bytes]:
    """Change records and compute every digest anew, as somebody would who knows the format."""
    last, written = "0" * 64, []
    for at, line in enumerate(lines):
        record = json.loads(line)
        change(at, record)
        del record["digest"]
        text = json.dumps({**record, "previous": last}, separators=(",", ":"))[:-1]
        last = sha256(text)
        written.append(f'{text},"digest":"{last}"}}'.encode())
    return written


def _rename(record: dict[str, Any], session: str) -> None:
    record["session"] = session


FIVE, OTHER = records(5), records(3, "other")

MANIPULATED: dict[str, tuple[bytes, str]] = {
    "a record removed": (file_of([*FIVE[:2], *FIVE[3:]]), "left out"),
    "the first record removed": (file_of(FIVE[1:]), "left out"),
    "two records exchanged": (file_of([FIVE[0], FIVE[2], FIVE[1], *FIVE[3:]]), "left out"),
    "all records reversed": (file_of(FIVE[::-1]), "left out"),
    "a record twice": (file_of([*FIVE[:3], *FIVE[2:]]), "moved"),
    "an early record at the end": (file_of([*FIVE, FIVE[1]]), "moved"),
    "the whole chain twice": (file_of([*FIVE, *FIVE]), "twice"),
    "its own first record at the end": (file_of([*FIVE, FIVE[0]]), "twice"),
    "its own first record in the middle": (file_of([*FIVE[:3], FIVE[0], *FIVE[3:]]), "twice"),
    "a shorter chain of the session before": (file_of([*records(2), *FIVE]), "twice"),
    "a word edited": (file_of(FIVE).replace(b'"desk"', b'"disk"', 1), "changed"),
    "a digest edited": (file_of([FIVE[0].replace(b'"digest":"', b'"digest":"0')]), "unreadable"),
    "a record rehashed alone": (
        file_of([FIVE[0], again(FIVE, lambda _, r: r.update(by="x"))[1], *FIVE[2:]]),
        "moved",
    ),
    "the session renamed in one record": (
        file_of(again(FIVE, lambda at, r: _rename(r, "s" if at != 2 else "other"))),
        "other session",
    ),
    "the session renamed from one record on": (
        file_of(again(FIVE, lambda at, r: _rename(r, "s" if at < 2 else "other"))),
        "other session",
    ),
    "numbers left out and everything rehashed": (
        file_of(again(FIVE, lambda at, r: r.update(number=at + 1 if at < 3 else at + 2))),
        "left out",
    ),
    "records of another session in the middle": (
        file_of([*FIVE[:2], *OTHER, *FIVE[2:]]),
        "other session",
    ),
    "a record of another session at the end": (file_of([*FIVE, OTHER[2]]), "other session"),
    "the last line cut": (file_of(FIVE)[:-20], "unended"),
    "the last line feed removed": (file_of(FIVE)[:-1], "unended"),
    "a blank line": (file_of([*FIVE[:2], b"", *FIVE[2:]]), "unreadable"),
    "another text": (b"{}\n", "unreadable"),
    "an empty file": (b"", "empty"),
    "an empty line": (b"\n", "empty"),
    # which only a copy of the end shows
    "the tail removed": (file_of(FIVE[:3]), "too few"),
    "a session renamed, everything rehashed": (
        file_of(again(OTHER, lambda _, r: _rename(r, "s"))),
        "too few",
    ),
    "an answer changed, everything rehashed": (
        file_of(again(FIVE, lambda _, r: r.update(action="deny"))),
        "other end",
    ),
    "a record added and hashed": (file_of(records(6)), "other end"),
}


@pytest.mark.parametrize("what", MANIPULATED)
def test_each_manipulation_is_named(what: str) -> None:
    """With a copy of the number and the last digest beside the file."""
    content, code = MANIPULATED[what]
    end = ChainEnd(5, json.loads(FIVE[-1])["digest"])
    found = [flaw.code for flaw in verify_decisions(content, {"s": end}.get)]
    assert code in found


@pytest.mark.parametrize(
    ("order", "flaw"),
    [
        ((0, 1, 3, 4), DecisionFlaw("left out", 3, 3)),
        ((1, 2, 3, 4), DecisionFlaw("left out", 1, 1)),
        ((0, 2, 1, 3, 4), DecisionFlaw("left out", 2, 2)),
        ((0, 1, 2, 2, 3, 4), DecisionFlaw("moved", 4, 3)),
    ],
)
def test_what_was_left_out_or_moved_has_its_number_and_line(
    order: tuple[int, ...], flaw: DecisionFlaw
) -> None:
    """The line is where it is noticed."""
    assert next(iter(verify_decisions(file_of([FIVE[at] for at in order])))) == flaw


def test_a_file_may_hold_several_sessions() -> None:
    """Each begins with number 1."""
    assert list(verify_decisions(file_of([*FIVE, *OTHER]))) == []


def test_a_chain_goes_on_after_the_records_of_another_process() -> None:
    """As a server does that was begun again."""
    before = records(3)
    chain = DecisionChain()
    chain.go_on(before[-1].decode())
    more = chain.add(DecisionRecord("s", 9, "tools/call", ASKED, ANSWERED, "desk")).encode()
    assert list(verify_decisions(file_of([*before, more]))) == []


def test_a_number_that_no_program_reads_is_named() -> None:
    """Whoever made the file, verifying it ends in a sentence."""
    (line,) = records(1)
    long = line.replace(b'"number":1', b'"number":' + b"1" * 5000)
    assert list(verify_decisions(file_of([long]))) == [DecisionFlaw("unreadable", 1, 1)]


def test_where_a_decision_came_from_is_said_in_words() -> None:
    """A device has its name; a place that is not known is told as it is."""
    assert origin_in_words("desk", "") == "a browser on this computer"
    assert origin_in_words("terminal", "") == "a terminal on this computer"
    assert origin_in_words("desk", "phone") == "the device phone"
    assert origin_in_words("elsewhere", "") == "elsewhere"


TOOLS = {"approve": {"_meta": {KIND: APPROVAL}}, "ask": {"_meta": {KIND: "question"}}}
LS = {"command": "ls -l"}
WHICH = {"questions": [{"question": "Which?"}]}


def said(behavior: object, **more: object) -> dict[str, Any]:
    """Write the result of a tool for approvals."""
    return {"content": [{"type": "text", "text": json.dumps({"behavior": behavior, **more})}]}


def words(text: str) -> dict[str, Any]:
    """Write a result of words."""
    return {"content": [{"type": "text", "text": text}]}


def outcome(status: str) -> dict[str, Any]:
    """Write the result of a tool that asks."""
    return {"content": [], "structuredContent": {"status": status, "answers": {}}}


@pytest.mark.parametrize(
    ("tool", "given", "result", "action", "deliberate"),
    [
        ("approve", LS, said("allow"), "allow", "allow"),
        ("approve", LS, said("allow", updatedInput=LS), "allow", "allow"),
        ("approve", LS, said("allow", updatedInput={"command": "ls"}), "change", "change"),
        ("approve", LS, said("deny", message="no"), "deny", "deny"),
        ("approve", LS, said("ask"), "hand back", "hand back"),
        ("approve", LS, said("perhaps"), "answer", "fault"),
        ("approve", LS, words("yes"), "answer", "fault"),
        ("approve", LS, {"content": []}, "answer", "fault"),
        ("approve", LS, {**said("perhaps"), "isError": True}, "error", "fault"),
        ("approve", WHICH, said("allow"), "answer", "answer"),
        ("approve", WHICH, said("deny"), "deny", "deny"),
        ("ask", LS, outcome("answered"), "answer", "fault"),
        ("ask", LS, outcome("declined"), "decline", "fault"),
        ("ask", LS, outcome("no_answer"), "no answer", "fault"),
        ("ask", LS, words('{"status":"declined"}'), "decline", "fault"),
        ("ask", LS, words('{"status":1,"status":"declined"}'), "answer", "fault"),
        ("ask", LS, said("deny"), "answer", "fault"),
        ("other", LS, outcome("declined"), "answer", "fault"),
        ("other", LS, {"content": [], "isError": True}, "error", "fault"),
        ("other", LS, None, "error", "fault"),
    ],
)
def test_what_a_response_decided_stands_in_its_record(
    tool: str, given: object, result: object, action: str, deliberate: str
) -> None:
    """A response with errors of the check is a fault, unless it decides all the same."""
    arguments: dict[str, Any] = {"question": "Which?"}
    if tool != "ask":
        arguments = {"tool_name": "Bash" if given is LS else "AskUserQuestion", "input": given}
    request = asked("tools/call", {"name": tool, "arguments": arguments})
    part = {"error": {"code": 1, "message": "no"}} if result is None else {"result": result}
    line = json.dumps({"jsonrpc": "2.0", "id": 3, **part})
    assert action_of(request, line, TOOLS) == action
    assert action_of(request, line, TOOLS, deliberate=True) == deliberate
    assert action_of(request, "no JSON", TOOLS) == "fault"


NAMED = DecisionRecord(
    "s", 7, "tools/call", ASKED, ANSWERED, "desk", "Ann", "phone", "w", "deny", "d", "1", "2", "3",
    anyway=True, agent="a",
)  # fmt: skip


def test_a_record_is_one_line_of_json_with_its_digest_at_the_end() -> None:
    """Its members in their order, for whoever reads it with other tools."""
    chain = DecisionChain()
    line = chain.add(NAMED)
    zeros = "0" * 64
    head = (
        f'{{"number":1,"previous":"{zeros}","session":"s","exchange":7,"method":"tools/call",'
        f'"asked":"{sha256(ASKED)}","answered":"{sha256(ANSWERED)}","by":"desk","who":"Ann",'
        '"device":"phone","where":"w","action":"deny","shown":"d","shown_at":"1","sent_at":"2",'
        '"taken_at":"3","anyway":true,"agent":"a"'
    )
    assert line == f'{head},"digest":"{sha256(head)}"}}'
    assert (chain.number, chain.last) == (1, sha256(head))
    second = json.loads(chain.add(NAMED))
    assert (second["number"], second["previous"]) == (2, sha256(head))


def test_a_digest_is_that_of_the_bytes() -> None:
    """Also of half a character."""
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert sha256("") == sha256(b"") == empty
    assert sha256("é") == sha256("é".encode())
    assert sha256("\ud800") == sha256(b"\xed\xa0\x80")


END = ChainEnd(5, json.loads(FIVE[-1])["digest"])


@pytest.mark.parametrize(
    ("content", "end", "flaws"),
    [
        (b"", END, [DecisionFlaw("empty", 1)]),
        (b" \n ", END, [DecisionFlaw("empty", 1)]),
        (file_of(FIVE), END, []),
        (file_of(FIVE), None, []),
        (file_of(FIVE)[:-1], END, [DecisionFlaw("unended", 5)]),
        (file_of([*FIVE, b"x"]), END, [DecisionFlaw("unreadable", 6, 6)]),
        (file_of([b"x", *FIVE]), END, [DecisionFlaw("unreadable", 1, 1)]),
        (
            file_of([*FIVE[:2], b"x", *FIVE[3:]]),
            END,
            [DecisionFlaw("unreadable", 3, 3)],
        ),
        (
            file_of(FIVE).replace(b'"sent_at":"2"', b'"sent_at":"9"'),
            END,
            [DecisionFlaw("changed", 2, 2)],
        ),
        (file_of([*FIVE[:2], *FIVE[3:]]), END, [DecisionFlaw("left out", 3, 3)]),
        (file_of([*FIVE[:3], *FIVE[2:]]), END, [DecisionFlaw("moved", 4, 3)]),
        (file_of([*OTHER, *OTHER]), END, [DecisionFlaw("twice", 4, 1, "other")]),
        (
            file_of([*FIVE[:2], OTHER[1], *FIVE[2:]]),
            END,
            [
                DecisionFlaw("other session", 3, 2, "other"),
                DecisionFlaw("other session", 4, 3, "s"),
            ],
        ),
        (file_of(FIVE[:3]), END, [DecisionFlaw("too few", 3, 5, "s")]),
        (file_of(FIVE), ChainEnd(6, "x"), [DecisionFlaw("too few", 5, 6, "s")]),
        (file_of(FIVE), ChainEnd(5, "x"), [DecisionFlaw("other end", 5, 5, "s")]),
        (file_of(FIVE), ChainEnd(4, "x"), [DecisionFlaw("other end", 5, 4, "s")]),
    ],
    ids=range(17),
)
def test_each_flaw_has_its_line_its_number_and_its_session(
    content: bytes, end: ChainEnd | None, flaws: list[DecisionFlaw]
) -> None:
    """Nothing else is said of the same file."""
    known: dict[str, ChainEnd] = {} if end is None else {"s": end}
    assert list(verify_decisions(content, known.get)) == flaws
    if end is None:
        assert list(verify_decisions(content)) == flaws


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("files", "a text file on this computer"),
        ("allowed", "a pattern that a person allowed for the session"),
        ("", ""),
    ],
)
def test_each_place_of_an_answer_has_its_words(by: str, words: str) -> None:
    """A device comes first."""
    assert origin_in_words(by, "") == words
    assert origin_in_words(by, "d") == "the device d"
