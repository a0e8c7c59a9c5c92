"""The life of an exchange."""

from pathlib import Path

import pytest

from humanmcp.protocol.conversation.exchange import (
    NEXT,
    Exchange,
    ExchangeState,
    NoIdError,
    Transition,
)
from humanmcp.protocol.json.jsonrpc import Message, read


def exchange(line: str = '{"id":3,"method":"tools/call","params":{"name":"t"}}') -> Exchange:
    """Make a pending exchange."""
    message = read(line.encode())
    assert isinstance(message, Message)
    return Exchange(1, message, "2025-11-25")


@pytest.mark.parametrize(
    ("transition", "state"),
    [
        (Transition.REPLY_SENT, ExchangeState.ANSWERED),
        (Transition.CLIENT_CANCELLED, ExchangeState.CANCELLED),
        (Transition.SESSION_ENDED, ExchangeState.ABANDONED),
        (Transition.CLIENT_WENT_QUIET, ExchangeState.ABANDONED),
        (Transition.CLIENT_WENT_ON, ExchangeState.ABANDONED),
    ],
)
def test_a_pending_exchange_ends_once(transition: Transition, state: ExchangeState) -> None:
    """Whatever happens after the first end changes nothing."""
    done = exchange().after(transition)
    assert done.state is state
    for later in Transition:
        assert done.after(later) is done


def test_an_exchange_knows_its_id_method_and_tool() -> None:
    """As the reply and the desks need them."""
    one = exchange()
    assert (one.id.token, one.method, one.tool) == ("3", "tools/call", "t")
    assert exchange('{"id":3,"method":"x","params":{"name":7}}').tool == ""


def test_a_message_without_id_makes_no_exchange() -> None:
    """The error says what to do."""
    with pytest.raises(NoIdError, match="make exchanges of requests only"):
        _ = exchange('{"method":"x"}').id


def test_the_manual_draws_the_state_table_as_it_is() -> None:
    """docs/explanation/design.md holds the diagram that the table makes."""
    page = Path(__file__).parents[3] / "docs" / "explanation" / "design.md"
    arrows = [
        f"    {state.value} --> {after.value}: {transition.value}\n"
        for (state, transition), after in NEXT.items()
    ]
    diagram = "stateDiagram-v2\n    [*] --> pending\n" + "".join(arrows) + "```"
    assert diagram in page.read_text(encoding="utf-8")
