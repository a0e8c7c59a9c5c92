"""Write what registries and hosts read of humanmcp: one version, one command, one owner.

Each is a file of its own format that says the same. `humanmcp/common/published.py` has the names.
`make docs` writes them into `build/`; `make mcpb` also packs what is released into `dist/`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp import __version__
from humanmcp.common import published
from humanmcp.setup.hosts import HostCommand

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).parent.parent

COMMAND: Final = HostCommand(
    "uvx", (f"{published.NAME}@{__version__}", "serve", "--handshake", "book")
)
"""What starts the server on a computer that has nothing but uv."""

SHORT: Final = "Ask a person: every answer of this server is typed by a human."
LONG: Final = (
    "The model gets the tool ask_human. What it asks waits in a page, a terminal or text files; a "
    "person answers, humanmcp checks the answer and sends it."
)
AUTHOR: Final = {"name": "The humanmcp authors"}
KEYWORDS: Final = ["mcp", "human-in-the-loop", "teaching"]
_FACTS: Final = {
    "name": published.NAME,
    "version": __version__,
    "description": SHORT,
    "author": AUTHOR,
    "homepage": published.SITE,
    "repository": published.REPOSITORY,
    "license": "MIT",
    "keywords": KEYWORDS,
}
_SERVERS: Final = {published.NAME: {"command": COMMAND.command, "args": list(COMMAND.args)}}

JAPANESE: Final = {
    "display_name": "humanmcp",
    "description": "人に聞く: このサーバーの回答は、すべて人が入力します。",
    "long_description": (
        "モデルはツール ask_human を使えるようになります。質問はページ、ターミナル、"
        "テキストファイルで待ち、人が答えると、humanmcp がチェックして送ります。"
    ),
}


def files(folder: Path) -> Mapping[Path, str]:
    """Make every file below `folder`: where it stands and its text."""
    plugins = folder / "plugins"
    plugin, bundle = plugins / published.NAME, plugins / "mcpb"
    made = {
        folder / "server.json": _registry(),
        plugins / ".claude-plugin" / "marketplace.json": _marketplace(),
        plugin / ".claude-plugin" / "plugin.json": _FACTS,
        plugin / ".codex-plugin" / "plugin.json": {
            **_FACTS,
            "skills": "./skills/",
            "mcpServers": "./.mcp.json",
        },
        plugin / ".mcp.json": {"mcpServers": _SERVERS},
        plugin / "gemini-extension.json": {
            "name": published.NAME,
            "version": __version__,
            "description": SHORT,
            "mcpServers": _SERVERS,
        },
        bundle / "manifest.json": _bundle(),
        bundle / "mcpb-resources" / "ja-JP.json": JAPANESE,
    }
    return {
        path: json.dumps(value, indent=2, ensure_ascii=False) + "\n" for path, value in made.items()
    }


def write(folder: Path) -> None:
    """Write everything that hosts install into `folder`, beside the texts that it needs."""
    shutil.rmtree(folder / "plugins", ignore_errors=True)
    shutil.copytree(ROOT / "plugins", folder / "plugins")
    for path, text in files(folder).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _registry() -> dict[str, Any]:
    """https://github.com/modelcontextprotocol/registry: server.json, 2025-12-11."""
    return {
        "$schema": ("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
        "name": published.REGISTRY_NAME,
        "title": published.NAME,
        "description": SHORT,
        "version": __version__,
        "websiteUrl": published.SITE,
        "repository": {"url": published.REPOSITORY, "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "identifier": published.NAME,
                "version": __version__,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [
                    {"type": "positional", "value": word} for word in COMMAND.args[1:]
                ],
                "environmentVariables": [
                    {
                        "name": "HUMANMCP_LANG",
                        "description": "The language of all texts.",
                        "choices": ["en", "ja"],
                    },
                    {
                        "name": "HUMANMCP_HOME",
                        "description": "The inbox folder (default: ~/.humanmcp).",
                        "format": "filepath",
                    },
                ],
            }
        ],
    }


def _marketplace() -> dict[str, Any]:
    return {
        "name": published.NAME,
        "owner": AUTHOR,
        "metadata": {"description": SHORT, "version": __version__},
        "plugins": [{"name": published.NAME, "source": "./humanmcp", "description": SHORT}],
    }


def _bundle() -> dict[str, Any]:
    """https://github.com/modelcontextprotocol/mcpb: the manifest, 0.4."""
    first, *rest = COMMAND.args
    # Claude Desktop starts its own `uv`, and knows no `uvx`.
    arguments = ["tool", "run", first, *rest]
    for name in ("home", "lang", "book"):
        arguments += [f"--{name}", f"${{user_config.{name}}}"]
    return {
        "manifest_version": "0.4",
        "name": published.NAME,
        "display_name": published.NAME,
        "version": __version__,
        "description": SHORT,
        "long_description": LONG,
        "author": AUTHOR,
        "repository": {"type": "git", "url": published.REPOSITORY},
        "homepage": published.SITE,
        "support": f"{published.REPOSITORY}/issues",
        "license": "MIT",
        "keywords": KEYWORDS,
        "localization": {
            "resources": "mcpb-resources/${locale}.json",
            "default_locale": "en-US",
        },
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {"command": "uv", "args": arguments},
        },
        "tools": [{"name": "ask_human", "description": "Ask the person at the inbox."}],
        "tools_generated": True,
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": ">=3.11"},
        },
        "user_config": {
            "home": {
                "type": "directory",
                "title": "Inbox folder",
                "description": "Where messages wait and are kept.",
                "required": False,
                "default": "${HOME}/.humanmcp",
            },
            "lang": {
                "type": "string",
                "title": "Language",
                "description": "The language of all texts: en or ja.",
                "required": False,
                "default": "en",
            },
            "book": {
                "type": "file",
                "title": "Answer book",
                "description": "A TOML file with rules that answer automatically.",
                "required": False,
                "default": "",
            },
        },
    }


def release(folder: Path) -> str:
    """Return server.json as it is published: with the bundle, by its address and its SHA-256."""
    bundle = folder / "humanmcp.mcpb"
    package = {
        "registryType": "mcpb",
        "identifier": f"{published.REPOSITORY}/releases/download/v{__version__}/{bundle.name}",
        "fileSha256": hashlib.sha256(bundle.read_bytes()).hexdigest(),
        "transport": {"type": "stdio"},
    }
    server = _registry()
    server["packages"].append(package)
    return json.dumps(server, indent=2) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    (target / "server.json").write_text(release(target), encoding="utf-8")
    shutil.make_archive(str(target / "humanmcp-plugins"), "zip", ROOT / "build" / "plugins")
