# fmt: off
# A table: a class is a row of it.
"""What is wrong with an envelope or what it answers (R..), a line (N..), or the check (X..)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.raw import RawDiagnostic
from humanmcp.protocol.json.jsonrpc import Flaw

if TYPE_CHECKING:
    from humanmcp.protocol.diagnostics.raw import Detail

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
    revision: str
    @property
    def detail(self) -> Detail:  # the sentence calls it {code}, which is another thing here
        """Return what fills its sentence."""
        return (("code", self.number), ("revision", self.revision))
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
    """Each revision lists what may be sent, and in which direction."""
    method: str
    revision: str
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
class CapabilityNotOffered(RawDiagnostic, code="R40", severity=_W):
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
    """Each method goes one way only, and not every revision has it."""
    method: str
    revision: str
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
