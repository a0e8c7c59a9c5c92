"""The hosts that are npm packages: how each is told of the fake model, and started for one prompt.

Facts of the hosts' own manuals and help texts. Knows no process.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tools.hosts.model import MODEL

PROMPT: Final = "Ask the human which way the sea is."


def _nothing(_home: Path, _url: str) -> None:
    """Leave the home as `humanmcp config` left it."""


@dataclass(frozen=True, slots=True, eq=False)
class RealHost:
    """One host. `name` is that of `humanmcp config`, `program` what its package installs.

    `words` are the arguments for one prompt without a screen. `environment` and `prepare` tell it
    where the model is, and to fetch and report nothing; `{url}` stands for the model's address.
    """

    name: str
    package: str
    program: str
    words: tuple[str, ...]
    environment: Mapping[str, str]
    prepare: Callable[[Path, str], None] = field(default=_nothing)


def _merge(path: Path, members: Mapping[str, Any]) -> None:
    """Set members of a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**before, **members}, indent=2), "utf-8")


def _codex(home: Path, url: str) -> None:
    path = home / ".codex" / "config.toml"
    provider = f"""model = "{MODEL}"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"

"""
    path.write_text(provider + path.read_text("utf-8"), "utf-8")


def _gemini(home: Path, _url: str) -> None:
    _merge(
        home / ".gemini" / "settings.json",
        {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
        },
    )


def _opencode(home: Path, url: str) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {MODEL: {"name": "fake", "tool_call": True}},
    }
    _merge(
        home / ".config" / "opencode" / "opencode.json",
        {
            "model": f"fake/{MODEL}",
            "small_model": f"fake/{MODEL}",
            "autoupdate": False,
            "share": "disabled",
            "provider": {"fake": provider},
        },
    )


def _qwen(home: Path, _url: str) -> None:
    _merge(
        home / ".qwen" / "settings.json",
        {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "openai"}},
        },
    )


REAL: Final = (
    RealHost(
        "claude-code",
        "@anthropic-ai/claude-code",
        "claude",
        ("-p", PROMPT, "--allowedTools", "mcp__humanmcp"),
        {
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "sk-ant-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        },
    ),
    RealHost(
        "codex",
        "@openai/codex",
        "codex",
        (
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            PROMPT,
        ),
        {"FAKE_KEY": "none"},
        _codex,
    ),
    RealHost(
        "gemini-cli",
        "@google/gemini-cli",
        "gemini",
        ("--yolo", "--model", "gemini-2.5-flash", "--prompt", PROMPT),
        {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": "{url}",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_TELEMETRY_ENABLED": "false",
        },
        _gemini,
    ),
    RealHost(
        "opencode",
        "opencode-ai",
        "opencode",
        ("run", PROMPT),
        {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        _opencode,
    ),
    RealHost(
        "copilot-cli",
        "@github/copilot",
        "copilot",
        ("--prompt", PROMPT, "--allow-all-tools", "--no-color"),
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": MODEL,
        },
    ),
    RealHost(
        "qwen-code",
        "@qwen-code/qwen-code",
        "qwen",
        ("--yolo", "--prompt", PROMPT),
        {
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": "{url}/v1",
            "OPENAI_MODEL": MODEL,
        },
        _qwen,
    ),
)
"""Every host that can be had from npm and run without an account."""

BY_NAME: Final[Mapping[str, RealHost]] = {host.name: host for host in REAL}
