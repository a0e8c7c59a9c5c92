# fmt: off
# A table: a class is a row of it.
"""What is wrong with a message by the rules of MCP (M..), where several rules find it."""

from __future__ import annotations

from typing import Final

from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.raw import RawDiagnostic

_SPEC: Final = "https://modelcontextprotocol.io/specification/"
_SERVER: Final = f"{_SPEC}2025-11-25/server/"
_BASIC: Final = f"{_SPEC}2025-11-25/basic"
_W: Final = Severity.WARNING
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
    """A name that the revision does not know, or does not allow."""
    revision: str
class InPlace(RawDiagnostic):
    """`where` tells places apart, also in sentences that do not say it."""
    where: str
class LackingMember(InPlace):
    """A member without which clients reject the whole result."""
    key: str
    example: str
class OtherMethod(RawDiagnostic):
    """A method that the revision does not have, or has for something else."""
    method: str
    revision: str

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
    """Each revision adds members that older clients do not know."""
    since: str
class MemberTooOld(WrongName, code="M14", severity=_W):
    """A later revision took it out or put it elsewhere."""
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
    revision: str
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
    """Client and server agreed on one revision, or the request states it."""
    revisions: str
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
class RevisionUnknown(RawDiagnostic, code="M90", severity=_W):
    """The client then picks another, or falls back to `initialize`."""
    typed: str
