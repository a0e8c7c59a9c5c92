"""The kinds of problems: one class each, in families by what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from humanmcp.protocol.diagnostics.locate import RawDiagnostic, shown
from humanmcp.protocol.diagnostics.model import Applicability, Severity
from humanmcp.protocol.json.jsonrpc import Flaw

if TYPE_CHECKING:
    from humanmcp.protocol.diagnostics.locate import Detail

_MCP: Final = "https://modelcontextprotocol.io/specification/2025-11-25/"
_RPC: Final = "https://www.jsonrpc.org/specification"
_W: Final = Severity.WARNING

# -- the members of a message -------------------------------------------------------------------


class RpcDiagnostic(RawDiagnostic, page=f"{_MCP}basic#messages"):
    """A message whose envelope is not as JSON-RPC and MCP want it."""


class VersionMissing(RpcDiagnostic, code="R01", page=f"{_RPC}#response_object"):
    """`jsonrpc`: "MUST be exactly "2.0"." Clients drop a message without it."""


class IdMissing(RpcDiagnostic, code="R02", page=f"{_RPC}#response_object"):
    """The id tells which request is answered."""

    id: str


class WrongId(RpcDiagnostic, page=f"{_RPC}#response_object"):
    """`id`: "It MUST be the same as the value of the id member in the Request Object"."""

    typed: str
    id: str


class OtherId(WrongId, code="R03"):
    """The host ignores an answer to an id that it did not send."""


class IdOfOtherType(WrongId, code="R04"):
    """Some clients convert an id, others drop the answer."""


class IdMalformed(WrongId, code="R16"):
    """MCP allows text and whole numbers."""


class ResultAndError(RpcDiagnostic, code="R05", page=f"{_RPC}#response_object"):
    """One of them "MUST be included, but both members MUST NOT be included"."""


class NoBody(RpcDiagnostic, code="R06", page=f"{_RPC}#response_object"):
    """What is answered stands after `result`, a refusal after `error`."""

    typed: str


class LooksLikeRequest(RpcDiagnostic, code="R07"):
    """The id is enough to say what is answered."""


class NotOneObject(RpcDiagnostic, code="R14"):
    """A message is one object."""

    got: str


class MemberMisspelt(RpcDiagnostic, code="R15"):
    """Names are compared letter by letter."""

    key: str
    typed: str


class MemberStrange(RpcDiagnostic, code="R17"):
    """The TypeScript clients drop a message with anything else at its top."""

    key: str


class BatchNotAllowed(RpcDiagnostic, code="R12"):
    """Batches existed in 2025-03-26 only."""


class BatchOfOne(RpcDiagnostic, code="R13"):
    """2025-03-26 answers a batch with one; it is sent when all in it are answered."""


class ResultNoObject(RpcDiagnostic, code="R20"):
    """Even an empty answer is an object."""

    got: str


# -- errors -------------------------------------------------------------------------------------
class ErrorDiagnostic(RawDiagnostic, page=f"{_RPC}#error_object"):
    """An error object that is not as JSON-RPC wants it."""


class CodeNotWhole(ErrorDiagnostic, code="R08"):
    """JSON-RPC: "This MUST be an integer." The TypeScript clients drop anything else."""


class WordsMissing(ErrorDiagnostic, code="R09"):
    """Most hosts show the message."""


class WordsEmpty(ErrorDiagnostic, code="R56", severity=_W):
    """Allowed, and the reader of the error learns nothing."""


class ReservedCode(ErrorDiagnostic, code="R10", severity=_W):
    """JSON-RPC reserves -32768 to -32000."""

    number: str
    version: str

    @property
    def detail(self) -> Detail:  # the sentence calls it {code}, which is another thing here
        """Return what fills its sentence."""
        return (("code", self.number), ("version", self.version))


class ErrorMemberStrange(ErrorDiagnostic, code="R11", severity=_W):
    """Clients ignore the rest."""

    key: str


class ErrorNoObject(ErrorDiagnostic, code="R18"):
    """It is a number for programs and a sentence for people."""

    got: str


class CodeMissing(ErrorDiagnostic, code="R19"):
    """Programs go by the number."""


class ErrorInError(ErrorDiagnostic, code="R25"):
    """The envelope is added by itself."""


# -- answers to what no longer waits --------------------------------------------------------------
class AnswerTooLate(RawDiagnostic):
    """An answer to a request that is over."""


class AnswerToCancelled(AnswerTooLate, code="R21", page=f"{_MCP}basic/utilities/cancellation"):
    """After `notifications/cancelled` nothing more is sent for the id."""


class AlreadyAnswered(AnswerTooLate, code="R22"):
    """One request has one answer."""


class NoMoreWaiting(AnswerTooLate, code="R23"):
    """The client closed the connection, or gave up on this request."""


class OtherAnswered(AnswerTooLate, code="R53"):
    """A client that used one id for two requests takes one answer."""

    id: str


class NotificationAnswered(AnswerTooLate, code="R55", page=f"{_RPC}#notification"):
    """JSON-RPC: "The Server MUST NOT reply to a Notification"."""

    id: str
    method: str


class NoSuchRequest(RpcDiagnostic, code="R50"):
    """The host ignores an answer to an id that it did not send."""

    pending: str
    typed: str


class NothingWaits(RpcDiagnostic, code="R51", page=f"{_RPC}#notification"):
    """Only requests are answered, each once."""

    typed: str


class NoRequestWaits(RpcDiagnostic, code="R52", page=f"{_RPC}#notification"):
    """Only requests are answered, each once."""


class IdNeeded(RpcDiagnostic, code="R54"):
    """Of several requests the id tells which is answered."""

    id: str


# -- something of the person's own ----------------------------------------------------------------
class TooEarly(RawDiagnostic, code="R24", page=f"{_MCP}basic/lifecycle#initialization"):
    """Before `initialized` servers "SHOULD NOT send requests other than pings and logging"."""


class MethodMissing(RpcDiagnostic, code="R30", page=f"{_RPC}#request_object"):
    """What is said first has a method."""


class MethodNoText(RpcDiagnostic, code="R31", page=f"{_RPC}#request_object"):
    """It names what is asked for or told."""

    got: str


class CapabilityNotDeclared(RawDiagnostic, code="R32", page=f"{_MCP}basic/lifecycle#operation"):
    """MCP: "Only use capabilities that were successfully negotiated"."""

    capability: str
    method: str


class NotSentByServers(RawDiagnostic, code="R33"):
    """Each version lists what may be sent, and in which direction."""

    method: str
    version: str


class ErrorWithoutId(RpcDiagnostic, code="R34", page=f"{_RPC}#response_object"):
    """It says that a line was no message, and so follows one."""


class MethodAndBody(RpcDiagnostic, code="R35"):
    """The members tell what kind of message it is."""


class OwnIdMalformed(RpcDiagnostic, code="R36", page=f"{_MCP}basic#requests"):
    """MCP: "Requests MUST include a string or integer ID"."""

    typed: str


class NotificationWithId(RpcDiagnostic, code="R37", page=f"{_MCP}basic#notifications"):
    """MCP: "Notifications MUST NOT include an ID"."""


class ParamsNoObject(RpcDiagnostic, code="R38"):
    """MCP names its parameters; lists and null are not used."""


class NoServerRequests(RawDiagnostic, code="R39"):
    """2026-07-28 asks the client inside of answers."""

    method: str


class ServerCapabilityNotDeclared(RawDiagnostic, code="R40", severity=_W):
    """What a server sends should be among what it declared."""

    capability: str
    method: str


class SubscriptionMissing(RawDiagnostic, code="R41", severity=_W):
    """2026-07-28 sends it to those who listen, under the id of their request."""


# -- lines that are no message: `jsonrpc.Flaw` says which ----------------------------------------


class LineDiagnostic(RawDiagnostic, page=f"{_MCP}basic/transports#stdio"):
    """Nothing is written to stdout "that is not a valid MCP message"."""


class NotJson(LineDiagnostic, code=Flaw.NOT_JSON):
    """Often a log line of the other program that went to the wrong place."""

    column: str


class LineNotUtf8(LineDiagnostic, code=Flaw.NOT_UTF8):
    """MCP: "JSON-RPC messages MUST be UTF-8 encoded." The bytes are kept as they came."""

    byte: str


class LineTooDeep(LineDiagnostic, code=Flaw.TOO_DEEP):
    """It may be an attempt to make a program fail."""

    limit: str


class LineWithLongNumber(LineDiagnostic, code=Flaw.LONG_NUMBER):
    """Such numbers take very long to read."""


class LineNoObject(LineDiagnostic, code=Flaw.NO_OBJECT):
    """A message is one JSON object."""

    got: str


class LineNoMessage(LineDiagnostic, code=Flaw.NO_MESSAGE):
    """The members tell the kind of a message; none of them is there."""


class LineIdMalformed(LineDiagnostic, code=Flaw.ID_MALFORMED, page=f"{_MCP}basic#requests"):
    """MCP: "Requests MUST include a string or integer ID"."""

    got: str


class LineIdMissing(LineDiagnostic, code=Flaw.ID_MISSING, page=f"{_MCP}basic#responses"):
    """An answer carries the id of its request."""


class BatchUnread(LineDiagnostic, code=Flaw.IN_BATCH):
    """2025-06-18 took batches out."""


class BatchTooLong(LineDiagnostic, code=Flaw.LONG_BATCH):
    """All messages of an array are taken in at once, and other sessions wait for so long."""

    limit: str


class MarkBeforeLine(LineDiagnostic, code="N11", severity=_W):
    """The TypeScript clients drop a line with a byte-order mark."""


# -- a conversation that passes or waits ----------------------------------------------------------
class IdInUse(RawDiagnostic, code="N10", severity=_W, page=f"{_MCP}basic#requests"):
    """MCP: "The request ID MUST NOT have been previously used by the requestor"."""


class AnswerToNothing(RawDiagnostic, code="N30", severity=_W):
    """Its id is new, or was answered already."""


class NotOfServers(RawDiagnostic, code="N31", severity=_W):
    """Each method goes one way only, and not every version has it."""

    method: str
    version: str


class OtherKind(RawDiagnostic, code="N32"):
    """The receiver waits for one kind of message and would get the other."""

    was: str
    now: str


class IdChanged(RawDiagnostic, code="N33"):
    """The sender of the request finds the answer by its id."""

    was: str
    now: str


class SaidFirstAtTap(RawDiagnostic, code="N34"):
    """Ids that neither side has counted would confuse both."""


class ShownOther(RawDiagnostic, code="N40"):
    """A client may repeat a request with other arguments; a page may be open in two windows."""


class AnswersMissing(RawDiagnostic, code="N35"):
    """The sender of the array waits for an answer to every request in it."""

    ids: str


class ProgressFell(RawDiagnostic, code="N36", severity=_W, page=f"{_MCP}basic/utilities/progress"):
    """MCP: "The `progress` value MUST increase with each notification"."""

    before: str
    now: str


class TokenUnknown(RawDiagnostic, code="N37", severity=_W, page=f"{_MCP}basic/utilities/progress"):
    """It names a token that was "provided in an active request"."""

    token: str


class LeftWithoutAnswer(RawDiagnostic, code="N38", severity=_W):
    """The sender waits for it until its own limit."""

    method: str
    id: str


class AnswerDropped(RawDiagnostic, code="N39", severity=_W):
    """The sender still waits: the line that was meant to answer it was dropped."""

    method: str
    id: str
    line: str


class CheckFailed(RawDiagnostic, code="X01"):
    """The fault is not in the text; everything else goes on as before."""

    why: str


_SPEC: Final = "https://modelcontextprotocol.io/specification/"
_SERVER: Final = f"{_SPEC}2025-11-25/server/"
_BASIC: Final = f"{_SPEC}2025-11-25/basic"
_H: Final = Severity.HINT


# -- families: the fields that many sentences share -----------------------------------------------
class AboutMember(RawDiagnostic):
    """`key` is the place or the name that it is about."""

    key: str


class WrongType(AboutMember):
    """Clients check the types of members and reject the whole result."""

    got: str


class WrongValue(AboutMember):
    """A value of the right type that means nothing, or something else."""

    value: str


class NoneOfThese(WrongValue):
    """Only a few words have a meaning."""

    allowed: str


class OutOfRange(WrongValue):
    """Clients check the range."""

    limit: str


class WrongName(AboutMember):
    """A name that the version does not know, or does not allow."""

    version: str


class InPlace(RawDiagnostic):
    """`where` tells places apart, also in sentences that do not say it."""

    where: str


class LackingMember(InPlace):
    """A member without which clients reject the whole result."""

    key: str
    example: str


class OtherMethod(RawDiagnostic):
    """A method that the version does not have, or has for something else."""

    method: str
    version: str


# -- members that are missing, or strange ---------------------------------------------------------
class ResultTypeMissing(LackingMember, code="M07", page=f"{_SPEC}2026-07-28/basic#responses"):
    """Since 2026-07-28 each result says whether it is complete."""


class MemberMissing(LackingMember, code="M09"):
    """Clients reject a result without it."""


class MemberMisnamed(InPlace, code="M10"):
    """Names are compared letter by letter."""

    key: str
    typed: str


class NearlyAMember(WrongName, code="M11"):
    """A misspelt name is lost without an error, and the answer means something else."""

    meant: str


class MemberUnknown(WrongName, code="M12", severity=_W):
    """Clients ignore it; members of one's own go into `_meta`."""


class MemberTooNew(WrongName, code="M13", severity=_W):
    """Each version adds members that older clients do not know."""

    since: str


class MemberTooOld(WrongName, code="M14", severity=_W):
    """A later version took it out or put it elsewhere."""

    since: str


class KindMissing(InPlace, code="M26"):
    """It tells what kind of object this is."""

    key: str
    allowed: str


class NoneOfMembers(InPlace, code="M27"):
    """A resource has its content as text, or as base64 in `blob`."""

    allowed: str


class OneIsLost(RawDiagnostic, code="M28", severity=_W):
    """Text and blob are two ways to give the same content."""

    kept: str
    lost: str


class MetaKey(WrongName, code="M73", severity=_W, page=_BASIC):
    """Other programs may put keys of their own beside it."""


class ReservedPrefix(WrongName, code="M80", severity=_W, page=_BASIC):
    """MCP: "Any prefix where the second label is `modelcontextprotocol` or `mcp` is reserved"."""


class ExtensionName(WrongName, code="M93", severity=_W):
    """Without a prefix two extensions could have the same name."""


# -- values of the wrong type ---------------------------------------------------------------------
class NotAList(WrongType, code="M01"):
    """A single item, too, is written in a list."""

    example: str


class NotText(WrongType, code="M15"):
    """Clients check the types of members."""


class NotAnObject(WrongType, code="M16"):
    """An object holds named values."""


class NotATruth(WrongType, code="M17"):
    """The text "true" is not the value `true`."""


class NotWhole(WrongValue, code="M18"):
    """Numbers are written without quotes, here without a fraction."""


class NotANumber(WrongValue, code="M19"):
    """Numbers are written without quotes."""


class NullValue(WrongType, code="M20"):
    """A member without a value is left out; the TypeScript clients reject null."""


class NotAFormValue(WrongType, code="M76"):
    """The fields of a form hold plain values."""


class NotAToken(WrongType, code="M81"):
    """Ids and progress tokens are text or whole numbers."""


# -- values that mean nothing ---------------------------------------------------------------------
class TypeUnknown(NoneOfThese, code="M02"):
    """Clients reject the whole result for a type that they do not know."""


class SchemaOfNoObject(NoneOfThese, code="M03", page=f"{_SERVER}tools#tool"):
    """The arguments of a tool are an object of named values."""


class NotAllowed(NoneOfThese, code="M21"):
    """Only these words have a meaning here."""


class FormNotFlat(NoneOfThese, code="M67"):
    """The client makes an input field of each property."""


class TooSmall(OutOfRange, code="M22"):
    """Clients reject a smaller one."""


class TooGreat(OutOfRange, code="M23"):
    """Clients reject a greater one."""


class TooMany(AboutMember, code="M25"):
    """The best matches are sent, with `"hasMore": true`."""

    limit: str
    count: str


class ValueTooNew(RawDiagnostic, code="M24"):
    """An older client rejects a type that it does not know."""

    value: str
    allowed: str
    since: str
    version: str


class NotBase64(WrongValue, code="M29", page="https://www.rfc-editor.org/rfc/rfc4648#section-4"):
    """Bytes are sent in groups of four, filled up with `=`."""


class DataUrl(WrongValue, code="M30"):
    """The type is in `mimeType`; a data: URL says it twice, and clients reject it."""


class NotAUri(WrongValue, code="M31", severity=_W):
    """Some clients reject an address without a scheme."""


class NotAMediaType(WrongValue, code="M32", severity=_W):
    """A media type is two words with a slash between."""


class NotATime(WrongValue, code="M33"):
    """Times are written in ISO 8601, with the zone."""


class ToolName(WrongValue, code="M39", severity=_W, page=f"{_SERVER}tools#tool-names"):
    """The name goes to the model's API, which allows nothing else."""


class NotAnIcon(WrongValue, code="M65", severity=_W):
    """Clients load https: and data: addresses only."""


class NotADigest(WrongValue, code="M72", severity=_W):
    """Hosts do not load a skill whose files differ."""


class NotAFileUri(WrongValue, code="M94"):
    """Both TypeScript clients refuse any other address for a root."""


# -- results --------------------------------------------------------------------------------------
class MessageAsResult(RawDiagnostic, code="M34"):
    """The envelope is added by itself."""


class ErrorAsResult(RawDiagnostic, code="M35"):
    """Inside a result a client does not see it as an error."""


class ResultInResult(RawDiagnostic, code="M36"):
    """The members of the answer belong directly in `result`."""


class NotEmpty(AboutMember, code="M37"):
    """The client only wants to know that it was heard; TypeScript's reject more."""


class BareText(RawDiagnostic, code="M64", page=f"{_SERVER}tools#tool-result"):
    """A tool returns a list of items: texts, images and resources."""


class NoPlainText(RawDiagnostic, code="M69"):
    """Each method has a result of its own shape."""

    method: str


class TaskNotAskedFor(RawDiagnostic, code="M75"):
    """A task is only made when the request has `params.task`."""


class ResultTypeUnknown(RawDiagnostic, code="M51", page=f"{_SPEC}2026-07-28/basic#responses"):
    """A client must treat any other value as invalid."""

    value: str
    allowed: str


class MayNotAsk(RawDiagnostic, code="M52"):
    """Only some requests are repeated with the user's answers."""

    allowed: str


class NothingAsked(RawDiagnostic, code="M53"):
    """Without them the client does not know what to ask or to repeat."""


class AskedAsComplete(RawDiagnostic, code="M54"):
    """As "complete" the questions are not asked."""


class AskedAndAnswered(AboutMember, code="M55"):
    """The client drops it: the result comes with the answer to the repeated request."""


class TasksNotDeclared(RawDiagnostic, code="M56"):
    """The client would reject a task."""


# -- what a client sent ---------------------------------------------------------------------------
class NoSuchTool(RawDiagnostic, code="M62", severity=_W, page=f"{_SERVER}tools#error-handling"):
    """A server answers with the error -32602."""

    tool: str
    tools: str


class ResultOfOther(OtherMethod, code="M68", severity=_W):
    """What the client makes of a result is not defined."""


class MayBeOfExtension(OtherMethod, code="M71", severity=_H):
    """Nothing is known of how it must look."""


class NotStrictJson(RawDiagnostic, code="M82", severity=_W):
    """Some parsers accept it, others drop the line."""


class MethodUnknown(OtherMethod, code="M83", severity=_H):
    """It may belong to an extension, or to something that is not MCP."""


class MethodMisspelt(OtherMethod, code="M84", severity=_H):
    """The usual answer is the error -32601."""

    meant: str


class MethodOfOther(OtherMethod, code="M85", severity=_W):
    """Client and server agreed on one version, or the request states it."""

    versions: str


class BeforeInitialized(RawDiagnostic, code="M86", severity=_H, page=f"{_BASIC}/lifecycle"):
    """Many servers answer all the same."""

    method: str


class ArgsForArguments(RawDiagnostic, code="M87", severity=_W, page=f"{_SERVER}tools"):
    """The schema allows unknown names, so nothing complains."""


class MetaMissing(AboutMember, code="M88", severity=_W, page=f"{_SPEC}2026-07-28/basic"):
    """Without a handshake each request says for itself what it is."""


class RequestWithoutId(RawDiagnostic, code="M89", severity=_W):
    """Only what has an id is a request, and only a request is answered."""

    method: str


class VersionUnknown(RawDiagnostic, code="M90", severity=_W):
    """The client then picks another, or falls back to `initialize`."""

    typed: str


JSON: Final = "https://www.rfc-editor.org/rfc/rfc8259"
_R: Final = Severity.REPAIRED
STDIO: Final = "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio"


class JsonDiagnostic(RawDiagnostic, page=JSON):
    """A mistake in a text as JSON. What fills its sentence is made safe to show.

    With `everywhere` a person makes it all over a text, so that many are one with one fix. `label`
    names its fix where the edit does not tell it. `applicability` says how far the fix may be
    trusted.
    """

    everywhere: ClassVar[bool] = False
    label: ClassVar[str] = ""
    applicability: ClassVar[Applicability] = Applicability.SAFE

    def __init_subclass__(  # noqa: PLR0913 - the columns of the table
        cls,
        *,
        code: str = "",
        severity: Severity = Severity.ERROR,
        page: str = "",
        everywhere: bool = False,
        label: str = "",
        applicability: Applicability = Applicability.SAFE,
    ) -> None:
        """Register a kind of mistake."""
        super().__init_subclass__(code=code, severity=severity, page=page)
        cls.everywhere, cls.label, cls.applicability = everywhere, label, applicability

    if not TYPE_CHECKING:

        def __init__(self, path=(), mend=None, **fillings):  # noqa: ANN001, ANN003, ANN204 - as it is declared
            super().__init__(path, mend, **{name: shown(text) for name, text in fillings.items()})


# -- marks: commas, colons, brackets ----------------------------------------------------------
class CommaMissing(JsonDiagnostic, code="J01"):
    """Between two members or items there is a comma."""


class CommaExtra(JsonDiagnostic, code="J02"):
    """JSON has commas between items only; JavaScript and Python allow one after the last."""


class FullWidth(JsonDiagnostic, code="J03", everywhere=True):
    """An input method for Japanese writes marks that look almost the same."""

    char: str
    half: str


class NotClosed(JsonDiagnostic, code="J07", label="close"):
    """Every bracket that opens is closed, the innermost first."""

    char: str
    opened: str


class ColonMissing(JsonDiagnostic, code="J13"):
    """A member is a name, a colon and a value."""


class BracketExtra(JsonDiagnostic, code="J26"):
    """Each closing bracket belongs to one that was opened."""

    char: str


class WrongBracket(JsonDiagnostic, code="J28"):
    """A list ends with `]`, an object with `}`."""

    typed: str
    meant: str


class Semicolon(JsonDiagnostic, code="J32", everywhere=True):
    """TypeScript, in which the specification writes, separates members with semicolons."""


class BraceMissing(JsonDiagnostic, code="J38"):
    """A message is one object, from its first brace to its last."""

    char: str


class Unexpected(JsonDiagnostic, code="J29"):
    """From here on no guess would be safe."""

    typed: str


# -- white space and comments -------------------------------------------------------------------
class Comment(JsonDiagnostic, code="J08", everywhere=True, applicability=Applicability.REMOVES):
    """Some programs allow comments in their settings; a message is plain JSON."""


class FullWidthSpace(JsonDiagnostic, code="J11", everywhere=True):
    """Between the parts of JSON stand plain spaces, tabs and line breaks only."""


class InvisibleCharacter(JsonDiagnostic, code="J18", everywhere=True):
    """Web pages and chats hold non-breaking and zero-width spaces."""

    char: str


# -- names and texts ----------------------------------------------------------------------------
class SmartQuotes(JsonDiagnostic, code="J04", everywhere=True):
    """Word processors and chats turn quotes into smart ones."""

    char: str


class WrongQuotes(JsonDiagnostic, code="J05", everywhere=True, label="replace_all"):
    """Python and JavaScript allow single quotes and backticks."""

    char: str


class NameUnquoted(JsonDiagnostic, code="J06", everywhere=True):
    """In JavaScript a name needs no quotes."""

    key: str


class NameTwice(JsonDiagnostic, code="J09"):
    """Readers keep one of them and say nothing: a part of the answer is lost."""

    key: str


class ControlCharacter(JsonDiagnostic, code="J15", everywhere=True):
    """A text holds no raw control characters."""

    written: str


class EscapeUnknown(JsonDiagnostic, code="J16", everywhere=True):
    r"""A backslash begins an escape: a path is written `C:\\Users`."""

    typed: str


class QuoteNotClosed(JsonDiagnostic, code="J17", label="close", applicability=Applicability.GUESS):
    """Without its end the rest of the line belongs to the text."""


class QuoteNotOpened(JsonDiagnostic, code="J37", applicability=Applicability.GUESS):
    """Where such a text begins is a guess."""


class TextUnquoted(JsonDiagnostic, code="J22", label="quote"):
    """Only numbers, `true`, `false` and `null` are values without quotes."""

    text: str


class HalfCharacter(JsonDiagnostic, code="J23", applicability=Applicability.GUESS):
    """Python clients reject a whole message for half of a surrogate pair."""

    value: str


class QuoteInText(JsonDiagnostic, code="J33", everywhere=True):
    """The first plain double quote ends the text."""


class TextsJoined(JsonDiagnostic, code="J36", label="join"):
    """Python joins texts that stand side by side, and its `pprint` breaks long ones so."""


# -- numbers, words, values ---------------------------------------------------------------------
class NoJsonNumber(JsonDiagnostic, code="J10", everywhere=True, applicability=Applicability.GUESS):
    """JavaScript's parser drops a line with NaN or an infinity, and the call times out."""

    value: str


class LiteralMisspelt(JsonDiagnostic, code="J14", everywhere=True):
    """`true`, `false` and `null` are written in small letters."""

    typed: str
    meant: str


class NumberMisspelt(JsonDiagnostic, code="J21"):
    """No leading zero or plus, and digits on both sides of the point."""

    value: str
    meant: str


class NumberTooLong(JsonDiagnostic, code="J24", label="quote", applicability=Applicability.GUESS):
    """Parsers limit the length of numbers: long ones take very long."""


class ValueMissing(
    JsonDiagnostic, code="J34", label="null", applicability=Applicability.PLACEHOLDER
):
    """A name and its colon are followed by a value."""


# -- the text as a whole ------------------------------------------------------------------------
class SecondDocument(JsonDiagnostic, code="J12"):
    """One answer is one object; which of two is meant cannot be told."""


class EmptyAnswer(JsonDiagnostic, code="J19"):
    """An empty line is no message."""


class PlainText(JsonDiagnostic, code="J20"):
    """A message is an object; words alone answer a tool call only as Text."""


class TooDeep(JsonDiagnostic, code="J25"):
    """Several parsers stop at about 200 levels."""

    limit: str


class TooLarge(JsonDiagnostic, code="J27", page=""):
    """The TypeScript SDK closes the connection at a line above 10 MiB."""

    size: str


class TextAfter(JsonDiagnostic, code="J30", applicability=Applicability.REMOVES):
    """Whatever follows the last bracket breaks the line for a client."""


class ShellQuotes(JsonDiagnostic, code="J31"):
    """cmd.exe writes the quotes of `echo '{…}'`."""


class TextBefore(JsonDiagnostic, code="J35"):
    """A client reads one document from each line."""


class EscapedJson(JsonDiagnostic, code="J39"):
    """Programs, logs and web pages write a quote inside a text in another way."""

    marks: str


class LargeAnswer(JsonDiagnostic, code="J40", severity=_W, page=""):
    """What a tool returns goes into a model's limited context."""

    size: str


class LineMarks(JsonDiagnostic, code="J41"):
    """Mail programs and editors put marks or numbers before lines."""

    marks: str


class TextAround(JsonDiagnostic, code="J42"):
    """Other text around a document makes the line unreadable."""


class WrittenAsYaml(JsonDiagnostic, code="J43"):
    """What YAML leaves out, JSON writes."""


class AnswerInQuotes(JsonDiagnostic, code="J44"):
    """JSON inside quotes is only text for the client."""


class LooksSecret(JsonDiagnostic, code="J45", severity=_W, page=""):
    """It goes out as it is, and stays in the files of the session."""

    name: str


class CodeFence(JsonDiagnostic, code="J50", severity=_R):
    """Chats put code between fences."""


class SeveralLines(JsonDiagnostic, code="J51", severity=_R, page=STDIO):
    """Messages "MUST NOT contain embedded newlines"."""


# -- the file that a person wrote ---------------------------------------------------------------
class FileDiagnostic(RawDiagnostic, page=STDIO):
    """Not the UTF-8 of one answer: "JSON-RPC messages MUST be UTF-8 encoded", says MCP."""


class ByteOrderMark(FileDiagnostic, code="F01", severity=_R):
    """A client drops a line that begins with it."""


class OtherEncoding(FileDiagnostic, code="F02", severity=_R):
    """Windows PowerShell 5.1 writes UTF-16 with `>`."""

    encoding: str


class ReadAsCp932(FileDiagnostic, code="F03", severity=_R):
    """Python clients close the connection when they get anything but UTF-8."""


class NotUtf8(FileDiagnostic, code="F04"):
    """A wrong guess would send something that was not typed."""

    char: str


class NoTextAtAll(FileDiagnostic, code="F05"):
    """Null bytes and incomplete characters cannot be sent."""


class RestLeftOut(FileDiagnostic, code="F06", severity=_R):
    """A whole answer stood before it and was sent."""

    text: str
