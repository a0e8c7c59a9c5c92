r"""Inputs that could mislead, and how each front end draws them.

An input is JSON, as it comes over the wire. `drawn` is what a person reads: for each line of each
part its name, a colon, and the line. `\u` in an input is an escape of JSON.
"""

from typing import Final, NamedTuple


class Shown(NamedTuple):
    """An input, its picture, and the name of the tool that is to run."""

    json: str
    drawn: str
    tool: str = "Bash"


def command(text: str, *lines: str) -> Shown:
    """Return a command, as the text of a JSON string, and its lines."""
    return Shown(f'{{"command": "{text}"}}', "\n".join(f"command: {line}" for line in lines))


def other(json: str, *lines: str) -> Shown:
    """Return an input of a tool that nobody knows."""
    return Shown(json, "\n".join(lines), "mcp__x__y")


SHOWN: Final = {
    # line ends
    "LF": command(r"# tidy up\nrm -rf build\necho done", "# tidy up", "rm -rf build", "echo done"),
    "LF at both ends": command(r"\nls\n", "", "ls", ""),
    "empty lines": command(r"a\n\n\nb", "a", "", "", "b"),
    "CR": command(r"# a\rrm", "# a⟦U+000D⟧rm"),
    "CRLF": command(r"a\r\nb", "a⟦U+000D⟧", "b"),
    "NEL": command(r"# a\u0085rm", "# a⟦U+0085⟧rm"),
    "line separator": command(r"# a\u2028rm", "# a⟦U+2028⟧rm"),
    "paragraph separator": command(r"# a\u2029rm", "# a⟦U+2029⟧rm"),
    "VT and FF": command(r"a\u000bb\fc", "a⟦U+000B⟧b⟦U+000C⟧c"),
    "backslashes that are no line ends": command(r"a\\nb \\u202e", r"a\nb \u202e"),
    # spaces
    "indentation and runs": command(r"if x:\n    a    b", "if x:", "    a    b"),
    "spaces at the end": command("ls  ", "ls⟦U+0020⟧⟦U+0020⟧"),
    "spaces only": command("  ", "⟦U+0020⟧⟦U+0020⟧"),
    "tabs": command(r"\ta\tb\t", "\u21e5\ta\u21e5\tb\u21e5\t"),
    "no-break space": command(r"rm\u00a0-rf", "rm⟦U+00A0⟧-rf"),
    "spaces of typography": command(r"a\u2003b\u202fc\u3000d", "a⟦U+2003⟧b⟦U+202F⟧c⟦U+3000⟧d"),
    "blank symbols": command(r"a\u2800b\ufffcc\ud834\udd59", "a⟦U+2800⟧b⟦U+FFFC⟧c⟦U+1D159⟧"),
    "empty": command("", ""),
    # from right to left
    "Hebrew in a path": command(r"rm -rf /srv/\u05d0/../1/x", "rm -rf /srv/\u05d0/../1/x"),
    "Hebrew words": command(r"cp \u05d0\u05d1 \u05d2\u05d3", "cp \u05d0\u05d1 \u05d2\u05d3"),
    "Arabic numbers": command(r"mv \u0663-\u0664 \u0627", "mv \u0663-\u0664 \u0627"),
    "only Arabic": command(r"\u0633\u0644\u0627\u0645", "\u0633\u0644\u0627\u0645"),
    "override": command(r"rm \u202ecod.exe\u202c", "rm ⟦U+202E⟧cod.exe⟦U+202C⟧"),
    "isolates": command(r"a\u2066b\u2069\u2067", "a⟦U+2066⟧b⟦U+2069⟧⟦U+2067⟧"),
    "direction marks": command(r"a\u200e\u200f\u061c", "a⟦U+200E⟧⟦U+200F⟧⟦U+061C⟧"),
    # drawn as nothing
    "zero width": command(r"r\u200bm \u200c\u200d\ufeff", "r⟦U+200B⟧m ⟦U+200C⟧⟦U+200D⟧⟦U+FEFF⟧"),
    "soft hyphen": command(r"r\u00adm\u034f", "r⟦U+00AD⟧m⟦U+034F⟧"),
    "Mongolian selectors": command(r"a\u180b\u180e\u180f", "a⟦U+180B⟧⟦U+180E⟧⟦U+180F⟧"),
    "Hangul fillers": command(r"\u115f\u1160\u3164\uffa0", "⟦U+115F⟧⟦U+1160⟧⟦U+3164⟧⟦U+FFA0⟧"),
    "Khmer vowels": command(r"a\u17b4\u17b5", "a⟦U+17B4⟧⟦U+17B5⟧"),
    "invisible operators": command(r"a\u2061\u2065\u206f", "a⟦U+2061⟧⟦U+2065⟧⟦U+206F⟧"),
    "specials": command(r"a\ufff0\ufff8\ufff9", "a⟦U+FFF0⟧⟦U+FFF8⟧⟦U+FFF9⟧"),
    "musical and shorthand": command(
        r"a\ud834\udd73\ud834\udd7a\ud82f\udca0", "a⟦U+1D173⟧⟦U+1D17A⟧⟦U+1BCA0⟧"
    ),
    "tags": command(r"a\udb40\udc41\udb40\udc80", "a⟦U+E0041⟧⟦U+E0080⟧"),
    "variation selectors": command(
        r"a\ufe00\ufe0f\udb40\udd00\udb40\uddf0", "a⟦U+FE00⟧⟦U+FE0F⟧⟦U+E0100⟧⟦U+E01F0⟧"
    ),
    "nothing assigned": command(r"a\u0378\uffff", "a⟦U+0378⟧⟦U+FFFF⟧"),
    "private": command(r"a\ue000\udbff\udffd", "a⟦U+E000⟧⟦U+10FFFD⟧"),
    "half a character": command(r"a\ud800 \udfff", "a⟦U+D800⟧ ⟦U+DFFF⟧"),
    "NUL": command(r"a\u0000b", "a⟦U+0000⟧b"),
    "ANSI": command(r"a\u001b[2K\u009b1m\u0007\b", "a⟦U+001B⟧[2K⟦U+009B⟧1m⟦U+0007⟧⟦U+0008⟧"),
    "our own signs": command(r"\u27e6U+202E\u27e7 \u21e5", "⟦U+27E6⟧U+202E\u27e7 ⟦U+21E5⟧"),
    # letters
    "Japanese": command(
        r"echo \u6771\u4eac \u30c7\u30fc\u30bf", "echo \u6771\u4eac \u30c7\u30fc\u30bf"
    ),
    "combining": command(r"e\u0301 \u304b\u3099", "e\u0301 \u304b\u3099"),
    "combining with nothing": command(r"\u0338rm \u0338", "⟦U+0338⟧rm ⟦U+0338⟧"),
    "marks of another script": command(
        r"l\u17d2s \u1780\u17d2\u1780 x\u1039", "l⟦U+17D2⟧s \u1780\u17d2\u1780 x⟦U+1039⟧"
    ),
    "many marks": command(r"a\u0300\u0301\u0302\u0303\u0304", "a\u0300\u0301\u0302\u0303⟦U+0304⟧"),
    "emoji": command(r"echo \ud83d\ude00", "echo \U0001f600"),
    "joined emoji": command(
        r"\ud83d\udc68\u200d\ud83d\udc69 \u2764\ufe0f",
        "\U0001f468⟦U+200D⟧\U0001f469 \u2764⟦U+FE0F⟧",
    ),
    "a letter like another": command(r"\u0430pt", "\u0430pt"),
    "HTML": command(
        "<b>x</b> &lt; <!-- </pre><script>1</script>", "<b>x</b> &lt; <!-- </pre><script>1</script>"
    ),
    "templates": command("{{ 7 * 7 }} {% x %}", "{{ 7 * 7 }} {% x %}"),
    "Markdown": command("`rm` **bold** # head [a](http://b)", "`rm` **bold** # head [a](http://b)"),
    # long
    "a line of 4,000 letters": command("x" * 4_000, "x" * 4_000),
    "far to the right": command(f"ls{' ' * 400}; rm -rf /", f"ls{' ' * 400}; rm -rf /"),
    "100 lines": command(r"true\n" * 99 + "rm", *["true"] * 99, "rm"),
    "10,000 members": other(
        "{" + ",".join(f'"m{at}": {at}' for at in range(10_000)) + "}",
        *(f"m{at}: {at}" for at in range(10_000)),
    ),
    "a name of 400 letters": other(f'{{"{"n" * 400}": 1}}', f"{'n' * 400}: 1"),
    "a tool of 200 letters": Shown('{"a": 1}', f"tool_name: {'t' * 200}\na: 1", "t" * 200),
    "a tool with a line feed": Shown('{"a": 1}', "tool_name: x\ntool_name: y\na: 1", "x\ny"),
    "a tool with a backslash": Shown('{"a": 1}', "a: 1", "x\\ny"),
    "a tool with spaces": Shown('{"a": 1}', "tool_name: x⟦U+00A0⟧⟦U+0020⟧\na: 1", "x\u00a0 "),
    "a tool from right to left": Shown('{"a": 1}', "tool_name: \u05d0/../1\na: 1", "\u05d0/../1"),
    "a tool with half a character": Shown(
        '{"a": 1}', "tool_name: x⟦U+D800⟧⟦U+200B⟧\na: 1", "x\ud800\u200b"
    ),
    # members
    "a description that looks like the page": Shown(
        r'{"command": "rm", "description": "Look\n\nAllow\nclaude-code wants to read"}',
        "command: rm\ndescription: Look\ndescription: \ndescription: Allow\n"
        "description: claude-code wants to read",
    ),
    "nothing at all": other("{}"),
    "names that could mislead": other(
        r'{"a\nb": 1, "": 2, " ": 3, "c\r\n": 4, "<b>": 5, "x\u202e": 6, "  rm": 7, "\ud800": 8}',
        *(
            "a⟦U+000A⟧b: 1",
            "⟦⟧: 2",
            "⟦U+0020⟧: 3",
            "c⟦U+000D⟧⟦U+000A⟧: 4",
            "<b>: 5",
            "x⟦U+202E⟧: 6",
            "⟦U+0020⟧⟦U+0020⟧rm: 7",
            "⟦U+D800⟧: 8",
        ),
    ),
    "texts that read like other values": other(
        r'{"a": "5", "b": 5, "c": "null", "d": null, "e": "{}", "f": {}, "g": "\"5\""}',
        *('a: "5"', "b: 5", 'c: "null"', "d: null", 'e: "{}"', "f: {}", r'g: "\"5\""'),
    ),
    "numbers as they were written": other(
        '{"a": 1.0, "b": 1e3, "c": 12345678901234567890, "d": -0}',
        *("a: 1.0", "b: 1e3", "c: 12345678901234567890", "d: -0"),
    ),
    "deep inside": other(
        r'{"a": [{"b": "x\u202e\ny"}]}',
        *("a: [", "a:   {", r'a:     "b": "x\u202e\ny"', "a:   }", "a: ]"),
    ),
    "100 deep": other(
        f'{{"a": {"[" * 100}{"]" * 100}}}',
        "a: [",
        *(f"a: {' ' * (2 * min(at, 40))}[" for at in range(1, 99)),
        f"a: {' ' * 80}[]",
        *(f"a: {' ' * (2 * min(at, 40))}]" for at in range(98, -1, -1)),
    ),
    "a file": Shown(
        r'{"file_path": "/a", "content": "one\n  two\n"}',
        "file_path: /a\ncontent: one\ncontent:   two\ncontent: ",
        "Write",
    ),
    "an edit": Shown(
        r'{"file_path": "/a", "old_string": "a\n b", "new_string": "a\n\tb"}',
        "file_path: /a\n:  a\n: - b\n: +\u21e5\tb",
        "Edit",
    ),
    "an edit that looks like another": Shown(
        r'{"file_path": "/a", "old_string": "-a\n+b", "new_string": "-a\n+b\nc"}',
        "file_path: /a\n:  -a\n:  +b\n: +c",
        "Edit",
    ),
}
"""What may be allowed."""

UNREAD: Final = {
    "500 deep": Shown(f'{{"a": {"[" * 500}{"]" * 500}}}', ""),
    "a name twice, unread": Shown('{"command": "ls", "command": "rm"}', ""),
}
"""What a tap shows as the line that came."""

NUMBER = "A number in this call is not JSON"
LARGE = "too large to show"
REFUSED: Final = {
    "a name twice": ('{"command": "ls", "command": "rm"}', "A name appears twice"),
    "a name twice, escaped": (r'{"command": "ls", "c\u006fmmand": "rm"}', "A name appears twice"),
    "a name twice inside": ('{"a": [{"b": 1, "b": 2}]}', "A name appears twice"),
    "NaN": ('{"command": "ls", "n": NaN}', NUMBER),
    "Infinity": ('{"n": [Infinity]}', NUMBER),
    "-Infinity": ('{"n": -Infinity}', NUMBER),
    "a number without an end": ('{"n": 1e400}', NUMBER),
    "100,001 values": ('{"a": [' + "0," * 100_001 + "0]}", LARGE),
    "over 8 MiB": (f'{{"command": "{"x" * (8 * 1024 * 1024)}"}}', LARGE),
    "no object": ('"rm"', "This is not a permission prompt"),
}
"""What can only be denied, and why."""
