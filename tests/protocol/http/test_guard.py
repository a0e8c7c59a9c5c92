"""Who is let in, judged by the path and the headers alone."""

import pytest

from humanmcp.protocol.http.http_headers import Headers
from humanmcp.protocol.http.inbound import (
    ELSEWHERE,
    FOREIGN,
    NO_KEY,
    ONE_HOST,
    WRONG_HOST,
    HttpAddress,
    HttpRefusal,
    bearer,
    refused,
    repeated,
)

HERE = HttpAddress("127.0.0.1", 8080)
HOST = ("Host", "localhost:8080")


def refusal(*pairs: tuple[str, str], address: HttpAddress = HERE) -> HttpRefusal | None:
    """Judge a request for the endpoint."""
    return refused("/mcp", Headers.of(pairs), address)


@pytest.mark.parametrize(
    ("host", "port", "url"),
    [
        ("127.0.0.1", 8080, "http://127.0.0.1:8080/mcp"),
        ("::1", 80, "http://[::1]:80/mcp"),
    ],
)
def test_the_address_is_one_that_a_client_can_be_given(host: str, port: int, url: str) -> None:
    """RFC 3986, 3.2.2: an address of IPv6 stands in brackets."""
    assert HttpAddress(host, port).url == url


def test_the_port_is_left_out_where_it_is_the_usual_one() -> None:
    """RFC 9110, 4.2.1: 80 is that of http."""
    names = {"127.0.0.1", "localhost", "[::1]"}
    assert HERE.authorities == {f"{name}:8080" for name in names}
    assert HttpAddress("localhost", 80).authorities == names | {f"{name}:80" for name in names}


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ((HOST,), None),
        ((("host", "LOCALHOST:8080"),), None),
        ((HOST, ("Origin", "http://localhost:8080")), None),
        ((), ONE_HOST),
        ((HOST, HOST), ONE_HOST),
        ((("Host", "evil.example:8080"),), WRONG_HOST),
        ((HOST, ("Origin", "http://evil.example")), FOREIGN),
        ((HOST, ("Origin", "https://localhost:8080")), FOREIGN),
        ((HOST, ("Origin", "http://localhost:8080/")), FOREIGN),
        ((HOST, ("Origin", "http://[::1")), FOREIGN),
        ((HOST, ("Origin", "http://localhost:8080"), ("Origin", "null")), FOREIGN),
    ],
)
def test_a_page_of_another_address_is_kept_out(
    pairs: tuple[tuple[str, str], ...], expected: HttpRefusal | None
) -> None:
    """By the name that it says in `Host`, and by its own in `Origin`."""
    assert refusal(*pairs) == expected


def test_an_open_address_is_called_by_its_own_names_alone() -> None:
    """A page that rebinds its name to this address says that name in `Host` and in `Origin`."""
    names = ("192.168.1.5", "desk.local")
    here = HttpAddress("0.0.0.0", 8080, is_open=True, names=names)
    for name in (*names, "127.0.0.1"):
        own = (("Host", f"{name}:8080"), ("Origin", f"http://{name}:8080"))
        assert refusal(*own, address=here) is None
    evil = (("Host", "evil.example:8080"), ("Origin", "http://evil.example:8080"))
    assert refusal(*evil, address=here) == WRONG_HOST


def test_a_proxy_calls_it_by_the_address_that_was_given() -> None:
    """With the scheme that the browser sees, and with no other."""
    here = HttpAddress("127.0.0.1", 8080, outside=("https://mcp.example",))
    host = ("Host", "mcp.example")
    assert refusal(host, ("Origin", "https://mcp.example"), address=here) is None
    assert refusal(host, ("Origin", "https://evil.example"), address=here) == FOREIGN
    assert refusal(("Host", "evil.example"), address=here) == WRONG_HOST
    assert refusal(host, address=HERE) == WRONG_HOST


def test_nothing_but_the_endpoint_is_there_even_without_the_key() -> None:
    """A 401 elsewhere would begin a login that cannot end."""
    address = HttpAddress("127.0.0.1", 8080, key="k")
    assert refused("/.well-known/x", Headers.of([HOST]), address) == ELSEWHERE
    assert refusal(HOST, address=address) == NO_KEY
    assert refusal(HOST, ("Authorization", "Bearer k"), address=address) is None
    assert refusal(HOST, ("Authorization", "Bearer x"), address=address) == NO_KEY
    twice = [HOST, *[("Authorization", "Bearer k")] * 2]
    assert refusal(*twice, address=address) == repeated("authorization")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/mcp?key=1", None),
        ("http://127.0.0.1:8080/mcp", None),
        ("HTTP://LOCALHOST:8080/mcp?a://b", None),
        ("http://evil.example/mcp", WRONG_HOST),
        ("http://evil.example:8080@localhost:8080/mcp", WRONG_HOST),
        ("https://localhost:8080/mcp", ELSEWHERE),
        ("http://localhost:8080", ELSEWHERE),
        ("/mcp/", ELSEWHERE),
        ("//mcp", ELSEWHERE),
        ("/http://localhost:8080/mcp", ELSEWHERE),
    ],
)
def test_a_target_may_name_the_host_and_have_a_query(
    target: str, expected: HttpRefusal | None
) -> None:
    """RFC 9112, 3.2.2; its host counts then, and not that of the header."""
    assert refused(target, Headers.of([HOST]), HERE) == expected


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("Bearer abc", "abc"),
        ("bearer   abc ", "abc"),
        ("Basic abc", ""),
        ("Bearer", ""),
        ("Bearer " + "x" * 600, "x" * 505),
    ],
)
def test_the_key_is_what_follows_the_word_bearer(sent: str, key: str) -> None:
    """RFC 9110, 11.1: schemes are compared without case. No more is read than a key may have."""
    assert bearer(Headers.of([("Authorization", sent)])) == key
    assert bearer(Headers.of([("Other", sent)])) == ""
