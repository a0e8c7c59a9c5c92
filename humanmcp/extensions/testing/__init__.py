"""Tests of a client or a server: a mock server for pytest, a recording as a program, `diff`."""

from typing import Final

from humanmcp.extensions import Extension, Format

_HERE: Final = "humanmcp.extensions.testing"
_SECTION: Final = "testing"

EXTENSION: Final = Extension(
    commands={"sessions": {"diff": f"{_HERE}.diff"}},
    formats={
        "server": Format(f"{_HERE}.runnable:write_server", "py", _SECTION, is_program=True),
        "script": Format(f"{_HERE}.runnable:write_script", "py", _SECTION, is_program=True),
        "pytest": Format(f"{_HERE}.runnable:write_test", "test.py", _SECTION, is_program=True),
    },
)
