"""Who may use the desk: keys, codes, login sessions."""

import errno
import time
from pathlib import Path

import pytest

from humanmcp.desk.login import IDLE, KEY_LIFE, LONGEST, PAUSE, TRIES, Door, elapsed
from tests.support.desk_process import FORM, Desking
from tests.support.waiting import until


class Clock:
    """Time that a test lets go by."""

    def __init__(self) -> None:
        """Start somewhere."""
        self.now = 1_000_000.0

    def __call__(self) -> float:
        """Return this moment."""
        return self.now


def test_a_system_whose_clock_with_sleep_fails_has_the_other_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python in a browser names `CLOCK_BOOTTIME`, and refuses it."""

    def refuse(_clock: int) -> float:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(time, "clock_gettime", refuse)
    before = time.monotonic()
    assert before <= elapsed() <= time.monotonic()


def test_a_key_opens_once() -> None:
    """The second use of a key opens nothing."""
    door = Door()
    key = door.new_key()
    assert door.enter_with_key(key) is not None
    assert door.enter_with_key(key) is None


def test_a_key_opens_for_five_minutes() -> None:
    """An old key opens nothing."""
    clock = Clock()
    door = Door(clock=clock)
    key = door.new_key()
    clock.now += KEY_LIFE + 1
    assert door.enter_with_key(key) is None


def test_looking_at_the_door_uses_no_key_up(desking: Desking) -> None:
    """GET and HEAD of the address, as a preview makes them, leave the key as it is."""
    key = desking.key()
    for method in ("GET", "HEAD"):
        desking.ask(method, "/login")
        desking.ask(method, f"/login?k={key}")
        desking.ask(method, "/api/login")
    answer = desking.ask(
        "POST",
        "/api/login",
        body=f'{{"key": "{key}"}}'.encode(),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status == 200


def test_wrong_codes_lead_nowhere() -> None:
    """After a few wrong ones the right one of before is wrong as well."""
    door = Door()
    code = door.code
    for _ in range(TRIES):
        assert door.enter_with_code("AAAA-AAAA") is None
    assert door.code != code
    assert door.enter_with_code(code) is None


def test_the_code_opens_once_however_it_is_typed() -> None:
    """Lower case, without the hyphen, with spaces: it was read from another screen."""
    door = Door()
    assert door.enter_with_code(f" {door.code.lower().replace('-', ' ')} ") is not None
    door = Door()
    code = door.code
    assert door.enter_with_code(code) is not None
    assert door.enter_with_code(code) is None


def test_secrets_that_are_not_ascii_are_wrong_and_nothing_else() -> None:
    """Comparing them raises nothing."""
    door = Door()
    for secret in ("é", "\udcff", "", "東京", "x" * 100_000):
        assert not door.knows_token(secret)
        assert door.enter_with_key(secret) is None
        assert door.enter_with_code(secret) is None
        assert not door.knows_login(secret)
    assert door.knows_token(door.token)


def test_a_visit_ends_by_itself() -> None:
    """Twelve hours without a request, or seven days in any case."""
    clock = Clock()
    door = Door(clock=clock)
    login = door.enter_with_key(door.new_key())
    assert login is not None
    clock.now += IDLE - 1
    assert door.knows_login(login)
    clock.now += IDLE + 1
    assert not door.knows_login(login)

    login = door.enter_with_key(door.new_key())
    assert login is not None
    began = clock.now
    while clock.now - began <= LONGEST:
        assert door.knows_login(login)
        clock.now += IDLE / 2
    assert not door.knows_login(login)


def test_a_visit_survives_a_restart_and_its_file_opens_nothing(tmp_path: Path) -> None:
    """A browser stays logged in; who reads the file has digests only."""
    file = tmp_path / "logins.json"
    door = Door(file)
    login = door.enter_with_key(door.new_key())
    assert login is not None
    assert file.stat().st_mode & 0o777 == 0o600
    assert login not in file.read_text(encoding="utf-8")
    again = Door(file)
    assert again.knows_login(login)
    again.end_login(login)
    assert not again.knows_login(login)
    assert not Door(file).knows_login(login)


def test_a_broken_file_of_visits_lets_nobody_in_and_stops_nothing(tmp_path: Path) -> None:
    """Everybody logs in again; the desk starts."""
    file = tmp_path / "logins.json"
    for content in ("", "[]", '{"a": 1}', "{", '{"a": ["x", "y"]}'):
        file.write_text(content, encoding="utf-8")
        assert not Door(file).knows_login("a")


def test_who_logs_out_is_out(desking: Desking) -> None:
    """The cookie opens nothing any more."""
    own = {"Origin": f"http://127.0.0.1:{desking.port}", **FORM}
    cookie = desking.cookie()
    assert desking.ask("GET", desking.in_login("/api/state"), headers=cookie).status == 200
    leave = desking.in_login("/logout")
    assert desking.ask("POST", leave, headers={**own, **cookie}).status == 303
    assert desking.ask("GET", desking.in_login("/api/state"), headers=cookie).status == 401


def test_a_step_of_the_clock_ends_no_visit(tmp_path: Path) -> None:
    """Thirteen hours on by daylight saving, a wrong zone or a time server; a restart counts."""
    file, clock, wall = tmp_path / "logins.json", Clock(), Clock()
    door = Door(file, clock=clock, wall=wall)
    login = door.enter_with_key(door.new_key())
    assert login is not None
    wall.now += 13 * 3600
    assert door.knows_login(login)
    clock.now += 61  # and what is written now goes by the new clock
    assert door.knows_login(login)
    other = Clock()
    other.now = 7.0
    assert Door(file, clock=other, wall=wall).knows_login(login)
    wall.now += IDLE + 1
    assert not Door(file, clock=other, wall=wall).knows_login(login)


def test_wrong_codes_of_others_do_not_end_the_printed_code_for_good() -> None:
    """The new one is told where the old one was; and nobody makes it change all the time."""
    clock, told = Clock(), list[str]()
    door = Door(clock=clock, tell=told.append)
    for _ in range(100):
        door.enter_with_code("AAAA-AAAA")
    assert told == [door.code]
    assert door.enter_with_code(door.code) is None  # no code is looked at now
    clock.now += PAUSE
    assert door.enter_with_code(told[0]) is not None
    assert told[1:] == [door.code]


def test_the_terminal_shows_the_new_code(home: Path) -> None:
    """Whoever reads it from there gets in."""
    with Desking(home, "--lang", "en") as desk:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        for _ in range(TRIES):
            assert desk.ask("POST", "/login", body=b"code=AAAA", headers=form).status == 401
        new = "The new code is "
        until(lambda: new in desk.out.read_text("utf-8"), "the terminal shows it")
