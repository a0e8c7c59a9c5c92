"""Every mistake in a result: named, placed, fixed."""
# ruff: noqa: E501 - the texts that people type stand as they are

import json
from typing import Any, Final, NamedTuple

import pytest

from humanmcp import locales
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.diagnostics.kinds import KINDS
from humanmcp.protocol.diagnostics.model import Severity, TextForm
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.validation.check import check_outgoing, remarks, start
from tests.support.verdicts import (
    R2024,
    R2025,
    R2026,
    asked,
    check,
    codes,
    serious,
    stating,
    with_first_fix,
)

ERROR, WARNING, HINT = Severity.ERROR, Severity.WARNING, Severity.HINT

CALL, TOOLS, READ, OPEN = "tools/call", "tools/list", "resources/read", "initialize"
PIXEL: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9aw"
    "AAAABJRU5ErkJggg=="
)
SERVER: Final = '"serverInfo":{"name":"a","version":"1"}'
OPENED: Final = f'"protocolVersion":"2025-11-25","capabilities":{{}},{SERVER}'
DONE: Final = '"resultType":"complete"'
KEPT: Final = '"ttlMs":0,"cacheScope":"private"'
DATA_URL: Final = f"data:image/png;base64,{PIXEL}"


class Row(NamedTuple):
    """One mistake: what was typed as the result of a method, and the one problem it is.

    `fix` says whether there is a fix; it then must leave nothing serious behind.
    """

    number: str
    method: str
    text: str
    code: str
    pointer: str
    severity: Severity = ERROR
    fix: bool = True
    version: str = R2025


def tool(**members: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a list of one tool."""
    whole = {"name": "a", "inputSchema": {"type": "object"}} | members
    return json.dumps({"tools": [{k: v for k, v in whole.items() if v != "absent"}]})


ROWS: Final = (
    Row("01", CALL, "{}", "M09", "/result"),
    Row("02", CALL, '{"content":"hi"}', "M01", "/result/content"),
    Row("03", CALL, '{"content":{"type":"text","text":"a"}}', "M01", "/result/content"),
    Row("04", CALL, '{"content":["a"]}', "M16", "/result/content/0"),
    Row("05", CALL, '{"content":[{"text":"a"}]}', "M26", "/result/content/0"),
    Row("06", CALL, '{"content":[{"type":"txt","text":"a"}]}', "M02", "/result/content/0/type"),
    Row("07", CALL, '{"content":[{"type":"text","text":5}]}', "M15", "/result/content/0/text"),
    Row(
        "08",
        CALL,
        '{"content":[{"type":"text","text":"a","isError":true}]}',
        "M12",
        "/result/content/0/isError",
        WARNING,
    ),
    Row("09", CALL, '{"content":[],"isError":"true"}', "M17", "/result/isError"),
    Row("10", CALL, '{"content":[],"is_error":true}', "M11", "/result/is_error"),
    Row("11", CALL, '{"content":[],"iserror":true}', "M11", "/result/iserror"),
    Row("12", CALL, f'{{"content":[{{"type":"image","data":"{PIXEL}"}}]}}', "M09",
        "/result/content/0"),
    Row("13", CALL, '{"content":[{"type":"image","data":"%%","mimeType":"image/png"}]}', "M29",
        "/result/content/0/data", fix=False),
    Row("14", CALL, f'{{"content":[{{"type":"image","data":"{DATA_URL}","mimeType":"image/png"}}]}}',
        "M30", "/result/content/0/data"),
    Row("15", CALL, '{"content":[{"type":"resource","uri":"file:///a","text":"x"}]}', "M09",
        "/result/content/0"),
    Row("16", CALL, '{"content":[{"type":"resource_link","uri":"file:///a"}]}', "M09",
        "/result/content/0"),
    Row("17", CALL, '{"content":[],"structuredContent":[1]}', "M16", "/result/structuredContent",
        fix=False),
    Row("18", CALL, '{"structuredContent":{}}', "M09", "/result"),
    Row("19", CALL, '{"content":[],"structuredContent":null}', "M20", "/result/structuredContent"),
    Row("20", CALL, '{"content":[{"type":"text","text":"{}"}],"structured_content":{}}', "M11", "/result/structured_content"),
    Row("21", CALL, '{"jsonrpc":"2.0","id":3,"result":{"content":[]}}', "M34", "/result"),
    Row("22", CALL, '{"code":-32602,"message":"x"}', "M35", "/result", fix=False),
    Row("23", CALL, '{"result":{"content":[]}}', "M36", "/result"),
    Row("24", CALL, '{"content":[],"_meta":"x"}', "M16", "/result/_meta", fix=False),
    Row("25", CALL, '{"content":null}', "M01", "/result/content"),
    Row("26", TOOLS, tool(inputSchema="absent", input_schema={"type": "object"}), "M10",
        "/result/tools/0/input_schema"),
    Row("27", TOOLS, tool(name="absent"), "M09", "/result/tools/0"),
    Row("28", TOOLS, '{"tools":[{"name":"a","inputSchema":{"type":"object"}},'
        '{"name":"a","inputSchema":{"type":"object"}}]}', "M38", "/result/tools/1/name",
        WARNING, fix=False),
    Row("29", TOOLS, tool(inputSchema="absent"), "M09", "/result/tools/0"),
    Row("30", TOOLS, tool(inputSchema={"properties": {}}), "M09", "/result/tools/0/inputSchema"),
    Row("31", TOOLS, tool(inputSchema={"type": "string"}), "M03",
        "/result/tools/0/inputSchema/type"),
    Row("32", TOOLS, tool(inputSchema={}), "M09", "/result/tools/0/inputSchema"),
    Row("33", TOOLS, tool(inputSchema={"type": "object", "properties": {"x": {}}, "required": "x"}),
        "M01", "/result/tools/0/inputSchema/required"),
    Row("34", TOOLS, tool(inputSchema={"type": "object", "requried": ["x"],
                                       "properties": {"x": {"type": "strng"}}}),
        "M40", "/result/tools/0/inputSchema/properties/x/type", WARNING, fix=False),
    Row("35", TOOLS, tool(name="a b"), "M39", "/result/tools/0/name", WARNING, fix=False),
    Row("35 empty", TOOLS, tool(name=""), "M39", "/result/tools/0/name", WARNING, fix=False),
    Row("36", TOOLS, '{"tools":{"a":{"inputSchema":{"type":"object"}}}}', "M01", "/result/tools"),
    Row("37", TOOLS, '[{"name":"a","inputSchema":{"type":"object"}}]', "R20", "/result"),
    Row("38", TOOLS, '{"tools":[],"nextCursor":null}', "M20", "/result/nextCursor"),
    Row("39", TOOLS, '{"tools":[],"nextCursor":""}', "M42", "/result/nextCursor", WARNING),
    Row("40", TOOLS, '{"tools":[],"nextCursor":5}', "M15", "/result/nextCursor"),
    Row("41", TOOLS, tool(outputSchema={"type": "array"}), "M21",
        "/result/tools/0/outputSchema/type"),
    Row("42", TOOLS, tool(description=None), "M20", "/result/tools/0/description"),
    Row("43", OPEN, f'{{"protocolVersion":"2025-11-25",{SERVER}}}', "M09", "/result"),
    Row("44", OPEN, f'{{{OPENED},"tools":{{}}}}', "M63", "/result/tools", WARNING),
    Row("45", OPEN, '{"protocolVersion":"2025-11-25","capabilities":{"tools":true},' + SERVER + "}",
        "M16", "/result/capabilities/tools"),
    Row("46", OPEN, '{"protocolVersion":"2025-11-25","capabilities":["tools"],' + SERVER + "}",
        "M16", "/result/capabilities"),
    Row("47", OPEN, '{"protocolVersion":"2025-11-25","capabilities":{"tool":{}},' + SERVER + "}",
        "M11", "/result/capabilities/tool"),
    Row("48", OPEN, '{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"a"}}',
        "M09", "/result/serverInfo"),
    Row("49", OPEN, '{"protocolVersion":"2025-11-25","capabilities":{},'
        '"serverInfo":{"name":"a","version":1.0}}', "M15", "/result/serverInfo/version"),
    Row("50", OPEN, f'{{"protocolVersion":"1.0","capabilities":{{}},{SERVER}}}', "M44",
        "/result/protocolVersion"),
    Row("51", OPEN, f'{{"capabilities":{{}},{SERVER}}}', "M09", "/result"),
    Row("52", OPEN, f'{{"protocolVersion":"2026-07-28","capabilities":{{}},{SERVER}}}', "M44",
        "/result/protocolVersion"),
    Row("53", READ, '{"contents":[{"text":"a"}]}', "M09", "/result/contents/0"),
    Row("54", READ, '{"contents":[{"uri":"file:///a"}]}', "M27", "/result/contents/0"),
    Row("55", READ, '{"content":[{"uri":"file:///a","text":"x"}]}', "M10", "/result/content"),
    Row("56", READ, '{"contents":[{"type":"text","text":"x"}]}', "M09", "/result/contents/0"),
    Row("57", READ, '{"contents":[{"uri":"notes","text":"x"}]}', "M31", "/result/contents/0/uri",
        WARNING, fix=False),
    Row("58", READ, '{"contents":[]}', "M60", "/result/contents", WARNING, fix=False),
    Row("59", READ, '{"contents":[{"uri":"file:///a","blob":"%"}]}', "M29",
        "/result/contents/0/blob", fix=False),
    Row("60", READ, '{"contents":[{"uri":"file:///a","text":"a","blob":"aGk="}]}', "M28",
        "/result/contents/0/blob", WARNING),
    Row("61", "resources/list", '{"resources":[{"uri":"file:///a"}]}', "M09",
        "/result/resources/0"),
    Row("62", "resources/list", '{"resources":[{"uri":"file:///a","name":"a"},'
        '{"uri":"file:///a","name":"b"}]}', "M38", "/result/resources/1/uri", WARNING, fix=False),
    Row("63", "resources/templates/list", '{"resourceTemplates":[{"uri":"file:///{a}","name":"a"}]}',
        "M10", "/result/resourceTemplates/0/uri"),
    Row("64", "resources/templates/list", '{"templates":[]}', "M10", "/result/templates"),
    Row("65", "prompts/get", '{"messages":[{"role":"system","content":{"type":"text","text":"a"}}]}',
        "M21", "/result/messages/0/role", fix=False),
    Row("66", "prompts/get", '{"messages":[{"role":"user","content":"a"}]}', "M16",
        "/result/messages/0/content"),
    Row("67", "prompts/get", '{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}',
        "M16", "/result/messages/0/content"),
    Row("68", "prompts/list", '{"prompts":[{"name":"a","arguments":{"b":{}}}]}', "M01",
        "/result/prompts/0/arguments"),
    Row("69", "completion/complete", '{"values":["a"]}', "M09", "/result"),
    Row("70", "completion/complete", json.dumps({"completion": {"values": ["a"] * 101}}), "M25",
        "/result/completion/values", fix=False),
    Row("71", "completion/complete", '{"completion":{"values":[1]}}', "M15",
        "/result/completion/values/0"),
    Row("72", "ping", '{"pong":true}', "M37", "/result"),
    Row("73", CALL, '{"content":[]}', "M07", "/result", version=R2026),
    Row("74", CALL, '{"resultType":"completed","content":[]}', "M51", "/result/resultType",
        version=R2026),
    Row("75", TOOLS, f'{{{DONE},"tools":[],"cacheScope":"private"}}', "M09", "/result",
        version=R2026),
    Row("76", TOOLS, f'{{{DONE},"tools":[],"ttlMs":-1,"cacheScope":"private"}}', "M22",
        "/result/ttlMs", version=R2026),
    Row("77", TOOLS, f'{{{DONE},"tools":[],"ttlMs":"0","cacheScope":"private"}}', "M18",
        "/result/ttlMs", version=R2026),
    Row("78", TOOLS, f'{{{DONE},"tools":[],"ttlMs":0,"cacheScope":"shared"}}', "M21",
        "/result/cacheScope", fix=False, version=R2026),
    Row("79", CALL, '{"resultType":"input_required"}', "M53", "/result", version=R2026),
    Row("80", TOOLS, '{"resultType":"input_required","requestState":"x"}', "M52",
        "/result/resultType", fix=False, version=R2026),
    Row("81", CALL, '{"resultType":"input_required","inputRequests":[]}', "M16",
        "/result/inputRequests", fix=False, version=R2026),
    Row("82", CALL, '{"resultType":"input_required","inputRequests":{"a":{}}}', "M26",
        "/result/inputRequests/a", fix=False, version=R2026),
    Row("83", CALL, '{"resultType":"input_required","requestState":{}}', "M15",
        "/result/requestState", fix=False, version=R2026),
    Row("84", CALL, f'{{{DONE},"inputRequests":{{"a":{{"method":"roots/list"}}}}}}', "M54",
        "/result/resultType", version=R2026),
    Row("85", CALL, '{"resultType":"input_required","content":[],"requestState":"x"}', "M55",
        "/result/content", version=R2026),
    Row("86", CALL, '{"resultType":"task","taskId":"x"}', "M56", "/result/resultType", fix=False,
        version=R2026),
    Row("87", "server/discover", f'{{{DONE},"supportedVersions":["2026-07-28"],"capabilities":{{}},'
        f"{SERVER},{KEPT}}}", "M12", "/result/serverInfo", WARNING, version=R2026),
    Row("88", "server/discover", f'{{{DONE},"protocolVersion":"2026-07-28","capabilities":{{}},'
        f"{KEPT}}}", "M10", "/result/protocolVersion", fix=False, version=R2026),
    Row("89", "server/discover", f'{{{DONE},"supportedVersions":[],"capabilities":{{}},{KEPT}}}',
        "M45", "/result/supportedVersions", WARNING, version=R2026),
    Row("90", CALL, '{"content":[{"type":"text","text":"a","annotations":{"priority":5}}]}', "M23",
        "/result/content/0/annotations/priority"),
    Row("91", CALL, '{"content":[{"type":"text","text":"a","annotations":{"audience":"user"}}]}',
        "M01", "/result/content/0/annotations/audience"),
    Row("92 no text", CALL, '{"content":[],"structuredContent":{"a":1}}', "M59", "/result/content", WARNING),
    Row("93", CALL, '{"contents":[]}', "M10", "/result/contents"),
    Row("94", CALL, '{"content":[],"note":1}', "M12", "/result/note", WARNING),
    # published answers
    Row("E01", OPEN, f'{{"protocolVersion":"2024-11-05",{SERVER}}}', "M09", "/result",
        version=R2024),
    Row("E05", CALL, '{"content":4}', "M01", "/result/content"),
    Row("E06 pong", "ping", '"pong"', "R20", "/result"),
    Row("E06 sunny", CALL, '"sunny"', "R20", "/result"),
    Row("E06 null", "ping", "null", "R20", "/result"),
    Row("E07", CALL, '{"text":"sunny"}', "M64", "/result"),
    Row("W01", OPEN, '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":'
        '{"name":"a","version":"1","capabilities":{"resources":{},"tools":{}}}}', "M47",
        "/result/serverInfo/capabilities", WARNING),
    Row("W02", OPEN, '{"protocolVersion":"2025-11-25","capabilities":{"completion":{}},'
        + SERVER + "}", "M48", "/result/capabilities/completion", WARNING),
    Row("W05", OPEN, '{"protocolVersion":"2025-11-25","capabilities":{},'
        '"serverInfo":{"name":"MCP Client","version":"1"}}', "M49", "/result/serverInfo/name",
        HINT, fix=False),
    # what came with a later version, or went
    Row("3.4 audio", CALL, '{"content":[{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}]}',
        "M24", "/result/content/0/type", fix=False, version=R2024),
    Row("3.4 structuredContent", CALL, '{"content":[{"type":"text","text":"a"}],'
        '"structuredContent":{}}', "M13", "/result/structuredContent", WARNING, version=R2024),
    Row("3.4 execution", TOOLS, f'{{{DONE},{KEPT},"tools":[{{"name":"a","inputSchema":'
        '{"type":"object"},"execution":{}}]}', "M14", "/result/tools/0/execution", WARNING,
        version=R2026),
    # lints of 3.4
    Row("3.4 magic bytes", CALL, f'{{"content":[{{"type":"image","data":"{PIXEL}",'
        '"mimeType":"image/jpeg"}]}', "M66", "/result/content/0/mimeType", WARNING),
    Row("3.4 magic bytes of a sound", CALL, '{"content":[{"type":"audio","data":"T2dnUwAA",'
        '"mimeType":"audio/wav"}]}', "M66", "/result/content/0/mimeType", WARNING),
    Row("3.4 MIME", READ, '{"contents":[{"uri":"file:///a","text":"x","mimeType":"text"}]}', "M32",
        "/result/contents/0/mimeType", WARNING, fix=False),
    Row("3.4 lastModified", CALL, '{"content":[{"type":"text","text":"a",'
        '"annotations":{"lastModified":"yesterday"}}]}', "M33",
        "/result/content/0/annotations/lastModified", fix=False),
    Row("3.4 icon", TOOLS, tool(icons=[{"src": "icon.png"}]), "M65", "/result/tools/0/icons/0/src",
        WARNING, fix=False),
    Row("3.4 required", TOOLS, tool(inputSchema={"type": "object", "required": ["x"]}), "M41",
        "/result/tools/0/inputSchema/required", HINT, fix=False),
    Row("3.4 versions", "server/discover", f'{{{DONE},"supportedVersions":["2025-11-25"],'
        f'"capabilities":{{}},{KEPT}}}', "M46", "/result/supportedVersions", WARNING,
        version=R2026),
    Row("1.7 subscriptionId", "subscriptions/listen", f'{{{DONE},'
        '"_meta":{"io.modelcontextprotocol/subscriptionId":"3"}}', "M74",
        "/result/_meta/io.modelcontextprotocol~1subscriptionId", version=R2026),
    Row("1.9 task nobody wished", CALL, '{"task":{}}', "M75", "/result/task", fix=False),
    Row("E06 list", "ping", "[]", "R20", "/result"),
    Row("unknown method", "no/such", '{"a":1}', "M68", "/result", WARNING, fix=False),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.number} {row.method}" for row in ROWS])
def test_a_mistake_in_a_result_is_one_problem(row: Row) -> None:
    """Its code, its place, its level, and a fix that fixes it."""
    params = {"_meta": stating({"roots": {}, "elicitation": {}})} if row.version == R2026 else {}
    exchange = asked(row.method, params, version=row.version)
    verdict = check(exchange, row.text, TextForm.RESULT)
    assert codes(verdict.diagnostics) == [row.code]
    (diagnostic,) = (each for each in verdict.diagnostics if each.severity is not Severity.REPAIRED)
    assert (diagnostic.pointer, diagnostic.severity) == (row.pointer, row.severity)
    of_method = f"https://modelcontextprotocol.io/specification/{row.version}/"
    assert diagnostic.page.startswith(KINDS[row.code].page or of_method)
    assert (diagnostic.fix is not None) == row.fix
    if row.fix:
        left = serious(check(exchange, with_first_fix(verdict), TextForm.RESULT).diagnostics)
        assert left in ([], ["M61"])  # a placeholder of ours has to be filled in first


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.number} {row.method}" for row in ROWS])
def test_the_same_mistake_in_a_whole_message_is_the_same_problem(row: Row) -> None:
    """The page, a text file and the command line say the same, whatever form the answer has."""
    params = {"_meta": stating({"roots": {}, "elicitation": {}})} if row.version == R2026 else {}
    exchange = asked(row.method, params, version=row.version)
    text = f'{{"jsonrpc": "2.0", "id": 3, "result": {row.text}}}'
    verdict = check(exchange, text)
    (diagnostic,) = (each for each in verdict.diagnostics if each.severity is not Severity.REPAIRED)
    assert (diagnostic.code, diagnostic.pointer) == (row.code, row.pointer)
    assert diagnostic.start >= text.index(row.text)
    if row.fix:
        assert serious(check(exchange, with_first_fix(verdict)).diagnostics) in ([], ["M61"])


ITEM: Final = '{"type":"text","text":"x"}'
NULL: Final = '{"type":"text","text":"null"}'
LISTS: Final = '{"type":"text","text":"[]"}'
ERROR_OF_A_TOOL: Final = '{"error":{"code":-32602,"message":"遠い。自分で調べて"}}'
STRICT: Final = NegotiatedState(tools={"ask": {"outputSchema": {
    "type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}}}})  # fmt: skip
ASK: Final = asked(CALL, {"name": "ask"})
TASK: Final = (
    '"taskId":"t","status":"working","createdAt":"2026-11-20T10:30:00Z",'
    '"lastUpdatedAt":"2026-11-20T10:30:00Z",'
)
TASKS: Final = stating({"extensions": {"io.modelcontextprotocol/tasks": {}}})
NESTED: Final = (
    '{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create",'
    '"params":{"message":"?","requestedSchema":{"type":"object",'
    '"properties":{"a":{"type":"object"}}}}}}}'
)
CHOSEN: Final = '{"action":"accept","content":{"a":["x","y"]}}'
EMPTY_FORM: Final = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}


def meta(key: str) -> str:
    """Write a result with something in its `_meta`."""
    return json.dumps({"content": [], "_meta": {key: 1}})


@pytest.mark.parametrize(
    ("exchange", "text", "found", "negotiated"),
    [
        # 2026-07-28: any JSON value, any root of an output schema
        (asked(CALL, version=R2026),
         f'{{{DONE},"content":[{NULL}],"structuredContent":null}}', [], None),
        (asked(CALL, version=R2026), f'{{{DONE},"content":[{LISTS}],"structuredContent":[1]}}', [],
         None),
        (asked(TOOLS, version=R2026),
         f'{{{DONE},{KEPT},{tool(outputSchema={"type": "array"})[1:]}', [], None),
        # another version that the server supports is the right answer to one that nobody knows
        (asked(OPEN, {"protocolVersion": "2099-01-01"}), f"{{{OPENED}}}", [], None),
        # the client goes by the capabilities
        (asked(TOOLS), '{"tools":[]}', ["M05"], NegotiatedState(server_capabilities={})),
        (asked(TOOLS), '{"tools":[]}', [], NegotiatedState(server_capabilities={"tools": {}})),
        # a cursor that was asked for is no next one: the client would go round in circles
        (asked(TOOLS, {"cursor": "p2"}), '{"tools":[],"nextCursor":"p2"}', ["M43"], None),
        # both SDK clients fail a call whose structured content does not fit the declared schema
        (ASK, '{"content":[]}', ["M58"], STRICT),
        (ASK, f'{{"content":[{ITEM}],"structuredContent":{{"answer":1}}}}', ["M06"], STRICT),
        (ASK, f'{{"content":[{ITEM}],"structuredContent":{{"answer":"y"}}}}', [], STRICT),
        (ASK, f'{{"content":[{ITEM}],"isError":true}}', [], STRICT),
        # the model may not see an error; an unknown tool is one
        (ASK, ERROR_OF_A_TOOL, ["M50"], None),
        (asked(CALL, {"name": "b"}), ERROR_OF_A_TOOL, [], STRICT),
        (asked(READ, {"uri": "a"}), ERROR_OF_A_TOOL, [], None),
        # the schemas of elicitations are flat
        (asked(CALL, {"_meta": stating({"elicitation": {}})}, version=R2026), NESTED, ["M67"], None),
        # a task is made where `params.task`, or since 2026 the extension of this request, wants it
        (asked(CALL, {"name": "a", "task": {"ttl": 1}}), f'{{"task":{{{TASK}"ttl":null}}}}', [],
         None),
        (asked(CALL, {"name": "a", "_meta": TASKS}, version=R2026),
         f'{{"resultType":"task",{TASK}"ttlMs":null}}', [], None),
        # 2025-06-18 has one value a field
        (asked("elicitation/create", EMPTY_FORM, version="2025-06-18"), CHOSEN, ["M24"], None),
        (asked("elicitation/create", EMPTY_FORM), CHOSEN, [], None),
        # a whole message, a result in the result, an error: not a dozen members that are missing
        (asked(TOOLS), '{"jsonrpc":"2.0","id":3,"result":{}}', ["M34"], None),
        (asked(TOOLS), '{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}', ["M34"], None),
        (asked(TOOLS), '{"jsonrpc":"2.0","id":3,"method":"ping"}', ["M34"], None),
        (asked(TOOLS), '{"result":{}}', ["M36"], None),
        (asked(TOOLS), '{"code":1,"message":"x"}', ["M35"], None),
        (asked(TOOLS), ' {"error":{"code":1,"message":"x"}}', ["M35"], None),
        # how a name in `_meta` is written, and which prefixes are kept for MCP, by version
        (asked(CALL), meta("note"), [], None),
        (asked(CALL), meta("com.example/note"), [], None),
        (asked(CALL), meta("example/"), [], None),
        (asked(CALL), meta("io.modelcontextprotocol/own"), [], None),
        (asked(CALL), meta("com.example.mcp/note"), [], None),
        (asked(CALL), meta("com.mcp.tools/note"), ["M80"], None),
        (asked(CALL, version="2025-06-18"), meta("dev.mcp/note"), [], None),
        (asked(CALL, version="2025-06-18"), meta("mcp.dev/note"), ["M80"], None),
        (asked(CALL), meta("mcp.dev/note"), [], None),
        (asked(CALL), meta("a b"), ["M73"], None),
        (asked(CALL), meta("-note"), ["M73"], None),
        (asked(CALL), meta("1com/note"), ["M73"], None),
        (asked(CALL, version=R2024), meta("a b"), [], None),
    ],
)  # fmt: skip
def test_a_result_fits_its_request_and_what_was_said_before(
    exchange: Exchange, text: str, found: list[str], negotiated: NegotiatedState | None
) -> None:
    """What is wrong in one place is right in another."""
    form = TextForm.MESSAGE if text.startswith('{"error"') else TextForm.RESULT
    verdict = check(exchange, text, form, negotiated)
    assert codes(verdict.diagnostics) == found
    assert verdict.sendable == (not verdict.errors)


def test_structured_content_is_held_against_the_declared_schema_at_its_place() -> None:
    """The member that does not fit, and not the whole."""
    text = f'{{"content":[{ITEM}],"structuredContent":{{"answer":1}}}}'
    (problem,) = check(ASK, text, TextForm.RESULT, STRICT).diagnostics
    assert problem.pointer == "/result/structuredContent/answer"


# -- what depends on the request and on what was said before --------------------------------------


def test_another_known_version_is_a_warning_with_a_fix() -> None:
    """The host asked for one that we have."""
    exchange = asked(OPEN, {"protocolVersion": R2024}, version=R2024)
    verdict = check(
        exchange, f'{{"result":{{"protocolVersion":"2025-03-26","capabilities":{{}},{SERVER}}}}}'
    )
    assert codes(verdict.diagnostics) == ["M04"]
    assert verdict.sendable
    assert check(exchange, with_first_fix(verdict)).diagnostics == ()


def test_another_resource_than_the_one_asked_for_is_a_hint() -> None:
    """A folder may be answered with the files in it."""
    exchange = asked(READ, {"uri": "file:///a/"})
    inside = '{"result":{"contents":[{"uri":"file:///a/b.txt","text":""}]}}'
    assert check(exchange, inside).diagnostics == ()
    other = '{"result":{"contents":[{"uri":"file:///c","text":""}]}}'
    verdict = check(exchange, other)
    assert codes(verdict.diagnostics) == ["M70"]
    assert '"file:///a/"' in with_first_fix(verdict)


@pytest.mark.parametrize(
    ("capabilities", "method", "params", "lacking"),
    [
        ({}, "elicitation/create", {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}, "elicitation"),
        ({"elicitation": {}}, "elicitation/create", {"mode": "url", "message": "?", "url": "https://a.example/"}, "elicitation.url"),
        ({"elicitation": {"url": {}}}, "elicitation/create", {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}, "elicitation.form"),
        ({"sampling": {}}, "sampling/createMessage", {"messages": [], "maxTokens": 1, "tools": []}, "sampling.tools"),
        ({}, "sampling/createMessage", {"messages": [], "maxTokens": 1}, "sampling"),
        ({}, "roots/list", {}, "roots"),
    ],
)  # fmt: skip
def test_a_client_is_only_asked_for_what_this_request_declares(
    capabilities: dict[str, Any], method: str, params: dict[str, Any], lacking: str
) -> None:
    """A server MUST NOT ask for what the client did not declare; `{}` means forms only."""
    exchange = asked(CALL, {"name": "a", "_meta": stating(capabilities)}, version=R2026)
    question = {"method": method, **({"params": params} if params else {})}
    result = {"resultType": "input_required", "inputRequests": {"q": question}}
    verdict = check(exchange, json.dumps(result), TextForm.RESULT)
    assert codes(verdict.diagnostics) == ["M57"]
    assert verdict.diagnostics[0].detail == (("capability", lacking),)


# -- answers in the client's seat ----------------------------------------------------------------

FORM = {
    "message": "Which?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "branch": {"type": "string", "enum": ["main", "dev"]},
            "n": {"type": "integer"},
        },
        "required": ["branch"],
    },
}


@pytest.mark.parametrize(
    ("method", "text", "expected"),
    [
        ("roots/list", '{"roots":[{"uri":"file:///a","name":"a"}]}', []),
        ("roots/list", '{"roots":[{"name":"a"}]}', ["M09"]),
        ("roots/list", '{"roots":["file:///a"]}', ["M16"]),
        ("sampling/createMessage",
         '{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}', []),
        ("sampling/createMessage", '{"role":"assistant","content":"x","model":"m"}', ["M16"]),
        ("sampling/createMessage", '{"role":"assistant","content":{"type":"text","text":"x"}}',
         ["M09"]),
        ("elicitation/create", '{"action":"accept","content":{"branch":"main","n":1}}', []),
        ("elicitation/create", '{"action":"decline"}', []),
        ("elicitation/create", '{"action":"accepted","content":{"branch":"main"}}', ["M21"]),
        ("elicitation/create", '{"action":"accept","content":{}}', ["M78"]),
        ("elicitation/create", '{"action":"accept"}', ["M78"]),
        ("elicitation/create", '{"action":"accept","content":{"branch":"other"}}', ["M79"]),
        ("elicitation/create", '{"action":"accept","content":{"branch":"main","n":1.5}}', ["M79"]),
        ("elicitation/create", '{"action":"cancel","content":{"branch":"main"}}', ["M77"]),
        ("elicitation/create", '{"action":"accept","content":{"branch":"dev","x":{}}}', ["M76"]),
    ],
)  # fmt: skip
def test_a_person_in_the_clients_seat_is_checked_too(
    method: str, text: str, expected: list[str]
) -> None:
    """The results of roots/list, sampling/createMessage and elicitation/create."""
    exchange = asked(method, FORM if method.startswith("elicit") else {})
    assert codes(check(exchange, text, TextForm.RESULT).diagnostics) == expected


# -- forms of an elicitation, as JSON Schemas ---------------------------------------------------

WIDE_FORM = {
    "message": "Which?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "colour": {
                "type": "string",
                "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}],
            },
            "size": {"type": "integer", "minimum": 1, "maximum": 5},
            "name": {"type": "string", "minLength": 3, "maxLength": 5},
            "mail": {"type": "string", "format": "email"},
            "day": {"type": "string", "format": "date"},
            "zip": {"type": "string", "pattern": "^[0-9]{3}-[0-9]{4}$"},
            "many": {
                "type": "array",
                "minItems": 1,
                "maxItems": 2,
                "items": {"type": "string", "enum": ["a", "b", "c"]},
            },
        },
    },
}


@pytest.mark.parametrize(
    ("field", "value", "code", "said"),
    [
        ("colour", "r", "", ""),
        ("colour", "Red", "M79", '"Red" is not one of "r", "b".'),
        ("size", 3, "", ""),
        ("size", 0, "M79", "0 is less than 1."),
        ("size", 9, "M79", "9 is more than 5."),
        ("size", "3", "M79", '"3" does not have the type integer.'),
        ("name", "ab", "M79", "The minimum is 3"),
        ("name", "abcdef", "M79", "The maximum is 5"),
        ("mail", "a@example.com", "", ""),
        ("mail", "nomail", "M79", "does not have the format email"),
        ("day", "tomorrow", "M79", "does not have the format date"),
        ("zip", "100-0001", "", ""),
        ("zip", "1000001", "M79", "does not match the pattern"),
        ("many", ["a"], "", ""),
        ("many", [], "M79", "The minimum is 1"),
        ("many", ["a", "b", "c"], "M79", "The maximum is 2"),
        ("many", ["x"], "M79", '"x" is not one of "a", "b", "c".'),
    ],
)
def test_the_answers_of_a_form_keep_to_the_whole_of_its_schema(
    field: str, value: object, code: str, said: str
) -> None:
    """Only the type and `enum` were looked at."""
    exchange = asked("elicitation/create", WIDE_FORM)
    verdict = check(
        exchange, json.dumps({"action": "accept", "content": {field: value}}), TextForm.RESULT
    )
    assert codes(verdict.diagnostics) == ([code] if code else [])
    assert verdict.sendable == (not code)
    assert said in " ".join(locales.describe(each) for each in verdict.diagnostics)


def test_every_field_that_does_not_fit_is_told_at_its_place() -> None:
    """One look at the form is enough."""
    exchange = asked("elicitation/create", WIDE_FORM)
    content = {"size": 9, "mail": "x", "many": ["a", "x"]}
    text = json.dumps({"action": "accept", "content": content})
    diagnostics = check(exchange, text, TextForm.RESULT).diagnostics
    places = {diagnostic.pointer for diagnostic in diagnostics}
    assert places == {f"/result/content/{at}" for at in ("size", "mail", "many/1")}


# -- what both TypeScript clients refuse ---------------------------------------------------

MOMENTS = (
    ("2026-11-20T10:30:00Z", True, ""),
    ("2026-11-20T10:30Z", True, ""),
    ("2024-02-29T10:30:00.123+09:00", True, ""),
    ("2026-11-20", False, ""),
    ("2026-11-20T10:30:00", False, ""),
    ("2026-11-20T10:30:00+0900", False, "2026-11-20T10:30:00+09:00"),
    ("2026-11-20 10:30:00Z", False, "2026-11-20T10:30:00Z"),
    ("2026-11-20t10:30:00z", False, "2026-11-20T10:30:00Z"),
    ("2026-02-30T10:30:00Z", False, ""),
    ("2026-02-29T10:30:00Z", False, ""),
    ("2100-02-29T10:30:00Z", False, ""),
    ("2026-13-01T10:30:00Z", False, ""),
    ("2026-11-20T24:00:00Z", False, ""),
    ("yesterday", False, ""),
)


@pytest.mark.parametrize(("moment", "fits", "wanted"), MOMENTS)
def test_a_time_that_the_clients_refuse_is_an_error(
    moment: str,
    fits: bool,  # noqa: FBT001 - a table
    wanted: str,
) -> None:
    """A date, no zone, `+0900`, a space, an impossible day: the whole call fails."""
    block = {"type": "text", "text": "x", "annotations": {"lastModified": moment}}
    text = json.dumps({"content": [block]})
    verdict = check(asked(CALL, {"name": "a"}), text, TextForm.RESULT)
    assert verdict.sendable == fits
    assert codes(verdict.diagnostics) == ([] if fits else ["M33"])
    if not fits:
        assert (verdict.diagnostics[0].fix is not None) == bool(wanted)
        assert not wanted or wanted in with_first_fix(verdict)


@pytest.mark.parametrize(
    ("method", "text", "expected", "version"),
    [
        (CALL, '{"resultType":"input_required","inputRequests":{}}', ["M53"], R2026),
        ("roots/list", '{"roots":[{"uri":"https://example.com/"}]}', ["M94"], R2025),
        ("roots/list", '{"roots":[{"uri":"file:///"}]}', [], R2025),
        (
            TOOLS,
            '{"resultType":"complete","tools":[],"ttlMs":9007199254740992,"cacheScope":"private"}',
            ["M23"],
            R2026,
        ),
        (
            "completion/complete",
            '{"completion":{"values":[],"total":9007199254740993}}',
            ["M23"],
            R2025,
        ),
        ("completion/complete", '{"completion":{"values":[],"total":9007199254740991}}', [], R2025),
    ],
)
def test_what_both_typescript_clients_refuse_is_an_error(
    method: str, text: str, expected: list[str], version: str
) -> None:
    """Each was sent without a word, and the client failed the whole call."""
    exchange = asked(method, {"_meta": stating({})} if version == R2026 else {}, version=version)
    verdict = check(exchange, text, TextForm.RESULT)
    assert codes(verdict.diagnostics) == expected
    assert verdict.sendable == (not expected)


def test_the_limit_of_a_number_is_written_out() -> None:
    """9007199254740991, and not 9.0072e+15."""
    text = '{"completion":{"values":[],"total":1e16}}'
    (diagnostic,) = check(asked("completion/complete", {}), text, TextForm.RESULT).diagnostics
    assert "9007199254740991" in locales.describe(diagnostic)


# -- forms that are asked --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, ""),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, ""),
        ({"type": "array"}, "M09"),
        ({"type": "array", "items": {}}, "M27"),
        ({"type": "array", "items": {"type": "number", "enum": ["a"]}}, "M67"),
        ({"type": "array", "items": {"enum": [1]}}, "M15"),
        ({"type": "array", "items": {"anyOf": [{"const": "a"}]}}, "M09"),
        ({"type": "string", "oneOf": [{"const": "a"}]}, "M09"),
        ({"type": "string", "default": 5}, "M15"),
        ({"type": "integer", "default": "5"}, "M19"),
        ({"type": "boolean", "default": "yes"}, "M17"),
        ({"type": "array", "items": {"enum": ["a"]}, "default": "a"}, "M01"),
        ({"type": "object"}, "M67"),
        ({"type": "string", "default": "a", "x-own": 1}, ""),
    ],
)
def test_the_fields_of_a_form_are_looked_into(field: dict[str, Any], code: str) -> None:
    """Said by a server until 2025-11-25, and asked inside an answer of 2026-07-28."""
    form = {"message": "?", "requestedSchema": {"type": "object", "properties": {"a": field}}}
    request = {"jsonrpc": "2.0", "id": "h-1", "method": "elicitation/create", "params": form}
    negotiated = NegotiatedState(client_capabilities={"elicitation": {}}, initialized=True)
    said = check_outgoing(json.dumps(request), R2025, negotiated)
    assert serious(said.diagnostics) == ([code] if code else [])
    question = {"method": "elicitation/create", "params": {"mode": "form", **form}}
    result = {"resultType": "input_required", "inputRequests": {"q": question}}
    exchange = asked(CALL, {"name": "a", "_meta": stating({"elicitation": {}})}, version=R2026)
    verdict = check(exchange, json.dumps(result), TextForm.RESULT)
    assert serious(verdict.diagnostics) == ([code] if code else [])


# -- extensions, `_meta`, headers, tasks ------------------------------------------------


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", R2025])
def test_extensions_are_declared_in_every_version(version: str) -> None:
    """SEP-2133's own example is of 2025-06-18; the fix deleted what a host had declared."""
    declared: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/ui": {}}}
    server = {"name": "a", "version": "1"}
    result = {"protocolVersion": version, "capabilities": declared, "serverInfo": server}
    params = {"protocolVersion": version, "capabilities": declared, "clientInfo": server}
    exchange = asked(OPEN, params, version=version)
    assert check(exchange, json.dumps(result), TextForm.RESULT).diagnostics == ()
    assert remarks(exchange.request, version) == ()


def test_the_name_of_an_extension_has_a_prefix() -> None:
    """SEP-2133, "the prefix is mandatory"."""
    declared = OPENED.replace("{}", '{"extensions":{"ui":{}}}', 1)
    text = f"{{{declared}}}"
    (diagnostic,) = check(
        asked(OPEN, {"protocolVersion": R2025}), text, TextForm.RESULT
    ).diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("M93", WARNING)


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ({"a": {"type": "string", "x-mcp-header": "Region"}}, ""),
        ({"a": {"type": "object", "properties": {"b": {"type": "integer", "x-mcp-header": "B"}}}},
         ""),
        ({"x-mcp-header": {"type": "string"}}, ""),
        ({"a": {"type": "string", "x-mcp-header": "a b"}}, "M99"),
        ({"a": {"type": "string", "x-mcp-header": ""}}, "M99"),
        ({"a": {"type": "string", "x-mcp-header": 5}}, "M99"),
        ({"a": {"type": "number", "x-mcp-header": "A"}}, "M99"),
        ({"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}, "M99"),
        ({"a": {"type": "string", "x-mcp-header": "A"},
          "b": {"type": "string", "x-mcp-header": "a"}}, "M99"),
    ],
)  # fmt: skip
def test_a_header_of_an_argument_keeps_to_its_rules(part: dict[str, Any], code: str) -> None:
    """Clients over HTTP leave a tool out whose x-mcp-header breaks one."""
    tools = [{"name": "t", "inputSchema": {"type": "object", "properties": part}}]
    result = {"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}
    modern = asked(TOOLS, {"_meta": stating({})}, version=R2026)
    found = check(modern, json.dumps(result), TextForm.RESULT).diagnostics
    assert codes(found) == ([code] if code else [])
    assert not check(asked(TOOLS, {}), json.dumps({"tools": tools}), TextForm.RESULT).diagnostics


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "object", "$schema": "https://example.com/own"}, "$schema"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}}, "properties/a/$ref"),
        ({"type": "object", "$ref": "https://example.com/x"}, "$ref"),
    ],
)
def test_a_schema_that_clients_cannot_use_is_told(schema: dict[str, Any], pointer: str) -> None:
    """An unknown dialect, a reference to nothing, a reference that nobody may fetch."""
    text = json.dumps({"tools": [{"name": "t", "inputSchema": schema}]})
    (diagnostic,) = check(asked(TOOLS, {}), text, TextForm.RESULT).diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("M92", WARNING)
    assert diagnostic.pointer == f"/result/tools/0/inputSchema/{pointer}"


@pytest.mark.parametrize(
    ("status", "member"),
    [("completed", "result"), ("failed", "error"), ("input_required", "inputRequests")],
)
def test_a_task_holds_what_its_status_says(status: str, member: str) -> None:
    """In 2026-07-28 what has become of a task stands beside its status."""
    task = {"resultType": "complete", "taskId": "a", "status": status, "ttlMs": None}
    task |= dict.fromkeys(("createdAt", "lastUpdatedAt"), "2026-11-20T10:30:00Z")
    exchange = asked("tasks/get", {"taskId": "a", "_meta": stating({})}, version=R2026)
    (diagnostic,) = check(exchange, json.dumps(task), TextForm.RESULT).diagnostics
    assert (diagnostic.code, dict(diagnostic.detail)["key"]) == ("M09", member)
    whole = task | {member: {"code": 1, "message": "x"} if member == "error" else {}}
    assert check(exchange, json.dumps(whole), TextForm.RESULT).sendable


def test_skills_are_answered_by_a_skill_and_not_by_an_error() -> None:
    """SEP-2640; the draft was -32601, and the check said that there is no such method."""
    exchange = asked("skills/list", {"_meta": stating({})}, version=R2026)
    assert remarks(exchange.request, R2026) == ()
    draft = start(exchange)
    assert json.loads(draft)["result"]["skills"]
    assert codes(check(exchange, draft).diagnostics) == []
    wrong = {"uri": "skill://a/SKILL.md", "frontmatter": {"name": "a"}, "resources": "none"}
    result = {"skills": [wrong], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    found = check(exchange, json.dumps(result), TextForm.RESULT).diagnostics
    assert codes(found) == ["M09", "M21"]


def test_the_folder_of_a_skill_can_be_listed() -> None:
    """`resources/directory/read` of SEP-2640; its result may be kept, and need not say so."""
    method, params = "resources/directory/read", {"uri": "skill://a", "_meta": stating({})}
    exchange = asked(method, params, version=R2026)
    assert remarks(exchange.request, R2026) == ()
    draft = start(exchange)
    assert json.loads(draft)["result"]["resources"]
    assert codes(check(exchange, draft).diagnostics) == []
    wrong = {"resources": [{"uri": "skill://a/b"}], "resultType": "complete", "nextCursor": 5}
    assert codes(check(exchange, json.dumps(wrong), TextForm.RESULT).diagnostics) == ["M09", "M15"]
    nameless = asked(method, {"_meta": stating({})}, version=R2026)
    assert [one.code for one in remarks(nameless.request, R2026)] == ["M09"]
    assert methods.page(method, R2026).endswith("/seps/2640-skills-extension")


def test_every_draft_of_2026_says_which_server_it_is_of() -> None:
    """The rule: "Servers SHOULD include" serverInfo in every result's `_meta`."""
    for method in methods.REQUESTS:
        if not methods.has_request(method, R2026):
            continue
        declared: Any = {"extensions": {methods.TASKS.id: {}}}
        params = {"taskId": "a", "notifications": {}, "_meta": stating(declared)}
        result = json.loads(start(asked(method, params, version=R2026)))["result"]
        assert result["_meta"][versions.META_SERVER]["name"] == "humanmcp", method


# -- something of the person's own ------------------------------------------------------


def said(
    method: str, params: object, negotiated: NegotiatedState, version: str = R2025
) -> list[str]:
    """Return the codes of a notification of the person's own."""
    line = json.dumps({"jsonrpc": "2.0", "method": method, "params": params})
    return codes(check_outgoing(line, version, negotiated).diagnostics)


def test_a_warning_at_the_method_leaves_the_parameters_checked() -> None:
    """`notifications/resources/updated` with `uri: 5` went out."""
    updated = "notifications/resources/updated"
    assert said(updated, {"uri": 5}, NegotiatedState(server_capabilities={"tools": {}}, initialized=True)) == [
        "R40", "M15",
    ]  # fmt: skip
    assert said(
        updated, {"uri": 5}, NegotiatedState(server_capabilities={"resources": {}}), R2026
    ) == [
        "R41",
        "M15",
    ]


def test_a_notification_of_a_declared_experiment_may_go_out() -> None:
    """`notifications/claude/channel` was refused, with no way out in `out.txt`."""
    channel = "notifications/claude/channel"
    declared = NegotiatedState(
        server_capabilities={"experimental": {"claude/channel": {}}}, initialized=True
    )
    assert said(channel, {"content": "x"}, declared) == []
    assert said(channel, {}, NegotiatedState(server_capabilities={}, initialized=True)) == ["R33"]
    other = NegotiatedState(
        server_capabilities={"extensions": {"com.example/x": {}}}, initialized=True
    )
    assert said(channel, {}, other) == ["M71"]
    assert said("notifications/tool/list_changed", {}, other) == ["R33"]


def test_a_method_that_an_extension_may_know_gets_a_neutral_sentence() -> None:
    """The rule: "The usual answer is -32601" is no advice where an extension was declared."""
    request = asked("example/do", {}).request
    negotiated = NegotiatedState(
        server_capabilities={"extensions": {"com.example/x": {}}}, initialized=True
    )
    assert codes(remarks(request, R2025, negotiated)) == ["M71"]
    assert codes(remarks(request, R2025, NegotiatedState(initialized=True))) == ["M83"]


@pytest.mark.parametrize("version", [R2025, R2026])
def test_plain_text_becomes_the_result_that_the_template_has(version: str) -> None:
    """A sentence typed into the page and one given to `answer --text` are the same message."""
    stated = {"_meta": stating()} if version == R2026 else {}
    params = {"name": "dice", "arguments": {}, **stated}
    exchange = asked("tools/call", params, version=version)
    template = json.loads(start(exchange, NegotiatedState("")))["result"]
    template["content"][0]["text"] = "sunny"
    verdict = check(exchange, "sunny", TextForm.TEXT, NegotiatedState(""))
    assert verdict.line is not None
    typed = json.loads(verdict.line)["result"]
    names = {*typed, *template} - {"_meta"}  # who says it
    assert {one: typed.get(one) for one in names} == {one: template.get(one) for one in names}


_TASK = '"taskId":"t","createdAt":"2026-11-21T01:00:00Z","lastUpdatedAt":"2026-11-21T01:00:00Z","ttlMs":null'
_QUESTION = (
    '{"method":"elicitation/create","params":{"mode":"form","message":"Who?",'
    '"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}'
)


@pytest.mark.parametrize(
    ("method", "members"),
    [
        ("tools/call", '"resultType":"task","status":"working","pollIntervalMs":5000'),
        ("tasks/get", '"resultType":"complete","status":"working"'),
        (
            "tasks/get",
            f'"resultType":"complete","status":"input_required","inputRequests":{{"a":{_QUESTION}}}',
        ),
        ("tasks/get", '"resultType":"complete","status":"completed","result":{"content":[]}'),
        (
            "tasks/get",
            '"resultType":"complete","status":"completed","result":{"content":[],"isError":true}',
        ),
        (
            "tasks/get",
            '"resultType":"complete","status":"failed","error":{"code":-1,"message":"m"}',
        ),
        ("tasks/get", '"resultType":"complete","status":"cancelled","statusMessage":"enough"'),
    ],
)
def test_a_task_of_the_extension_in_any_state_is_sound(method: str, members: str) -> None:
    """2026-07-28: nothing is said of what the extension's own page shows."""
    params = {"_meta": stating({"extensions": {"io.modelcontextprotocol/tasks": {}}})}
    named = {"name": "t"} if method == "tools/call" else {"taskId": "t"}
    exchange = asked(method, {**named, **params}, version=R2026)
    assert codes(check(exchange, f"{{{members},{_TASK}}}", TextForm.RESULT).diagnostics) == []


@pytest.mark.parametrize(
    ("parked", "member", "is_refused"),
    [
        ("", "inputRequests", False),
        ("task", "inputRequests", False),
        ("ticket", "inputRequests", True),
        ("", "requestState", False),
        ("task", "requestState", True),
    ],
)
def test_a_parked_call_asks_only_by_its_task(parked: str, member: str, *, is_refused: bool) -> None:
    """Its client does not repeat it."""
    question = {"method": "roots/list"}
    part: object = {"a": question} if member == "inputRequests" else "s"
    exchange = asked(CALL, {"name": "t", "_meta": stating({"roots": {}})}, version=R2026)
    text = json.dumps({"resultType": "input_required", member: part})
    verdict = check(exchange._replace(parked=parked), text, TextForm.RESULT)
    assert codes(verdict.diagnostics) == (["M109"] if is_refused else [])


def test_a_missing_version_is_the_one_that_the_client_asked_for() -> None:
    """The fix adds it; the newest one where the client's does not exist."""
    hello = {"capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    for wanted, added in ((R2024, R2024), ("2020-01-01", R2025)):
        exchange = asked("initialize", {"protocolVersion": wanted}, version=R2025)
        verdict = check(exchange, json.dumps(hello), TextForm.RESULT)
        assert codes(verdict.diagnostics) == ["M09"]
        assert json.loads(with_first_fix(verdict))["protocolVersion"] == added
