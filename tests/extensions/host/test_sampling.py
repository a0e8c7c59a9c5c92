"""A server asks for a turn of a model, and the host's own takes it after the person's yes."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.cli import main
from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.conversation import (
    ImageBlock,
    ModelError,
    StopReason,
    TextBlock,
    Turn,
    TurnRole,
)
from humanmcp.extensions.host.sampling import SampledByModel, Sampler, turns_of
from humanmcp.extensions.host.terminal.typing import Typist
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.outcomes import Outcome, RequestArrived, Sent
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.session import McpSession
from humanmcp.protocol.session import Party as Role
from tests.extensions.host.hosting import configuration, says, use
from tests.extensions.host.services import Say, message, service
from tests.extensions.host.test_host import chat, recorded, words

ASKED: Final = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Name a city"}}],
    "systemPrompt": "Be short.",
    "maxTokens": 7,
}


class Asking:
    """A server that asks once. `shown` is what the model was shown, `told` what it is told."""

    def __init__(self, *typed: str, turn: Turn | None = None, without_asking: bool = False) -> None:
        """Let the person type this, and the model say that."""
        self.shown: list[tuple[tuple[Turn, ...], int]] = []
        self.turn = turn or Turn(TurnRole.ASSISTANT, (TextBlock("Oslo"),))
        sampler = Sampler("script:x", self.take_turn, without_asking=without_asking)
        self.respondent = SampledByModel(sampler, Nobody(), Typist(typed), "library")
        self.told: dict[str, Any] = {}

    def take_turn(self, turns: Sequence[Turn], tokens: int) -> Turn:
        """Note what is asked."""
        self.shown.append((tuple(turns), tokens))
        if not self.turn.blocks:
            raise ModelError("no more turns")
        return self.turn

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask, and return the answer."""
        session = McpSession(Role.CLIENT)
        can: dict[str, Any] = {"sampling": {}, "elicitation": {}}
        session.negotiated = NegotiatedState("library", client_capabilities=can, initialized=True)
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        (event,) = session.receive(line.encode())
        assert isinstance(event, RequestArrived)

        def judge(text: str, form: TextForm = TextForm.RESULT, *, anyway: bool = False) -> Outcome:
            outcome = session.reply(event.exchange.number, text, form, anyway=anyway)
            assert isinstance(outcome, Sent)
            self.told = json.loads(outcome.own)
            return outcome

        self.respondent.answer(event.exchange, session.negotiated, judge)
        return self.told


def test_the_model_answers_after_a_yes(capsys: pytest.CaptureFixture[str]) -> None:
    """The person sees what it is asked, and what it says; the tokens of the server hold."""
    asking = Asking("y")
    told = asking.ask("sampling/createMessage", ASKED)
    assert told["result"] == {
        "role": "assistant",
        "content": {"type": "text", "text": "Oslo"},
        "model": "script:x",
        "stopReason": "endTurn",
    }
    ((turns, tokens),) = asking.shown
    assert [(one.role, one.text) for one in turns] == [
        (TurnRole.SYSTEM, "Be short."),
        (TurnRole.USER, "Name a city"),
    ]
    assert tokens == 7
    shown = capsys.readouterr()
    assert "library asks you: sampling/createMessage" in shown.out
    assert "Name a city" in shown.out
    assert "script:x answered library: Oslo" in shown.err


@pytest.mark.parametrize("typed", [("r",), ()])
def test_without_a_yes_the_model_is_not_asked(typed: tuple[str, ...]) -> None:
    """Also where nobody is there to say it."""
    asking = Asking(*typed)
    told = asking.ask("sampling/createMessage", ASKED)
    assert told["error"] == {"code": -1, "message": "User rejected sampling request"}
    assert asking.shown == []


def test_a_yes_may_be_given_beforehand() -> None:
    """`--yes`, for scripts."""
    assert "result" in Asking(without_asking=True).ask("sampling/createMessage", ASKED)


def test_a_turn_that_is_cut_off_or_fails_is_told_as_such() -> None:
    """`maxTokens`, or an error with the reason."""
    cut = Turn(TurnRole.ASSISTANT, (TextBlock("Os"),), StopReason.LENGTH)
    told = Asking("y", turn=cut).ask("sampling/createMessage", ASKED)
    assert told["result"]["stopReason"] == "maxTokens"
    none = Asking("y", turn=Turn(TurnRole.ASSISTANT, ()))
    assert none.ask("sampling/createMessage", ASKED)["error"]["code"] == -32603


def test_other_questions_go_to_whoever_answers_them() -> None:
    """The model answers sampling only."""
    params = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
    told = Asking("y").ask("elicitation/create", params)
    assert told["result"] == {"action": "cancel"}


def test_pictures_in_the_conversation_reach_the_model() -> None:
    """And what no service takes is named."""
    picture = {"type": "image", "mimeType": "image/png", "data": "UE5H"}
    sound = {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}
    (turn,) = turns_of({"messages": [{"role": "assistant", "content": [picture, sound]}]})
    assert turn == Turn(
        TurnRole.ASSISTANT, (ImageBlock("image/png", "UE5H"), TextBlock("[audio: audio/wav]"))
    )


LIBRARY: Final = {
    "command": sys.executable,
    "args": [str(Path(__file__).parent / "sdk_library.py")],
}


@pytest.mark.parametrize(
    ("flags", "heard"),
    [
        (("--sampling", "model", "--yes"), "Oslo"),
        (("--sampling", "no", "--yes"), "there you are"),
    ],
)
def test_a_server_of_the_sdk_asks_the_model_of_the_host(
    tmp_path: Path, flags: tuple[str, ...], heard: str
) -> None:
    """Inside a call of its tool; the script's second turn is the sampled one."""
    config = configuration(tmp_path, library=LIBRARY)
    call = use("library__ask", question="Name a city")
    model = recorded(tmp_path, says(call), says(heard), says("done"))
    more = ("--start", "handshake", "--wire", "-p", "go", *flags)
    run = chat(tmp_path, words(config, model, *more))
    if "model" in flags:
        assert "  -> Oslo" in run.stderr
        assert run.stdout == "done\n"
    else:
        assert '"sampling"' not in run.stderr.split('"method":"initialize"')[1].splitlines()[0]
        assert run.stdout == "there you are\n"


def test_a_model_of_anthropic_sees_a_picture_and_takes_the_turn_that_a_server_asks_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text, tools, images and sampling in the form of its messages API, from first to last."""
    monkeypatch.setenv("HUMANMCP_HOME", str(tmp_path / "home"))
    key = tmp_path / "key"
    key.write_text("sk-mine\n", encoding="utf-8")
    key.chmod(0o600)
    calls = (
        {"type": "tool_use", "id": "t1", "name": "library__draw", "input": {}},
        {"type": "tool_use", "id": "t2", "name": "library__ask", "input": {"question": "A city?"}},
    )
    turns = ({"type": "text", "text": "I look."}, *calls), ("Oslo",), ("done",)
    said = [
        [{"type": "text", "text": one} if isinstance(one, str) else one for one in turn]
        for turn in turns
    ]
    with service(*(Say(message(*blocks)) for blocks in said)) as there:
        chosen = ["--model", "anthropic:x", "--base-url", there.address, "--key-file", str(key)]
        more = ["--images", "yes", "--sampling", "model", "--yes", "--start", "handshake"]
        config = str(configuration(tmp_path, library=LIBRARY))
        assert main(["host", "--config", config, *chosen, *more, "-p", "go"]) == 0
    assert capfd.readouterr().out == "done\n"
    first, sampled, last = there.asked
    assert {one["name"] for one in first["tools"]} >= {"library__draw", "library__ask"}
    assert (sampled["system"], sampled["max_tokens"]) == ("Be short.", 7)
    assert sampled["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "A city?"}]}
    ]
    assert last["messages"][1]["content"] == [{"type": "text", "text": "I look."}, *calls]
    drawn, asked = last["messages"][2]["content"]
    source = {"type": "base64", "media_type": "image/png", "data": "UE5H"}
    assert drawn["content"][-1] == {"type": "image", "source": source}
    assert (asked["tool_use_id"], asked["content"]) == ("t2", "Oslo")
    assert all("sk-mine" in " ".join(one.values()) for one in there.headers)
