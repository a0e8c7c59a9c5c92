"""What headers say: a length, an encoding, and what stands there twice."""

import pytest

from humanmcp.protocol.http.http_headers import Headers, content_length


@pytest.mark.parametrize(
    ("values", "length"),
    [
        ([], 0),
        (["0"], 0),
        (["17"], 17),
        (["9" * 12], 999_999_999_999),
        (["9" * 13], 10**12),
        (["1" * 5000], 10**12),
        (["²"], None),
        (["٣"], None),
        (["-1"], None),
        (["1_0"], None),
        ([""], None),
        (["5", "5"], None),
    ],
)
def test_a_length_is_digits_and_stands_once(values: list[str], length: int | None) -> None:
    """Anything else would be read in two ways, or end a process that turns it into a number."""
    assert content_length(values) == length


@pytest.mark.parametrize(
    ("said", "charset"),
    [
        ("application/json", ""),
        ("application/json; charset=utf-8", "utf-8"),
        ('application/json;v=1;\tCharset="UTF-16"', "utf-16"),
        ("application/json; charset", ""),
    ],
)
def test_an_encoding_is_a_parameter_of_the_type(said: str, charset: str) -> None:
    """RFC 9110, 8.3.1: names in any case, values quoted or not."""
    assert Headers.of([("Content-Type", said)]).charset == charset


@pytest.mark.parametrize(
    ("accept", "json", "events"),
    [
        ("", True, True),
        ("*/*", True, True),
        ("application/json;q=0.1, text/event-stream", True, True),
        ("application/json ; Q=0.000, text/event-stream", False, True),
        ("text/event-stream;q=0, */*", True, False),
        ("application/*;q=0, application/json", True, False),
        ("*/*; q=0", False, False),
        ("text/html", False, False),
    ],
)
def test_what_a_client_gives_no_weight_it_does_not_take(
    accept: str, *, json: bool, events: bool
) -> None:
    """RFC 9110, 12.5.1; the most specific range counts."""
    said = Headers.of([("Accept", accept)])
    assert (said.accepts("application/json"), said.accepts("text/event-stream")) == (json, events)
