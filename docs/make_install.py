"""Write how each host is told of humanmcp into the README, from the table of the hosts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from docs.make_manifests import COMMAND
from humanmcp.connecting import hosts, starting
from humanmcp.connecting.hosts import HOSTS, Format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.connecting.hosts import Host

BLOCK: Final = re.compile(
    r"(?<=<!-- install: made by `make docs` -->\n).*?(?=^<!-- install: end -->$)",
    re.DOTALL | re.MULTILINE,
)
_KINDS: Final = {
    Format.JSON: "json",
    Format.JSONC: "json",
    Format.TOML: "toml",
    Format.YAML: "text",
}
_WEB: Final = {
    "cursor://anysphere.cursor-deeplink/mcp/install?": "https://cursor.com/en/install-mcp?",
    "lmstudio://add_mcp?": "https://lmstudio.ai/install-mcp?",
}
"""Pages that open an address of a host: pages of repositories show no others as links."""


def block() -> str:
    """Return the entries: the one that most hosts read, the buttons, and each host's own."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    standard = hosts.BY_NAME["cursor"]
    yield ""
    yield from _fenced(standard)
    yield ""
    buttons = ((host, web_link(host)) for host in HOSTS)
    yield " · ".join(f"[**{host.label}**]({link})" for host, link in buttons if link)
    for host in HOSTS:
        yield ""
        yield f"<details><summary>{host.label}</summary>"
        yield ""
        if words := starting.shell_command(host, hosts.DEFAULT_NAME, COMMAND):
            yield from ("```sh", words, "```", "")
        yield f"`{host.places['']}`"
        yield ""
        yield from _fenced(host)
        yield ""
        yield "</details>"
    yield ""


def _fenced(host: Host) -> Iterator[str]:
    entry = hosts.entry(host, COMMAND, hosts.wait_to_write(host, None))
    yield f"```{_KINDS[host.format]}"
    yield starting.snippet(host, hosts.DEFAULT_NAME, entry).rstrip("\n")
    yield "```"


def web_link(host: Host) -> str:
    """Return the address of a page that installs the entry with one click; "" where none is."""
    link = hosts.install_link(host, hosts.DEFAULT_NAME, COMMAND)
    if link.startswith("vscode:"):
        return f"https://insiders.vscode.dev/redirect?url={quote(link, safe='')}"
    for own, page in _WEB.items():
        if link.startswith(own):
            return page + link.removeprefix(own)
    return ""
