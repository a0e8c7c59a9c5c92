"""Write the entry that most hosts read into the README, and links that install it."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from docs.make_manifests import COMMAND
from humanmcp.setup import hosts

BLOCK: Final = re.compile(
    r"(?<=<!-- install: made by `make docs` -->\n).*?(?=^<!-- install: end -->$)",
    re.DOTALL | re.MULTILINE,
)
_ONE_CLICK: Final = {
    "en": "As soon as humanmcp is on PyPI, paste the entry below, or install it with one click",
    "ja": "PyPI に公開されたあとは、下の設定を貼り付けるか、1 クリックでインストールできます",
}
_WEB: Final = {
    "cursor://anysphere.cursor-deeplink/mcp/install?": "https://cursor.com/en/install-mcp?",
    "lmstudio://add_mcp?": "https://lmstudio.ai/install-mcp?",
}
"""Pages that open an address of a host: pages of repositories show no others as links."""


def block(language: str) -> str:
    """Return the buttons, and the entry that most hosts read."""
    host = hosts.BY_NAME["cursor"]
    entry = hosts.local_entry(host, COMMAND, hosts.wait_to_write(host, None))
    snippet = hosts.snippet(host, hosts.DEFAULT_NAME, entry).rstrip("\n")
    buttons = ((one, web_link(one)) for one in hosts.HOSTS)
    links = " · ".join(f"[**{one.label}**]({link})" for one, link in buttons if link)
    return f"\n{_ONE_CLICK[language]}: {links}\n\n```json\n{snippet}\n```\n\n"


def web_link(host: hosts.Host) -> str:
    """Return the address of a page that installs the entry with one click; "" where none is."""
    link = hosts.install_link(host, hosts.DEFAULT_NAME, COMMAND)
    if link.startswith("vscode:"):
        return f"https://insiders.vscode.dev/redirect?url={quote(link, safe='')}"
    for own, page in _WEB.items():
        if link.startswith(own):
            return page + link.removeprefix(own)
    return ""
