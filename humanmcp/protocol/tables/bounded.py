"""What a pattern of a person may cover: commands with a bounded effect; and files it never does.

A list of what is dangerous has gaps, so this one says what is known. Each command reads, or runs
the tests of its folder, with each of its listed options. None of them starts another program,
writes a file, or takes its settings from elsewhere: that leaves out `git diff --ext-diff` and
`--output`, `rg --pre`, `grep -f`, `pytest -p`, `cargo --config`, `go test -exec`, and every
program that runs others (`sudo`, `xargs`, `env`, `find`, `make`, `npm run`).

Sources: the manuals of the programs; https://gtfobins.github.io (of the programs that are listed
here it knows no function but `file-read`, except for parts of git, npm, cargo and go that are not);
the protected paths of https://code.claude.com/docs/en/permission-modes.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIFF: Final = (
    "--stat --numstat --shortstat --summary --name-only --name-status --patch --no-patch --unified"
    " --word-diff --color --no-color --ignore-all-space --ignore-space-change --ignore-blank-lines"
    " --find-renames --diff-filter --minimal --patience --histogram --no-ext-diff --no-textconv"
)
_LOG: Final = (
    "--oneline --graph --decorate --all --reverse --follow --first-parent --merges --no-merges"
    " --since --after --until --before --author --committer --grep --format --pretty --date"
    " --abbrev-commit --max-count --skip --branches --tags --remotes --topo-order --date-order"
)
_CARGO: Final = (
    "--quiet --verbose --package --workspace --lib --bins --tests --test --release --features"
    " --all-features --no-default-features --locked --offline --frozen"
)
_GREP: Final = (
    "--recursive --line-number --ignore-case --invert-match --word-regexp --count --color"
    " --only-matching --files-with-matches --include --exclude --exclude-dir --context"
    " --after-context --before-context --max-count --fixed-strings --extended-regexp"
)
_RG: Final = (
    "--files --ignore-case --smart-case --line-number --glob --type --type-not --context"
    " --after-context --before-context --max-count --files-with-matches --count --sort"
    " --fixed-strings --multiline --word-regexp --only-matching --max-depth --json --stats"
)
_PYTEST: Final = (
    "--verbose --quiet --exitfirst --maxfail --durations --tb --last-failed --lf --ff"
    " --failed-first --stepwise --sw --collect-only --co --showlocals --no-header"
)

COMMANDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "git status": ("sbvz", "--short --branch --porcelain --long --show-stash --ignored"),
        "git log": ("pnzciEFwgUSG", f"{_LOG} {_DIFF}"),
        "git show": ("psuwbUMC", f"{_LOG} {_DIFF}"),
        "git diff": ("psuwbzUMCRa", f"--cached --staged --merge-base --check --quiet {_DIFF}"),
        "git blame": ("ltsewbfnMC", "--date --porcelain --line-porcelain --show-email"),
        "git ls-files": ("cdmostz", "--cached --deleted --modified --others --exclude-standard"),
        "ls": ("aAlhtrRS1dFGinogpscuUxCkmqQbBN", "--all --almost-all --human-readable --recursive"),
        "cat": ("nbsAETetvu", "--number --number-nonblank --squeeze-blank --show-all"),
        "head": ("ncqvz", "--lines --bytes --quiet --verbose"),
        "tail": ("ncqvz", "--lines --bytes --quiet --verbose"),
        "wc": ("lcmwL", "--lines --bytes --chars --words"),
        "grep": ("rRnivwxlLcohHsEFGPeABCmaIqz", _GREP),
        "rg": ("niSsvwxlcoegtTABCmFUaNHhI", _RG),
        "npm test": ("", ""),
        "pytest": ("qvxslkmnra", _PYTEST),
        "cargo check": ("qvp", _CARGO),
        "cargo test": ("qvp", f"{_CARGO} --doc --no-run --nocapture --exact --ignored"),
        "go test": ("v", "-run -count -race -short -timeout -cover -failfast"),
    }
)
"""The letters of each command's short options, and its other options. A number may follow a letter;
`=` and a value may follow one of the others."""

COMMAND_OR_FILE: Final = re.compile(
    "(command|cmd|script|code|sql|shell|path|file|folder|directory)"
    "|^(args|argv|arguments|program|executable|function|expression|statement|eval|js)$"
)
"""Names of members, in lower case, that say what to run, or which file to use."""
PATH_MEMBERS: Final = ("file_path", "notebook_path", "path")
"""Members of an input that say which file it is about."""
CONTENT_MEMBERS: Final = frozenset(
    ["content", "old_string", "new_string", "new_source", "edits", "replace_all", "offset", "limit"]
)
"""Members of an input that say what is written into that file, or which part is read."""

_RUN_FILES: Final = """
    makefile gnumakefile justfile taskfile.yml taskfile.yaml rakefile gemfile gemfile.lock
    vagrantfile jenkinsfile procfile tiltfile snakefile sconstruct wscript configure brewfile
    crontab package.json package-lock.json yarn.lock pnpm-lock.yaml pnpm-workspace.yaml deno.json
    deno.jsonc bunfig.toml gulpfile.js gruntfile.js composer.json turbo.json nx.json lerna.json
    lefthook.yml pyproject.toml setup.py setup.cfg conftest.py tox.ini pytest.ini noxfile.py
    tasks.py fabfile.py sitecustomize.py usercustomize.py pipfile pipfile.lock poetry.lock uv.lock
    manage.py dockerfile containerfile docker-compose.yml docker-compose.yaml compose.yml
    compose.yaml build.gradle build.gradle.kts settings.gradle settings.gradle.kts
    gradle.properties gradlew mvnw pom.xml build.xml build.sbt build.zig build.bazel module.bazel
    workspace package.swift mix.exs cargo.toml cargo.lock build.rs go.mod go.sum go.work
    cmakelists.txt meson.build flake.nix flake.lock shell.nix default.nix azure-pipelines.yml
    bitbucket-pipelines.yml cloudbuild.yaml claude.md claude.local.md agents.md agents.override.md
    gemini.md skill.md mcp.json authorized_keys
"""
RUN_FILES: Final = frozenset(_RUN_FILES.split())
"""Files, in lower case, that tools run or obey without being told to. So are hidden files."""
RUN_NAMES: Final = re.compile(
    r".*\.(mk|pth|service|desktop|command|dockerfile)|.*\.(config|conf|setup)\.[cm]?[jt]sx?"
    r"|(requirements|docker-compose|compose)\b.*"
)
"""The same, for names of which there are many."""
RUN_FOLDERS: Final = frozenset(
    (
        *("bin", "sbin", "etc", "hooks", "node_modules", "site-packages"),
        *("launchagents", "launchdaemons", "cron.d"),
    )
)
"""Folders, in lower case, whose files are run."""
