# fmt: off
# A table: a class is a row of it.
"""What is wrong with a text as JSON (J..), and with the file that it stands in (F..)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from humanmcp.protocol.diagnostics.model import Applicability, Severity
from humanmcp.protocol.diagnostics.raw import RawDiagnostic, shown

JSON: Final = "https://www.rfc-editor.org/rfc/rfc8259"
_W: Final = Severity.WARNING
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
