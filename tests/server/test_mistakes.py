"""Every mistake, typed into `out.txt`: the wire, and what problems.txt says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.support.serve_process import Serving
from tests.support.waiting import until

CALL: Final = '"tools/call","params":{"name":"dice","arguments":{"location":"東京"}}'
LIST: Final = '"tools/list","params":{}'
PING: Final = '"ping"'
OPEN: Final = (
    '"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},'
    '"clientInfo":{"name":"test","version":"1"}}'
)
GOOD: Final = {
    CALL: '{"content":[{"type":"text","text":"sunny"}]}',
    LIST: '{"tools":[{"name":"dice","inputSchema":{"type":"object"}}]}',
    PING: "{}",
    OPEN: '{"protocolVersion":"2024-11-05","capabilities":{},'
    '"serverInfo":{"name":"s","version":"1"}}',
}
SERVER: Final = '"serverInfo":{"name":"humanmcp","version":"1.0.0"}'
SUNNY: Final = '"result":{"content":[{"type":"text","text":"sunny"}]}'


class Row(NamedTuple):
    """A mistake. `@` in the typed text is the id of the request; `said` is part of the report."""

    name: str
    request: str
    typed: str
    said: str
    fixed: bool = True


def reply(rest: str) -> str:
    """Write an answer around its result or error."""
    return f'{{"jsonrpc":"2.0","id":@,{rest}}}'


FULL_WIDTH: Final = '｛"jsonrpc"：　"2.0"，"id":@，"result"：｛"content"：［］｝｝'  # noqa: RUF001 - the row

ROWS: Final = (
    Row("E01", OPEN, reply(f'"result":{{"protocolVersion":"2024-11-05",{SERVER}}}'),
        '"capabilities" is missing'),
    Row("E02", CALL, f'{{"jsonrpc":"2.0","id":999999,{SUNNY}}}', "Waiting: @"),
    Row("E04", LIST, reply('"result":{"tools":[{"name":"dice","input_schema":{"type":"object"}}]}'),
        '"input_schema" is there instead'),
    Row("E05 a number", CALL, reply('"result":{"content":4}'), "content must be an array"),
    Row("E05 a text", CALL, reply('"result":{"content":"4"}'), "content must be an array"),
    Row("E06 pong", PING, reply('"result":"pong"'), "result must be an object"),
    Row("E06 sunny", CALL, reply('"result":"sunny"'), "result must be an object"),
    Row("E06 null", CALL, reply('"result":null'), "result must be an object",
        fixed=False),
    Row("E07", CALL, reply('"result":{"text":"sunny"}'), "result.content[0].text"),
    Row("E09 missing", CALL, f'{{"id":@,"x":1,{SUNNY}}}', '"jsonrpc": "2.0" is missing'),
    Row("E09 a number", CALL, f'{{"jsonrpc":2.0,"id":@,{SUNNY}}}', '"jsonrpc": "2.0" is missing'),
    Row("E10", CALL, reply(f'{SUNNY},"error":{{"code":1,"message":"x"}}'), "not both",
        fixed=False),
    Row("E11 a text", CALL, reply('"error":"boom"'), "error must be an object"),
    Row("E11 no message", CALL, reply('"error":{"code":-32602}'), "error.message is missing",
        fixed=False),  # what an error says, nobody but a person knows
    Row("E12", CALL, reply('"error":{"code":"-32602","message":"x"}'), "code must be an integer"),
    Row("E13", CALL, reply(f'{SUNNY},"note":1'), '"note" is not allowed at the top level'),
    Row("E18 trailing comma", CALL, reply(f"{SUNNY},"), "comma is extra"),
    Row("E18 comment", CALL, reply(f"{SUNNY} /* rain later */"), "no comments"),
    Row("E18 single quotes", CALL, reply("'result':{'content':[]}"), "not a quotation mark"),
    Row("E18 unquoted keys", CALL, "{jsonrpc: '2.0'; id: @; result: {content: []}}",
        "double quotes"),
    Row("E18 curly quotes", CALL, reply("“result”:{“content”:[]}"), "Smart quotes"),
    Row("E18 full-width", CALL, FULL_WIDTH, "full-width"),
    Row("E18 cmd.exe", CALL, f"'{reply(SUNNY)}'", "quotes around the whole answer"),
    Row("E19 no type", CALL, reply('"result":{"content":[{"text":"sunny"}]}'), '"type"'),
    Row("E19 txt", CALL, reply('"result":{"content":[{"type":"txt","text":"x"}]}'),
        'The type "txt" does not exist'),
    Row("E20", LIST, reply('"result":{"tools":{"name":"dice","inputSchema":{"type":"object"}}}'),
        "tools must be an array"),
    Row("E21", CALL, f"[{reply(SUNNY)}]", "a batch"),
    Row("E22", OPEN, reply(f'"result":{{"protocolVersion":"1.0","capabilities":{{}},{SERVER}}}'),
        "protocolVersion must be one of"),
    Row("E24", CALL, f'{{"jsonrpc":"2.0","id":null,{SUNNY}}}', "not as null"),
    Row("E25 duplicate keys", CALL, reply(f'{SUNNY},"result":{{}}'), "appears twice", fixed=False),
    Row("E25 NaN", CALL, reply('"result":{"content":[],"structuredContent":{"a":NaN}}'),
        "NaN is not a JSON number"),
    Row("E25 true", CALL, f'{{"jsonrpc":"2.0","id":true,{SUNNY}}}', "not as true"),
    Row("E25 3.0", CALL, f'{{"jsonrpc":"2.0","id":@.0,{SUNNY}}}', "@.0"),
    Row("W06", CALL, f'{{"jsonrpc":"2.0","id":"@",{SUNNY}}}', "a number are different"),
    Row("C11 smart quotes", CALL, f"{{“id”:@,{SUNNY},“jsonrpc”:“2.0”}}", "Smart quotes"),
    Row("C11 no-break space", CALL, reply(f"\u00a0{SUNNY}"), "invisible character"),
    Row("prose", CALL, "It is sunny in Tokyo.", "plain text, not JSON"),
)  # fmt: skip

NOTICED: Final = (
    Row("W01", OPEN,
        reply('"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":'
              '{"name":"humanmcp","version":"1","capabilities":{"resources":{},"tools":{}}}}'),
        "Put capabilities next to serverInfo"),
    Row("W02", OPEN,
        reply('"result":{"protocolVersion":"2024-11-05","capabilities":{"completion":{}},'
              f"{SERVER}}}"),
        "completion"),
    Row("W03", CALL, reply('"error":{"code":-32602,"message":"遠い。自分で調べて"}'),
        "the model may not see it"),
    Row("W04", OPEN,
        reply(f'"result":{{"protocolVersion":"2025-03-26","capabilities":{{}},{SERVER}}}'),
        "this answers 2025-03-26"),
    Row("W05", OPEN,
        reply('"result":{"protocolVersion":"2024-11-05","capabilities":{},'
              '"serverInfo":{"name":"MCP Client","version":"1"}}'), "this is the server"),
    Row("W07", LIST, reply('"result":{"tools":[]}'), 'declare the capability "tools"'),
)  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Start one server for all rows: a process for each would take a minute."""
    home: Path = tmp_path_factory.mktemp("mistakes") / "inbox"
    with Serving(home, "--by-hand", "--lang=en") as server:
        yield server
        assert server.close() == (0, [])


class _Ids:
    """Ids that no row has used yet."""

    last = 100


def ask(server: Serving, row: Row) -> str:
    """Let the request of a row arrive. Returns its id."""
    _Ids.last += 1
    server.say(f'{{"jsonrpc":"2.0","id":{_Ids.last},"method":{row.request}}}')
    return str(_Ids.last)


def told(server: Serving, part: str) -> str:
    """Wait until problems.txt says something; return all of it."""

    def says() -> str | None:
        said = server.complaint()
        return said if part in said else None

    return until(says, f"{part!r} in problems.txt")


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_mistake_is_kept_explained_and_fixed(shared: Serving, row: Row) -> None:
    """By files: no stdout, the text stays, and the fixed one is sent."""
    number = ask(shared, row)
    typed = row.typed.replace("@", number)
    shared.type(typed)
    said = told(shared, row.said.replace("@", number))
    assert said.startswith("Not sent.")
    assert shared.session.joinpath("out.txt").read_text(encoding="utf-8") == typed
    good = f'{{"jsonrpc":"2.0","id":{number},"result":{GOOD[row.request]}}}'
    right = fixed_in(said) if row.fixed else good
    assert bool(fixed_in(said)) == row.fixed
    shared.type(right)
    heard = shared.hear()
    assert json.loads(heard) == json.loads(right)
    assert "\n" not in heard
    until(shared.taken, "the text to be taken")


@pytest.mark.parametrize("behind", [";", ",", "}", " // done", " # done\n", " /* a\nb */ ;"])
def test_what_follows_a_right_answer_is_left_out_and_said(shared: Serving, behind: str) -> None:
    """The answer went out, and problems.txt said "Not sent"."""
    number = ask(shared, Row("", CALL, "", ""))
    typed = reply(SUNNY).replace("@", number)
    shared.type(typed + behind)
    assert shared.hear() == typed
    said = told(shared, "did not send")
    assert said.startswith("Sent.")
    assert "Not sent" not in said
    until(shared.taken, "the text to be taken")


def fixed_in(said: str) -> str:
    """Cut out the text that problems.txt offers to be copied."""
    _before, found, rest = said.partition("his would be right:")
    return rest.partition("\nSee ")[0].strip() if found else ""


@pytest.mark.parametrize("row", NOTICED, ids=[row.name for row in NOTICED])
def test_what_is_allowed_and_odd_is_sent_and_pointed_out(shared: Serving, row: Row) -> None:
    """By files: byte for byte on the wire, and a remark afterwards."""
    if row.name == "W07":  # nothing was offered before
        shared.say(f'{{"jsonrpc":"2.0","id":"again","method":{OPEN}}}')
        shared.type(f'{{"jsonrpc":"2.0","id":"again","result":{GOOD[OPEN]}}}')
        shared.hear()
    number = ask(shared, row)
    typed = row.typed.replace("@", number)
    shared.type(typed)
    assert shared.hear() == typed
    assert told(shared, row.said).startswith("Sent.")


def test_all_is_well_again_after_a_good_answer(shared: Serving) -> None:
    """Problems.txt is empty when there is nothing to say."""
    number = ask(shared, Row("", PING, "", ""))
    shared.type("oops")
    told(shared, "plain text")
    good = f'{{"jsonrpc":"2.0","id":{number},"result":{{}}}}'
    shared.type(good)
    assert shared.hear() == good
    until(lambda: not shared.complaint(), "an empty problems.txt")


def test_an_answer_to_a_notification_is_refused(shared: Serving) -> None:
    """Nobody waits for it."""
    shared.say('{"method":"notifications/initialized","jsonrpc":"2.0"}')
    shared.type('{"jsonrpc":"2.0","result":{}}')
    assert "A notification needs no answer" in told(shared, "Not sent")
    shared.type("")
    until(lambda: not shared.complaint(), "an empty problems.txt")
