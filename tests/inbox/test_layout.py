"""Which names in the folder are ours."""

from hypothesis import given
from hypothesis import strategies as st

from humanmcp.inbox import records


@given(st.integers(min_value=1, max_value=10**11))
def test_the_name_of_an_exchange_leads_back_to_its_number(number: int) -> None:
    """Numbers of any size, and at least four digits."""
    name = records.exchange_name(number)
    assert len(name) >= 4
    assert records.exchange_number(name) == number


@given(st.text() | st.text("0123456789-._~/\\", max_size=8))
def test_no_name_of_a_session_leads_anywhere(name: str) -> None:
    """Promise 6: no separator, no dot, nothing that is not ASCII, nothing endless."""
    if records.is_session_name(name):
        assert name.isascii()
        assert not set(name) & set("./\\:~ \n")
        assert 0 < len(name) <= 64


def test_names_of_devices_are_no_names_of_sessions() -> None:
    """`nul` is a device on Windows, in every folder."""
    for name in ("con", "PRN", "aux", "nul", "COM1", "lpt9"):
        assert not records.is_session_name(name)
    assert records.is_session_name("console")
    assert records.is_session_name(records.session_name("20261120T184907Z", "4f2a"))


def test_files_of_the_outbox_are_told_apart() -> None:
    """A result is no saying, and what an editor leaves behind is neither."""
    assert records.number_in("0001.json", records.OUTGOING) == 1
    for name in ("0001.result.json", "0001.json~", ".0001.json", "1.json", "x.json"):
        assert records.number_in(name, records.OUTGOING) is None
    assert records.number_in("kept-12.json", records.KEPT) == 12
    assert records.number_in("kept-x.json", records.KEPT) is None
