"""Crews at the end of pipes: this host's own far end, and stand-ins for hosts that are dead, hang or talk nonsense."""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tonnage
from hosts import ended
from tonnage.cluster.host_group import SERVICES, Alone, Answer
from tonnage.cluster.remote import CONNECTIONS, programs, remote_hosts
from tonnage.cluster.remote.client import RemoteHostGroup, check, first_line, here, srun, ssh
from tonnage.errors import RequestError
from waiting import wait_until

NODE = platform.node()
PATIENCE_S = 20.0


def stand_in(text: str) -> list[str]:
    """A far end of another make."""
    return [sys.executable, "-I", "-c", f"import sys, time\nsys.stdin.readline()\n{text}\n"]


def says(*lines: str) -> list[str]:
    return stand_in(f"print({chr(10).join(lines)!r}, flush=True)\nsys.stdin.read()")


def hello(version: str = tonnage.__version__) -> str:
    return "tonnage-agent " + json.dumps({"version": version, "host": "far", "python": "3.11.2", "pid": 1})


def host_group_of(start_s: float = PATIENCE_S, **ways: list[str]) -> RemoteHostGroup:
    return RemoteHostGroup(list(ways), ways.__getitem__, start_s=start_s)


@pytest.fixture
def host_group() -> Iterator[RemoteHostGroup]:
    """A real far end on this host, as ``here``."""
    with host_group_of(here=here("here", 1)) as found:
        yield found


def value(answers: dict[str, Answer], host: str = "here") -> Any:
    assert answers[host].problem is None, answers[host].problem
    return answers[host].value


def start(host_group: RemoteHostGroup, *argv: str) -> dict[str, Any]:
    found: dict[str, Any] = value(host_group.ask("start-program", {"here": {"argv": argv}}, timeout_s=PATIENCE_S))
    return found


def wait(host_group: RemoteHostGroup, handle: str, **more: Any) -> dict[str, Any]:
    words = {"handle": handle, "timeout_s": PATIENCE_S, **more}
    found: dict[str, Any] = value(host_group.ask("await-program", {"here": words}, timeout_s=2 * PATIENCE_S))
    return found


def test_a_far_end_does_each_duty_as_this_process_does(host_group: RemoteHostGroup, tmp_path: Path) -> None:
    alone = Alone()
    assert host_group.problems == {} and host_group.nodes == {"here": NODE}
    for service, words in (("facts", {}), ("path-facts", {"path": str(tmp_path)})):
        there = value(host_group.ask(service, {"here": words}, timeout_s=PATIENCE_S))
        own = value(alone.ask(service, {NODE: words}, timeout_s=PATIENCE_S), NODE)
        for told in (there, own):
            told.pop("free_bytes", None)
        assert there == own and there


def test_a_duty_that_fails_is_a_problem_and_the_next_one_is_done(host_group: RemoteHostGroup) -> None:
    told = host_group.ask("path-facts", {"here": {"path": "relative"}}, timeout_s=PATIENCE_S)["here"]
    assert told.value is None and told.problem and "relative is not absolute" in told.problem
    assert host_group.ask("dance", {"here": {}}, timeout_s=PATIENCE_S)["here"].problem == "it has no service 'dance'"
    wrong = host_group.ask("path-facts", {"here": {"depth": 3}}, timeout_s=PATIENCE_S)["here"].problem
    assert wrong and wrong.startswith("path-facts failed: TypeError")
    assert host_group.ask("facts", {"nowhere": {}}, timeout_s=PATIENCE_S)["nowhere"].problem
    assert value(host_group.ask("facts", {"here": {}}, timeout_s=PATIENCE_S))["hostname"] == NODE


def printed(host_group: RemoteHostGroup, handle: str, text: str) -> str:
    """All that a program has printed, once that has a text in it."""
    wait_until(lambda: text in wait(host_group, handle, timeout_s=0)["out"], f"the output {text!r}")
    found: str = wait(host_group, handle, timeout_s=0)["out"]
    return found


def test_the_words_of_a_program_arrive_byte_for_byte(host_group: RemoteHostGroup) -> None:
    words = ["$(id)", "`id`", "a'b\"c", "\n", "*", "~", "!1", "\\", ";", "ü", os.fsdecode(b"\xff"), ""]
    code = "import os, sys; os.write(1, b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    told = wait(host_group, start(host_group, sys.executable, "-I", "-c", code, *words)["handle"])
    assert told["out"].split("\0") == words and told["status"] == 0 and not told["running"]


def test_a_program_has_its_outputs_and_its_status(host_group: RemoteHostGroup) -> None:
    told = wait(host_group, start(host_group, "sh", "-c", "printf yes; echo no >&2; exit 7")["handle"])
    assert (told["out"], told["err"], told["status"]) == ("yes", "no\n", 7)
    assert told["began_ns"] < told["ended_ns"]
    killed = wait(host_group, start(host_group, "sh", "-c", "kill -9 $$")["handle"])
    assert killed["status"] == 137


def test_what_a_program_prints_beyond_the_bound_is_dropped_and_it_goes_on(
    host_group: RemoteHostGroup,
) -> None:
    code = f"import sys; sys.stdout.write('x' * {programs.MOST_OUTPUT + 5}); sys.stderr.write('end')"
    told = wait(host_group, start(host_group, sys.executable, "-I", "-c", code)["handle"])
    assert told["cut"] and len(told["out"]) == programs.MOST_OUTPUT and told["err"] == "end" and told["status"] == 0


def test_a_program_that_is_not_there_is_a_problem_in_words(host_group: RemoteHostGroup, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("words")
    for argv, told in (
        (["no-such-program"], "no-such-program is not installed here"),
        ([str(tmp_path / "text")], f"{tmp_path}/text cannot be run: Permission denied"),
        ([], "a program is a list of words; the first is its name"),
    ):
        answer = host_group.ask("start-program", {"here": {"argv": argv}}, timeout_s=PATIENCE_S)["here"]
        assert answer.problem == told
    gone = host_group.ask("await-program", {"here": {"handle": "program-99", "timeout_s": 1}}, timeout_s=PATIENCE_S)[
        "here"
    ]
    assert gone.problem and "program-99" in gone.problem


def test_a_program_is_awaited_by_where_it_listens(host_group: RemoteHostGroup) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    code = f"""import socket, sys, time
s = socket.create_server(("127.0.0.1", {port}))
sys.stdin.read(); time.sleep(600)"""
    handle = start(host_group, sys.executable, "-I", "-c", code)["handle"]
    told = wait(host_group, handle, listening=port)
    assert told["ready"] and told["running"]
    with socket.create_server(("127.0.0.1", 0)) as other:
        # Somebody listens there, and it is not this program.
        words = {"listening": other.getsockname()[1], "timeout_s": 0.1}
        assert not wait(host_group, handle, **words)["ready"]
    assert not wait(host_group, handle, timeout_s=0.05)["ready"]


def test_a_stopped_program_is_asked_first_and_takes_all_it_started_with_it(host_group: RemoteHostGroup) -> None:
    polite = start(host_group, "sh", "-c", "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.01; done")[
        "handle"
    ]
    printed(host_group, polite, "up")
    told = value(host_group.ask("stop-program", {"here": {"handle": polite}}, timeout_s=PATIENCE_S))
    assert told["status"] == 3 and told["out"] == "up\nbye\n" and told["ready"]
    deaf = start(host_group, "sh", "-c", "trap '' TERM; setsid sleep 600 & echo $!; sleep 600; :")["handle"]
    apart = int(printed(host_group, deaf, "\n"))
    words = {"handle": deaf}
    assert value(host_group.ask("stop-program", {"here": words}, timeout_s=PATIENCE_S))["status"] == 137
    assert ended(apart)
    assert "was stopped" in (
        host_group.ask("stop-program", {"here": words}, timeout_s=PATIENCE_S)["here"].problem or ""
    )


def test_the_end_of_a_crew_ends_what_it_started() -> None:
    with host_group_of(here=here("here", 1)) as host_group:
        pid = start(host_group, "sleep", "600")["pid"]
        assert not ended(pid)
    wait_until(lambda: ended(pid), "the program ends with its host_group")


@pytest.mark.parametrize("how", ["agent", "asker"])
def test_the_death_of_either_end_ends_what_was_started(how: str) -> None:
    code = f"""import sys, time
from tonnage.cluster.remote.client import RemoteHostGroup
host_group = RemoteHostGroup(["here"], lambda _: ["sh", "-s"])
told = host_group.ask("start-program", {{"here": {{"argv": ["sleep", "600"]}}}}, timeout_s={PATIENCE_S})["here"].value
print(told["pid"], host_group._processes["here"].process.pid, flush=True)
time.sleep(600)"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as asker:
        assert asker.stdout
        try:
            program, agent = map(int, asker.stdout.readline().split())
            assert not ended(program)
            os.kill(agent if how == "agent" else asker.pid, signal.SIGKILL)
            wait_until(lambda: ended(program), "the program ends")
            wait_until(lambda: ended(agent), "the far end ends")
        finally:
            asker.kill()


def test_a_host_that_hangs_is_waited_for_as_long_as_was_said_and_holds_up_nobody() -> None:
    with host_group_of(here=here("here", 1), other=here("other", 1)) as both:
        process = both._processes["other"].process
        assert process
        os.kill(process.pid, signal.SIGSTOP)
        began_s = time.monotonic()
        answers = both.ask("facts", {"here": {}, "other": {}}, timeout_s=2)
        assert time.monotonic() - began_s < 10
        assert answers["other"].problem == "it did not answer within 2 s (facts)" and answers["here"].value
        # More than its pipe takes: whoever asks does not wait for it either.
        big = {"here": {"path": "/"}, "other": {"path": "/" + "x" * 300_000}}
        answers = both.ask("path-facts", big, timeout_s=3)
        assert answers["here"].value and answers["other"].problem
        os.kill(process.pid, signal.SIGCONT)
        wait_until(lambda: not both.ask("facts", {"other": {}}, timeout_s=1)["other"].problem, "it answers again")


def test_a_host_that_is_lost_says_so_at_once_and_ever_after() -> None:
    with host_group_of(here=here("here", 1), other=here("other", 1)) as both:
        process = both._processes["other"].process
        assert process
        os.kill(process.pid, signal.SIGKILL)
        words = {"handle": "none", "timeout_s": 600}
        began_s = time.monotonic()
        for _ in range(2):
            answers = both.ask("await-program", {"other": words}, timeout_s=600)
            assert answers["other"].problem == "it ended by signal 9"
        assert time.monotonic() - began_s < PATIENCE_S and list(both.problems) == ["other"]
        assert value(both.ask("facts", {"here": {}}, timeout_s=PATIENCE_S))


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (says(hello("0.0.9")), "it has Tonnage 0.0.9, and "),
        (says(hello("0.0.9")), "; hint: install the same on both"),
        (says("Welcome!", *["x" * 40_000] * 2), "what answers there is no Tonnage: it says 'xxx"),
        (stand_in("print('x' * 700_000); sys.stdin.read()"), "is no Tonnage: its lines do not end"),
        (stand_in("sys.stdout.buffer.write(bytes(range(9, 256)) * 3000); sys.stdin.read()"), "is no Tonnage: "),
        (says("tonnage-agent {}"), "its answer is none: 'tonnage-agent {}'"),
        (says("tonnage-agent 7"), "its answer is none: "),
        (stand_in("print('key refused', file=sys.stderr); sys.exit(255)"), "failed with status 255: key refused"),
        (stand_in("sys.exit('No module named tonnage')"), "there is no Tonnage; hint: install it there"),
        (["sh", "-c", "exec tonnage-that-is-nowhere agent"], "there is no Tonnage; hint: install it there"),
        (["tonnage-way-that-is-nowhere"], "tonnage-way-that-is-nowhere is not installed here"),
        (stand_in("pass"), " ended"),
    ],
)
def test_a_host_that_is_none_has_one_clear_problem_and_the_other_answers(argv: list[str], told: str) -> None:
    with host_group_of(bad=argv, here=here("here", 1)) as host_group:
        assert told in host_group.problems["bad"] and list(host_group.problems) == ["bad"]
        answers = host_group.ask("facts", {"bad": {}, "here": {}}, timeout_s=PATIENCE_S)
        assert answers["bad"].problem == host_group.problems["bad"] and value(answers)
        assert list(host_group.hosts) == ["bad", "here"]


def test_a_login_may_greet_before_the_far_end_does() -> None:
    greeting = ["sh", "-c", "echo Welcome; echo 'Last login: today'; echo '{}'; exec sh -s"]
    with host_group_of(here=greeting) as host_group:
        assert value(host_group.ask("facts", {"here": {}}, timeout_s=PATIENCE_S))


def test_a_host_that_never_answers_is_given_up_after_the_limit() -> None:
    began_s = time.monotonic()
    with host_group_of(start_s=1.0, silent=stand_in("time.sleep(600)"), here=here("here", 1)) as host_group:
        assert host_group.problems.get("silent") == "it did not answer within 1 s"
    assert time.monotonic() - began_s < 30


@pytest.mark.parametrize("garbage", ["[1, 2]", "no JSON", '{"id": 1}', '{"id": [], "value": 1, "problem": null}'])
def test_garbage_in_the_place_of_an_answer_is_a_problem_of_that_host(garbage: str) -> None:
    far = stand_in(
        f"print({hello()!r}, flush=True)\nsys.stdin.readline()\nprint({garbage!r}, flush=True)\nsys.stdin.read()"
    )
    with host_group_of(bad=far, here=here("here", 1)) as host_group:
        answers = host_group.ask("facts", {"bad": {}, "here": {}}, timeout_s=PATIENCE_S)
        assert "its answer is none" in (answers["bad"].problem or "") and value(answers)


def test_the_shell_that_starts_the_far_end_reads_a_path_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "a b'c\n$(id)"
    odd.mkdir()
    (odd / "python").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(odd / "python"))
    # By another path a virtual environment's Python knows nothing of its packages.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(entry for entry in sys.path if entry))
    said = subprocess.run(["sh", "-s"], input=first_line(), capture_output=True, timeout=PATIENCE_S, check=True).stdout
    # Its input ended at once, and so did it.
    assert said.startswith(b"tonnage-agent {")


def test_a_host_where_this_python_is_not_is_asked_for_its_own_tonnage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tonnage").write_text('#!/bin/sh\necho "its own $1"\n')
    (tmp_path / "tonnage").chmod(0o755)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    said = subprocess.run(["sh", "-s"], input=first_line(), capture_output=True, env=environment, check=True).stdout
    assert said == b"its own agent\n"


def test_ssh_and_srun_get_a_host_and_nothing_that_a_shell_could_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ssh("me@node-1.site", 30)[-3:] == ["--", "me@node-1.site", "exec sh -s"]
    assert "-oBatchMode=yes" in ssh("node1", 30) and "-oConnectTimeout=30" in ssh("node1", 30)
    assert ssh(NODE, 30) == ["sh", "-s"]
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert "--immediate=30" in srun("node1", 30) and "--nodelist=node1" in srun("node1", 30)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert "--overlap" in srun("node1", 30) and "--immediate=30" not in srun("node1", 30)
    for wrong in ("-oProxyCommand=id", "a b", "", "a;b", "a,b", "@a", "$(id)", "a\n"):
        with pytest.raises(RequestError, match="is no host's name"):
            check(wrong)


def test_a_way_that_is_none_is_a_wrong_request_and_alone_is_this_host() -> None:
    assert CONNECTIONS == ("alone", "ssh", "slurm", "mpi")
    with pytest.raises(RequestError, match="there is no way 'rsh'"), remote_hosts("rsh", ["a"]):
        pass
    with pytest.raises(RequestError, match="'a b' is no host's name"), remote_hosts("ssh", ["a b"]):
        pass
    with remote_hosts("alone", [NODE]) as alone:
        answers = alone.ask("facts", {NODE: {}, "other": {}}, timeout_s=1)
        assert answers[NODE].value and answers["other"].problem == "other is not this host"


def test_every_duty_is_a_function_that_is_there() -> None:
    from importlib import import_module

    for name in SERVICES.values():
        module, _, function = name.partition(":")
        assert callable(getattr(import_module(module), function)), name


def test_the_command_agent_is_nothing_for_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: True)
    from tonnage.cli import main

    assert main(["agent"]) == 2
    assert "agent is what Tonnage starts on other hosts" in capsys.readouterr().err
