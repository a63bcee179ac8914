"""The control socket: who may ask, what goes wrong, and what is left when the mover is gone."""

from __future__ import annotations

import fcntl
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tonnage.errors import MeasurementError
from tonnage.staging import control_socket
from tonnage.staging.control_socket import SOCKET, Client, ControlError, NoMover, Server, answers


def echo(request: Mapping[str, Any]) -> Mapping[str, Any]:
    if request["do"] == "fail":
        raise MeasurementError("it cannot; hint: ask for less")
    return {"heard": dict(request)}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    server = Server(tmp_path, echo)
    yield tmp_path
    server.close()


def test_one_connection_carries_many_requests_and_an_error_does_not_end_it(state: Path) -> None:
    with Client(state) as client:
        assert client.ask("limit", bytes_per_s=None) == {"heard": {"do": "limit", "bytes_per_s": None}}
        with pytest.raises(ControlError, match="it cannot; hint: ask for less"):
            client.ask("fail")
        assert client.ask("status")["heard"] == {"do": "status"}


@pytest.mark.parametrize("line", [b"no json\n", b"[1]\n", b"{}\n", b'{"do": \xff}\n'])
def test_a_request_that_is_none_gets_an_error_and_harms_nobody(state: Path, line: bytes) -> None:
    with Client(state) as client:
        client._socket.sendall(line)
        assert b'"error"' in client._lines.readline()
    assert answers(state)


def test_a_path_longer_than_a_socket_may_have_works(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a" * 60] * 4)
    deep.mkdir(parents=True)
    server = Server(deep, echo)
    try:
        assert len(str(deep / SOCKET)) > 200 and answers(deep)
    finally:
        server.close()


def test_a_socket_that_a_killed_mover_left_is_replaced_and_a_file_in_its_place_is_not(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / SOCKET))
    left.close()
    assert not answers(tmp_path)
    server = Server(tmp_path, echo)
    assert answers(tmp_path)
    server.close()
    (tmp_path / SOCKET).write_text("the user's")
    with pytest.raises(ControlError, match=r"cannot make the control socket in .*: Address already in use; hint: "):
        Server(tmp_path, echo)
    assert (tmp_path / SOCKET).read_text() == "the user's"


def test_after_close_nobody_answers_and_no_socket_stays(state: Path) -> None:
    server = Server(state, echo)
    with Client(state) as client:
        client.ask("status")
        server.close()
        assert not (state / SOCKET).exists() and not answers(state)
        client.ask("status")  # who was being served is served to the end


def test_a_mover_that_ends_between_two_requests_is_told_as_that(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / SOCKET))
    listener.listen()
    threading.Thread(target=lambda: listener.accept()[0].close()).start()
    with Client(tmp_path) as client, pytest.raises(NoMover, match="the mover has ended"):
        client.ask("status")
    listener.close()


def test_a_mover_that_hangs_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_socket, "_PATIENCE_S", 0.05)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / SOCKET))
    listener.listen()
    with Client(tmp_path) as client, pytest.raises(ControlError, match="does not answer within"):
        client.ask("status")
    listener.close()


def test_another_user_is_not_answered_and_root_is(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        uid = os.getuid()
        assert control_socket._may_ask(here) is (uid in (4711, 0))
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        assert control_socket._may_ask(here)
    assert (state / SOCKET).stat().st_mode & 0o777 == 0o600


@pytest.fixture
def lock(state: Path) -> Iterator[Path]:
    """What a mover holds beside its socket."""
    with (state / control_socket._LOCK).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield state / control_socket._LOCK


def test_more_connections_than_are_served_at_once_are_told_so_and_the_next_is_served(
    state: Path, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lock.exists()
    monkeypatch.setattr(control_socket, "_IDLE_S", 30.0)
    monkeypatch.setattr(control_socket, "_PATIENCE_S", 0.3)
    held = []
    for _ in range(control_socket._AT_ONCE):
        client = Client(state)
        client.ask("status")
        held.append(client)
    with Client(state) as one_more, pytest.raises(ControlError, match=r"is busy: 32 others .*; hint: ") as caught:
        one_more.ask("status")
    assert not isinstance(caught.value, NoMover) and caught.value.exit_code == 1
    for client in held:
        client.__exit__()
    monkeypatch.setattr(control_socket, "_PATIENCE_S", 60.0)
    with Client(state) as again:
        again.ask("status")


@pytest.mark.parametrize("half", [b"", b'{"do": "sta'])
def test_connections_that_say_nothing_make_room(
    state: Path, lock: Path, monkeypatch: pytest.MonkeyPatch, half: bytes
) -> None:
    assert lock.exists()
    monkeypatch.setattr(control_socket, "_IDLE_S", 0.2)
    with ExitStack() as stack:
        for _ in range(control_socket._AT_ONCE):
            stack.enter_context(Client(state))._socket.sendall(half)
        with Client(state) as client:
            assert client.ask("status")["heard"] == {"do": "status"}


def test_who_was_silent_too_long_is_served_again(state: Path, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lock.exists()
    monkeypatch.setattr(control_socket, "_IDLE_S", 0.05)
    with Client(state) as client:
        assert client._lines.peek() == b""
        assert client.ask("status")["heard"] == {"do": "status"}


def test_who_never_reads_keeps_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_socket, "_IDLE_S", 0.05)
    server = Server(tmp_path, lambda _: {"much": "x" * (1 << 20)})
    try:
        with ExitStack() as stack:
            for _ in range(control_socket._AT_ONCE):
                stack.enter_context(Client(tmp_path))._socket.sendall(b"{}\n")
            for _ in range(control_socket._AT_ONCE):
                # All places are free again; the test ends only then.
                server._places.acquire()
    finally:
        server.close()


def test_any_failure_of_the_answer_is_an_answer(tmp_path: Path) -> None:
    def fail(_request: Mapping[str, Any]) -> Mapping[str, Any]:
        raise OverflowError

    server = Server(tmp_path, fail)
    try:
        with Client(tmp_path) as client, pytest.raises(ControlError, match="OverflowError"):
            client.ask("status")
    finally:
        server.close()


def test_a_process_that_holds_the_lock_and_does_not_listen_is_not_told_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_socket, "_PATIENCE_S", 0.1)
    with (tmp_path / control_socket._LOCK).open("w") as held:
        with pytest.raises(NoMover):
            Client(tmp_path)
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ControlError, match=r"holds the state .*; hint: ") as caught:
            Client(tmp_path)
        assert not isinstance(caught.value, NoMover) and answers(tmp_path)


def test_what_listens_and_is_no_mover_is_told_as_that(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / SOCKET))
        listener.listen()

        def greet() -> None:
            with listener.accept()[0] as there:
                there.sendall(b"220 welcome\n")

        threading.Thread(target=greet).start()
        with Client(tmp_path) as client, pytest.raises(ControlError, match="is no mover"):
            client.ask("status")
