"""The kinds of problems: one value each, with its name and its short code.

The sentences and reasons are in `locales/`, by code; the fields given to the kind fill them. The
codes: J.. the JSON text, R.. the JSON-RPC envelope, M.. MCP, N.. a received line, F.. the files
that a person writes, X.. the check itself.
"""

from __future__ import annotations

from typing import Final

from humanmcp.protocol.diagnostics.model import Applicability, Severity
from humanmcp.protocol.diagnostics.problem import ProblemKind

_SPEC: Final = "https://modelcontextprotocol.io/specification/"
_MCP: Final = f"{_SPEC}2025-11-25/"
_MESSAGES: Final = f"{_MCP}basic#messages"
_STDIO: Final = f"{_MCP}basic/transports#stdio"
_SAMPLING: Final = f"{_MCP}client/sampling#message-content-constraints"
_HEADERS: Final = f"{_SPEC}2026-07-28/basic/transports/streamable-http#server-validation"
_ROUNDS: Final = f"{_SPEC}2026-07-28/basic/patterns/mrtr#client-requirements-basic-workflow"
_TASKS: Final = f"{_MCP}basic/utilities/tasks#tool-level-negotiation"
_RPC: Final = "https://www.jsonrpc.org/specification"
_RESPONSE: Final = f"{_RPC}#response_object"
_ERROR: Final = f"{_RPC}#error_object"
_JSON: Final = "https://www.rfc-editor.org/rfc/rfc8259"
_EXTENSIONS: Final = "https://github.com/modelcontextprotocol/"
_SKILLS: Final = f"{_EXTENSIONS}ext-skills/blob/main/specification/stable/skills.mdx"
_APPS: Final = f"{_EXTENSIONS}ext-apps/blob/main/specification/2026-01-26/apps.mdx"

_W: Final = Severity.WARNING
_H: Final = Severity.HINT
_HOSTS: Final = Severity.HOSTS
_R: Final = Severity.REPAIRED
_GUESS: Final = Applicability.GUESS
_REMOVES: Final = Applicability.REMOVES
_PLACEHOLDER: Final = Applicability.PLACEHOLDER

# -- the members of a message ---------------------------------------------------------------------
wrong_jsonrpc_version = ProblemKind("R01", page=_RESPONSE)
missing_id = ProblemKind("R02", page=_RESPONSE)
wrong_id = ProblemKind("R03", page=_RESPONSE)
wrong_id_type = ProblemKind("R04", page=_RESPONSE)
invalid_id = ProblemKind("R16", page=_RESPONSE)
result_and_error = ProblemKind("R05", page=_RESPONSE)
no_result_or_error = ProblemKind("R06", page=_RESPONSE)
method_in_answer = ProblemKind("R07", page=_MESSAGES)
message_not_object = ProblemKind("R14", page=_MESSAGES)
misspelt_envelope_member = ProblemKind("R15", page=_MESSAGES)
unknown_envelope_member = ProblemKind("R17", page=_MESSAGES)
batch_not_allowed = ProblemKind("R12", page=_MESSAGES)
batch_of_one = ProblemKind("R13", page=_MESSAGES)
result_not_object = ProblemKind("R20", page=_MESSAGES)

# -- errors ---------------------------------------------------------------------------------------
error_code_not_integer = ProblemKind("R08", page=_ERROR)
missing_error_message = ProblemKind("R09", page=_ERROR)
empty_error_message = ProblemKind("R56", _W, page=_ERROR)
reserved_error_code = ProblemKind("R10", _W, page=_ERROR)
unknown_error_member = ProblemKind("R11", _W, page=_ERROR)
error_not_object = ProblemKind("R18", page=_ERROR)
missing_error_code = ProblemKind("R19", page=_ERROR)
error_inside_error = ProblemKind("R25", page=_ERROR)

# -- answers to requests that are over ------------------------------------------------------------
answer_after_cancel = ProblemKind("R21", page=f"{_MCP}basic/utilities/cancellation")
already_answered = ProblemKind("R22")
client_stopped_waiting = ProblemKind("R23")
id_already_answered = ProblemKind("R53")
answer_to_notification = ProblemKind("R55", page=f"{_RPC}#notification")
unknown_request_id = ProblemKind("R50", page=_MESSAGES)
nothing_waits_for_id = ProblemKind("R51", page=f"{_RPC}#notification")
no_request_waits = ProblemKind("R52", page=f"{_RPC}#notification")
several_requests_wait = ProblemKind("R54", page=_MESSAGES)

# -- outgoing messages ----------------------------------------------------------------------------
sent_too_early = ProblemKind("R24", page=f"{_MCP}basic/lifecycle#initialization")
missing_method = ProblemKind("R30", page=f"{_RPC}#request_object")
method_not_string = ProblemKind("R31", page=f"{_RPC}#request_object")
undeclared_client_capability = ProblemKind("R32", page=f"{_MCP}basic/lifecycle#operation")
not_a_server_method = ProblemKind("R33")
error_without_id = ProblemKind("R34", page=_RESPONSE)
method_beside_result = ProblemKind("R35", page=_MESSAGES)
invalid_request_id = ProblemKind("R36", page=f"{_MCP}basic#requests")
notification_with_id = ProblemKind("R37", page=f"{_MCP}basic#notifications")
params_not_object = ProblemKind("R38", page=_MESSAGES)
no_server_requests = ProblemKind("R39")
undeclared_server_capability = ProblemKind("R40", _W)
missing_subscription_id = ProblemKind("R41", _W)

# -- malformed lines, one for each `jsonrpc.Flaw` -------------------------------------------------
line_not_json = ProblemKind("N01", page=_STDIO)
line_not_utf8 = ProblemKind("N02", page=_STDIO)
line_too_deep = ProblemKind("N03", page=_STDIO)
line_number_too_long = ProblemKind("N04", page=_STDIO)
line_not_object = ProblemKind("N05", page=_STDIO)
line_not_message = ProblemKind("N06", page=_STDIO)
line_with_invalid_id = ProblemKind("N07", page=f"{_MCP}basic#requests")
response_without_id = ProblemKind("N08", page=f"{_MCP}basic#responses")
batch_not_read = ProblemKind("N09", page=_STDIO)
batch_too_long = ProblemKind("N17", page=_STDIO)
bom_before_line = ProblemKind("N11", _W, page=_STDIO)

# -- a whole conversation -------------------------------------------------------------------------
id_in_use = ProblemKind("N10", _W, page=f"{_MCP}basic#requests")
unmatched_response = ProblemKind("N30", _W)
unexpected_server_method = ProblemKind("N31", _W)
maybe_answered_without_id = ProblemKind("N59", _W, page=f"{_MCP}basic#responses")
server_request_too_early = ProblemKind("N58", _W, page=f"{_MCP}basic/lifecycle#initialization")
message_kind_changed = ProblemKind("N32")
id_changed = ProblemKind("N33")
own_message_at_tap = ProblemKind("N34")
other_request_shown = ProblemKind("N40")
no_decision = ProblemKind("N65")
missing_batch_answers = ProblemKind("N35")
progress_not_rising = ProblemKind("N36", _W, page=f"{_MCP}basic/utilities/progress")
unknown_progress_token = ProblemKind("N37", _W, page=f"{_MCP}basic/utilities/progress")
request_never_answered = ProblemKind("N38", _W)
answer_dropped = ProblemKind("N39", _W)
late_response = ProblemKind("N47", _W, page=f"{_MCP}basic/utilities/cancellation")
request_not_read = ProblemKind("N48", _H)
content_length_header = ProblemKind("N49", page=_STDIO)
python_dictionary = ProblemKind("N50", page=_JSON)
javascript_object = ProblemKind("N51", page=_JSON)
line_in_utf16 = ProblemKind("N52", page=_STDIO)
line_not_in_utf8 = ProblemKind("N53", page=_STDIO)
missing_line_feed = ProblemKind("N54", page=_STDIO)
terminal_codes = ProblemKind("N55", page=_STDIO)
http_error_id = ProblemKind("N56", _W)
request_not_recorded = ProblemKind("N57", _H)
refused_before_initialize = ProblemKind("N60", _W, page=f"{_MCP}basic/lifecycle#initialization")
client_reactions = ProblemKind("N46", _HOSTS)
carriage_return_inside = ProblemKind("N41", page=_STDIO)
name_read_differently = ProblemKind("N42")
unread_line_changed = ProblemKind("N43")
second_response = ProblemKind("N44", _W)
answered_notification = ProblemKind("N45", _W, page=f"{_MCP}basic#notifications")

# -- members that are missing or unknown ----------------------------------------------------------
missing_result_type = ProblemKind("M07", page=f"{_SPEC}2026-07-28/basic#responses")
missing_member = ProblemKind("M09")
misspelt_required_member = ProblemKind("M10")
misspelt_member = ProblemKind("M11")
unknown_member = ProblemKind("M12", _W)
member_too_new = ProblemKind("M13", _W)
member_removed = ProblemKind("M14", _W)
missing_kind = ProblemKind("M26")
missing_one_of = ProblemKind("M27")
conflicting_members = ProblemKind("M28", _W)
invalid_meta_key = ProblemKind("M73", _W, page=f"{_MCP}basic")
reserved_meta_prefix = ProblemKind("M80", _W, page=f"{_MCP}basic")
extension_without_prefix = ProblemKind("M93", _W)

# -- values of the wrong type ---------------------------------------------------------------------
not_an_array = ProblemKind("M01")
not_a_string = ProblemKind("M15")
not_an_object = ProblemKind("M16")
not_a_boolean = ProblemKind("M17")
not_an_integer = ProblemKind("M18")
not_a_number = ProblemKind("M19")
null_value = ProblemKind("M20")
invalid_form_value = ProblemKind("M76")
not_string_or_integer = ProblemKind("M81")

# -- values that are not allowed ------------------------------------------------------------------
unknown_type = ProblemKind("M02")
schema_not_object = ProblemKind("M03", page=f"{_MCP}server/tools#tool")
value_not_allowed = ProblemKind("M21")
form_not_flat = ProblemKind("M67")
number_too_small = ProblemKind("M22")
number_too_large = ProblemKind("M23")
too_many_values = ProblemKind("M25")
value_too_new = ProblemKind("M24")
invalid_base64 = ProblemKind("M29", page="https://www.rfc-editor.org/rfc/rfc4648#section-4")
data_url_as_base64 = ProblemKind("M30")
not_a_uri = ProblemKind("M31", _W)
not_a_media_type = ProblemKind("M32", _W)
not_a_time = ProblemKind("M33")
invalid_tool_name = ProblemKind("M39", _W, page=f"{_MCP}server/tools#tool-names")
invalid_icon_url = ProblemKind("M65", _W)
invalid_digest = ProblemKind("M72", _W)
not_a_file_uri = ProblemKind("M94")
invalid_trace_parent = ProblemKind("M141", _W, page="https://www.w3.org/TR/trace-context/")

# -- results --------------------------------------------------------------------------------------
message_as_result = ProblemKind("M34")
error_as_result = ProblemKind("M35")
result_inside_result = ProblemKind("M36")
result_not_empty = ProblemKind("M37")
bare_text_result = ProblemKind("M64", page=f"{_MCP}server/tools#tool-result")
text_not_allowed = ProblemKind("M69")
unrequested_task = ProblemKind("M75")
unknown_result_type = ProblemKind("M51", page=f"{_SPEC}2026-07-28/basic#responses")
input_required_not_allowed = ProblemKind("M52")
nothing_asked = ProblemKind("M53")
questions_marked_complete = ProblemKind("M54")
result_beside_questions = ProblemKind("M55")
undeclared_tasks = ProblemKind("M56")
question_while_parked = ProblemKind("M109")
unfilled_placeholder = ProblemKind("M61")
message_as_text = ProblemKind("M110", _W, applicability=_GUESS)

# -- received messages ----------------------------------------------------------------------------
unknown_tool = ProblemKind("M62", _W, page=f"{_MCP}server/tools#error-handling")
unknown_prompt = ProblemKind("M121", _W, page=f"{_MCP}server/prompts#error-handling")
missing_prompt_argument = ProblemKind("M122", _W, page=f"{_MCP}server/prompts#error-handling")
notification_as_request = ProblemKind("M123", _W, page=f"{_MCP}basic#notifications")
result_of_unknown_method = ProblemKind("M68", _W)
maybe_extension_method = ProblemKind("M71", _H)
unknown_method = ProblemKind("M83", _H)
misspelt_method = ProblemKind("M84", _W)
method_of_other_version = ProblemKind("M85", _W)
request_before_initialized = ProblemKind("M86", _H, page=f"{_MCP}basic/lifecycle")
args_for_arguments = ProblemKind("M87", _W, page=f"{_MCP}server/tools")
missing_meta_member = ProblemKind("M88", _W, page=f"{_SPEC}2026-07-28/basic")
request_without_id = ProblemKind("M89", _W)
unknown_client_version = ProblemKind("M90", _W)
undeclared_directory_read = ProblemKind("M108", _W)
unknown_input_response = ProblemKind("M130", _W, page=_ROUNDS)
missing_input_response = ProblemKind("M131", _W, page=_ROUNDS)
wrong_request_state = ProblemKind("M132", page=_ROUNDS)
task_required = ProblemKind("M135", page=_TASKS)
task_not_supported = ProblemKind("M136", page=_TASKS)
retry_with_same_id = ProblemKind("M133", page=_ROUNDS)

# -- commas, colons, brackets ---------------------------------------------------------------------
missing_comma = ProblemKind("J01", page=_JSON)
extra_comma = ProblemKind("J02", page=_JSON)
full_width_character = ProblemKind("J03", page=_JSON, everywhere=True)
unclosed_bracket = ProblemKind("J07", page=_JSON, label="close")
missing_colon = ProblemKind("J13", page=_JSON)
extra_bracket = ProblemKind("J26", page=_JSON)
wrong_bracket = ProblemKind("J28", page=_JSON)
semicolon_in_json = ProblemKind("J32", page=_JSON, everywhere=True)
missing_brace = ProblemKind("J38", page=_JSON)
unexpected_character = ProblemKind("J29", page=_JSON)

# -- white space and comments ---------------------------------------------------------------------
comment_in_json = ProblemKind("J08", page=_JSON, everywhere=True, applicability=_REMOVES)
full_width_space = ProblemKind("J11", page=_JSON, everywhere=True)
invisible_character = ProblemKind("J18", page=_JSON, everywhere=True)

# -- names and strings ----------------------------------------------------------------------------
smart_quotes = ProblemKind("J04", page=_JSON, everywhere=True)
wrong_quotes = ProblemKind("J05", page=_JSON, everywhere=True, label="replace_all")
unquoted_name = ProblemKind("J06", page=_JSON, everywhere=True)
duplicate_name = ProblemKind("J09", page=_JSON)
control_character = ProblemKind("J15", page=_JSON, everywhere=True)
unknown_escape = ProblemKind("J16", page=_JSON, everywhere=True)
unclosed_quote = ProblemKind("J17", page=_JSON, label="close", applicability=_GUESS)
unopened_quote = ProblemKind("J37", page=_JSON, applicability=_GUESS)
unquoted_string = ProblemKind("J22", page=_JSON, label="quote")
lone_surrogate = ProblemKind("J23", page=_JSON, applicability=_GUESS)
unescaped_quote = ProblemKind("J33", page=_JSON, everywhere=True)
adjacent_strings = ProblemKind("J36", page=_JSON, label="join")

# -- numbers, words, values -----------------------------------------------------------------------
unsupported_number = ProblemKind("J10", page=_JSON, everywhere=True, applicability=_GUESS)
number_out_of_range = ProblemKind("J46", page=_JSON, everywhere=True, applicability=_GUESS)
misspelt_literal = ProblemKind("J14", page=_JSON, everywhere=True)
invalid_number = ProblemKind("J21", page=_JSON)
number_too_long = ProblemKind("J24", page=_JSON, label="quote", applicability=_GUESS)
missing_value = ProblemKind("J34", page=_JSON, label="null", applicability=_PLACEHOLDER)

# -- the text as a whole --------------------------------------------------------------------------
second_document = ProblemKind("J12", page=_JSON)
empty_answer = ProblemKind("J19", page=_JSON)
plain_text = ProblemKind("J20", page=_JSON)
nested_too_deep = ProblemKind("J25", page=_JSON)
answer_too_large = ProblemKind("J27")
text_after_answer = ProblemKind("J30", page=_JSON, applicability=_REMOVES)
shell_quotes = ProblemKind("J31", page=_JSON)
text_before_answer = ProblemKind("J35", page=_JSON)
escaped_json = ProblemKind("J39", page=_JSON)
large_answer = ProblemKind("J40", _W)
line_prefixes = ProblemKind("J41", page=_JSON)
text_around_answer = ProblemKind("J42", page=_JSON)
quoted_answer = ProblemKind("J44", page=_JSON)
possible_secret = ProblemKind("J45", _W)
code_fence = ProblemKind("J50", _R, page=_JSON)
several_lines = ProblemKind("J51", _R, page=_STDIO)

# -- the file that a person wrote -----------------------------------------------------------------
byte_order_mark = ProblemKind("F01", _R, page=_STDIO)
other_encoding = ProblemKind("F02", _R, page=_STDIO)
read_as_cp932 = ProblemKind("F03", _R, page=_STDIO)
file_not_utf8 = ProblemKind("F04", page=_STDIO)
bytes_not_text = ProblemKind("F05", page=_STDIO)
rest_not_sent = ProblemKind("F06", _R, page=_STDIO)

# -- JSON Schemas, and what does not fit one ------------------------------------------------------
structured_content_mismatch = ProblemKind("M06")
arguments_mismatch = ProblemKind("M08", _W)
invalid_json_schema = ProblemKind("M40", _W)
form_value_mismatch = ProblemKind("M79")
schema_not_checked = ProblemKind("M91", _H)
unusable_schema = ProblemKind("M92", _W)
tool_input_mismatch = ProblemKind("M96")

# -- HTTP headers ---------------------------------------------------------------------------------
missing_header = ProblemKind("N12", _W, page=_HEADERS)
wrong_header = ProblemKind("N13", _W, page=_HEADERS)
repeated_header = ProblemKind("N14", _W, page=_HEADERS)
undecodable_header = ProblemKind("N15", _W, page=_HEADERS)
header_without_argument = ProblemKind("N16", _W, page=_HEADERS)

# -- forms and turns of a model -------------------------------------------------------------------
undeclared_input_request = ProblemKind("M57")
content_without_accept = ProblemKind("M77", _W)
missing_form_field = ProblemKind("M78")
tool_not_in_request = ProblemKind("M95")
duplicate_call_id = ProblemKind("M97")
unbalanced_tool_results = ProblemKind("M124", page=_SAMPLING)
mixed_tool_results = ProblemKind("M125", page=_SAMPLING)
missing_tool_call = ProblemKind("M137", page=f"{_MCP}client/sampling#tool-choice-modes")
forbidden_tool_call = ProblemKind("M138", page=f"{_MCP}client/sampling#tool-choice-modes")
foreign_stop_reason = ProblemKind("M126", _W)
unsupported_model_content = ProblemKind("M98")

# -- tools, resources and pages of a list ---------------------------------------------------------
duplicate_in_list = ProblemKind("M38", _W)
required_without_property = ProblemKind("M41", _H)
empty_cursor = ProblemKind("M42", _W)
same_cursor = ProblemKind("M43", _W)
cache_scope_differs = ProblemKind("M139", _W, page=f"{_SPEC}2026-07-28/server/utilities/caching")
error_hidden_from_model = ProblemKind("M50", _H)
error_structure_mismatch = ProblemKind("M111", _W, page=f"{_MCP}server/tools#output-schema")
missing_structured_content = ProblemKind("M58")
structured_content_without_text = ProblemKind("M59", _W)
empty_contents = ProblemKind("M60", _W)
media_type_mismatch = ProblemKind("M66", _W)
resource_uri_differs = ProblemKind("M70", _H)
invalid_argument_header = ProblemKind("M99", _W)
order_to_be_silent = ProblemKind("M140", _W, page=f"{_MCP}server/tools#security-considerations")

# -- handshake, subscriptions, extensions ---------------------------------------------------------
protocol_version_differs = ProblemKind("M04", _W)
undeclared_capability = ProblemKind("M05", _W)
declared_and_refused = ProblemKind("M134", _W, page=f"{_MCP}basic/lifecycle#operation")
invalid_protocol_version = ProblemKind("M44")
version_refused = ProblemKind("M120", _W, page=f"{_MCP}basic/lifecycle#version-negotiation")
no_supported_versions = ProblemKind("M45", _W)
unusual_supported_versions = ProblemKind("M46", _W)
capabilities_in_server_info = ProblemKind("M47", _W)
old_completions_name = ProblemKind("M48", _W)
server_named_as_client = ProblemKind("M49", _H)
misplaced_capability = ProblemKind("M63", _W)
wrong_subscription_id = ProblemKind("M74")
wrong_skill_uri = ProblemKind("M100", _W, page=_SKILLS)
missing_skill_file = ProblemKind("M101", _W, page=_SKILLS)
skill_file_outside = ProblemKind("M102", _W, page=_SKILLS)
too_many_skill_files = ProblemKind("M103", _W, page=_SKILLS)
skill_too_large = ProblemKind("M104", _W, page=_SKILLS)
skills_without_resources = ProblemKind("M105", _W, page=_SKILLS)
wrong_app_type = ProblemKind("M106", _W, page=_APPS)
not_a_ui_uri = ProblemKind("M107", _W, page=_APPS)
not_a_document = ProblemKind("M142", _W, page=_APPS)
wrong_app_domain = ProblemKind("M143", _W, page=_APPS)
wrong_visibility = ProblemKind("M144", _W, page=_APPS)
old_page_member = ProblemKind("M145", _W, page=_APPS)
client_without_apps = ProblemKind("M146", _H, page=_APPS)
page_without_text = ProblemKind("M147", _W, page=_APPS)
page_of_tool_missing = ProblemKind("M148", _W, page=_APPS)

# -- what known hosts refuse, though MCP allows it: the hosts, and a public report ----------------


def _refused(code: str, hosts: str, report: str) -> ProblemKind:
    return ProblemKind(code, _HOSTS, page=f"https://github.com/{report}", hosts=hosts)


# also openai/codex/issues/8174, l22-io/orchard-mcp/issues/14
dotted_tool_name = _refused(
    "M113", "Copilot CLI, Codex, Claude Desktop", "github/copilot-cli/issues/2581"
)
# also barryw/ImmichMCP/issues/4
long_tool_name = _refused("M114", "VS Code, Claude Desktop", "microsoft/vscode/issues/243602")
# also makenotion/notion-mcp-server/issues/341
combined_schema_at_top = _refused(
    "M115", "Claude Code and other hosts of the Claude API", "anthropics/claude-code/issues/5973"
)
# also ruvnet/ruflo/issues/1294
array_without_items = _refused("M116", "VS Code, Codex", "agentscope-ai/ReMe/issues/84")
# also anomalyco/opencode/issues/48073
list_of_types = _refused(
    "M117", "Copilot CLI and opencode with a Gemini model", "github/copilot-cli/issues/4623"
)
# also cline/cline/issues/9589
large_integer = _refused("M118", "Claude Code, Cline", "anthropics/claude-code/issues/78762")
# also anomalyco/opencode/issues/4909
many_tools = _refused(
    "M119",
    "VS Code, opencode with a Copilot model",
    "microsoft/vscode-copilot-release/issues/11653",
)
# also makenotion/notion-mcp-server/issues/42, sbroenne/mcp-server-excel/issues/607 (empty strings)
enum_not_of_text = _refused(
    "M129",
    "Google's Agent Development Kit and other hosts of the Gemini API",
    "mongodb-js/mongodb-mcp-server/issues/715",
)
# also decocms/studio/pull/6874 (only the top), ComposioHQ/composio/issues/2330 (the length)
unusual_property_name = _refused(
    "M127", "Claude Code and other hosts of the Claude API", "anthropics/claude-code/issues/79418"
)
# also modelcontextprotocol/servers/issues/1624 (exclusiveMinimum), zendev-sh/goai/pull/108
keyword_unknown_to_gemini = _refused(
    "M128", "Zed and other hosts of the Gemini API", "zed-industries/zed/issues/45552"
)

# -- the check itself -----------------------------------------------------------------------------
check_failed = ProblemKind("X01")
seen_alone = ProblemKind("X02", _H)

KINDS: Final[dict[str, ProblemKind]] = {}
"""Every kind of problem by its code. The variable of a kind has its name."""
for _variable, _kind in list(globals().items()):
    if isinstance(_kind, ProblemKind):
        _kind.name = _variable.replace("_", "-")
        KINDS[_kind.code] = _kind

OF_THE_SESSION: Final = frozenset(
    {
        *(undeclared_input_request.code, undeclared_tasks.code, unrequested_task.code),
        *(wrong_subscription_id.code, tool_not_in_request.code, unknown_progress_token.code),
    }
)
"""The problems of a message that only its request and its session can show."""

WRONG_IDS: Final = frozenset({wrong_id.code, wrong_id_type.code, invalid_id.code})
"""The problems of a response's id."""


def name_of_kind(code: str) -> str:
    """Return the name of a kind of problem; "" for a code of a newer humanmcp."""
    return KINDS[code].name if code in KINDS else ""


def title_of(code: str) -> str:
    """Return the heading of a kind of problem for people: `unknown-member (M12)`."""
    return f"{KINDS[code].name} ({code})" if code in KINDS else code


def code_of(typed: str) -> str:
    """Return the code of the kind that a person names by name or code; "" if there is none."""
    code = typed.upper()
    named = (kind.code for kind in KINDS.values() if kind.name == typed.lower())
    return code if code in KINDS else next(named, "")
