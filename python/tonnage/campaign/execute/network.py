"""Trials of ``network``: servers at the one end of each pair, clients at the other, all at one moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from tonnage.campaign.execute.executor import Executor
from tonnage.campaign.execute.network_flows import Flow, began, empty, result_of
from tonnage.campaign.execute.run_phase import Acted, Status, TrialRun
from tonnage.campaign.kinds.network import PHASE, SECOND_NS, NetworkSetting
from tonnage.campaign.stop_signals import Interrupts
from tonnage.campaign.target import Target
from tonnage.cluster.host_group import HostGroup
from tonnage.errors import MeasurementError, RequestError
from tonnage.importers.iperf3 import BACKWARD, FORWARD, NoReport, Report, read
from tonnage.records.line_types import Json

LISTEN_S = 20.0
"""For a server to take connections."""
CONNECT_MS = 10_000
"""For a client to reach its server."""
GRACE_S = 30.0
"""From when a client should be done until it is given up: it waits for what is still in the network."""
SERVER_S = 10.0
"""For a server to end after its client."""
_INTERVAL_S, _LONG_INTERVAL_S = 0.5, 1
_LONG_S = 60
"""Longer tests have longer intervals: ten streams write ten lines in each."""
_TAKEN = "Address already in use"
_WAYS = {"send": (FORWARD,), "receive": (BACKWARD,), "both": (FORWARD, BACKWARD)}
_WORDS: dict[str, tuple[str, ...]] = {"send": (), "receive": ("--reverse",), "both": ("--bidir",)}


@dataclass(slots=True)
class _Ends:
    """The two programs of a pair."""

    names: tuple[str, str]
    server: Program
    client: Program

    def __str__(self) -> str:
        return f"{self.names[0]} to {self.names[1]}"


class NetworkExecutor(Executor[NetworkSetting]):
    """iperf3 on both ends of each pair, all at one moment."""

    def check(self, setting: NetworkSetting, target: Target) -> None:  # noqa: ARG002  (as every kind's)
        if target.scheme == "sim":
            raise RequestError(
                f"workload.kind: network measures real links, and {target.uri} is a model; "
                "hint: give a directory, or null:"
            )

    def measure(self, setting: NetworkSetting, trial: TrialRun) -> Status:
        """Records the phase, whatever became of it."""
        hosts: list[str] = []

        def act() -> Acted:
            try:
                flows = between_hosts(trial.workspace.host_group, setting, trial.interrupts)
                if flows is None:
                    return empty("interrupted"), None
                result, rows = result_of(flows)
                trial.phases.writer.write_series(trial.number, PHASE, rows)
            except MeasurementError as error:
                return None, str(error)
            except OSError as error:
                return None, error.strerror or str(error)
            hosts.extend(flow.sender for flow in flows)
            return result, None

        trial.announce(PHASE)
        return trial.run_outside_engine(PHASE, act, hosts)


def between_hosts(host_group: HostGroup, setting: NetworkSetting, interrupted: Interrupts) -> list[Flow] | None:
    """What went between all pairs, as both ends of each say it; None once ``interrupted`` is true.

    MeasurementError says which host, or which pair, failed and why. Nothing runs on any host when this returns.
    """
    here = {host for pair in setting.ends for host in pair}
    if strange := sorted(here - set(host_group.hosts)):
        raise MeasurementError(
            f"{strange[0]} is no host of this run, which has {', '.join(host_group.hosts)}; "
            "hint: start it on all hosts of the pairs, with mpiexec, srun or --on"
        )
    with Programs(host_group) as programs:
        clocks = programs.clocks(sorted(here))
        pairs = _serve(programs, setting)
        if interrupted:
            return None
        programs.start([pair.client for pair in pairs])
        lasts_s = setting.time_ns_most / SECOND_NS
        left = programs.attend(
            [pair.client for pair in pairs],
            CONNECT_MS / 1000 + lasts_s + GRACE_S,
            lambda client: _check_client(programs, pairs, client),
            interrupted,
        )
        if interrupted:
            return None
        for pair in pairs:
            if pair.client in left:
                limit_s = CONNECT_MS / 1000 + lasts_s + GRACE_S
                raise MeasurementError(f"{pair}: not done within {limit_s:.0f} s, where {lasts_s:.0f} s were asked for")
        programs.attend([pair.server for pair in pairs], SERVER_S, lambda _: None, interrupted)
        return [flow for pair in pairs for flow in _flows(pair, setting, clocks)]


def _serve(programs: Programs, setting: NetworkSetting) -> list[_Ends]:
    """Starts a server for each pair at a port that is free, and waits until all listen."""
    addresses = dict(entry.split("=", 1) for entry in setting.addresses)
    first, last = setting.ports
    following: dict[str, int] = {}
    pairs = []
    for one, other in setting.ends:
        server, client = Program(other, ()), Program(one, ())
        pairs.append(_Ends((one, other), server, client))
    wanted = pairs
    while wanted:
        for pair in wanted:
            port = following.get(pair.names[1], first)
            if port > last:
                raise MeasurementError(
                    f"{pair.names[1]}: TCP ports {first} to {last} are taken; hint: give others with ports"
                )
            following[pair.names[1]] = port + 1
            pair.server = Program(pair.names[1], _server_arguments(port, setting), port)
            pair.client.argv = _client_arguments(addresses.get(pair.names[1], pair.names[1]), port, setting)
        programs.start([pair.server for pair in wanted])
        programs.poll([pair.server for pair in wanted], LISTEN_S)
        # Of several on one host only the first was waited for.
        for pair in [pair for pair in wanted if not pair.server.answer["ready"]]:
            programs.poll([pair.server], LISTEN_S)
        wanted = [pair for pair in wanted if not _listens(programs, pair)]
    return pairs


def _listens(programs: Programs, pair: _Ends) -> bool:
    """True for a server that takes a connection, False for one whose port another has; else MeasurementError."""
    server = pair.server
    if server.answer["ready"] and not server.ended:
        return True
    if server.ended and _TAKEN in server.answer["out"] + server.answer["err"]:
        programs.stop(server)
        return False
    why = _error_of(server) if server.ended else f"it does not listen at port {server.port} after {LISTEN_S:.0f} s"
    raise MeasurementError(f"{server.host}: no iperf3 server: {why}")


def _server_arguments(port: int, setting: NetworkSetting) -> list[str]:
    return ["iperf3", "--server", "--one-off", "--json", "--port", str(port), "--interval", _interval(setting)]


def _client_arguments(address: str, port: int, setting: NetworkSetting) -> list[str]:
    words = ["iperf3", "--client", address, "--port", str(port), "--json", "--interval", _interval(setting)]
    words += ["--time", str(setting.duration_ns // SECOND_NS), "--omit", str(setting.omit_ns // SECOND_NS)]
    words += ["--parallel", str(setting.streams), "--connect-timeout", str(CONNECT_MS), *_WORDS[setting.direction]]
    if setting.limit_bytes_per_s:
        # iperf3 takes bits, and of each stream.
        words += ["--bitrate", str(max(8 * setting.limit_bytes_per_s // setting.streams, 1))]
    return words


def _interval(setting: NetworkSetting) -> str:
    return str(_INTERVAL_S if setting.duration_ns <= _LONG_S * SECOND_NS else _LONG_INTERVAL_S)


def _check_client(programs: Programs, pairs: Sequence[_Ends], client: Program) -> None:
    """MeasurementError where it failed: one pair less is another measurement, so that all end."""
    if client.answer["status"] == 0 and (report := _report_of(client)) is not None and report.error is None:
        return
    pair = next(pair for pair in pairs if pair.client is client)
    why = _error_of(client)
    programs.poll([pair.server], 1.0)
    if pair.server.ended and (pair.server.answer["status"] or 0) > 128:
        why = f"{why} (the server on {pair.server.host}: {pair.server.last_error_line()})"
    raise MeasurementError(f"{pair}: {why}")


def _report_of(program: Program) -> Report | None:
    try:
        return read(program.answer["out"])
    except NoReport:
        return None


def _error_of(program: Program) -> str:
    """Why it failed: in iperf3's words, else how it ended."""
    report = _report_of(program)
    return report.error if report is not None and report.error else program.last_error_line()


def _flows(pair: _Ends, setting: NetworkSetting, clocks: Mapping[str, Clock]) -> list[Flow]:
    """One for each way, from the reports of both ends."""
    reports = {}
    for program in (pair.client, pair.server):
        if not program.ended:
            raise MeasurementError(f"{pair}: iperf3 on {program.host} did not end within {SERVER_S:.0f} s of its peer")
        if program.answer["cut"]:
            raise MeasurementError(f"{pair}: iperf3 on {program.host} printed more than is kept; hint: fewer streams")
        try:
            reports[program is pair.client] = report = read(program.answer["out"])
        except NoReport as error:
            raise MeasurementError(f"{pair}: {program.host}: {error}") from None
        if report.error:
            raise MeasurementError(f"{pair}: {program.host}: {report.error}")
    return [_flow(pair, way, reports[True], reports[False], setting, clocks) for way in _WAYS[setting.direction]]


def _flow(
    pair: _Ends, way: str, client: Report, server: Report, setting: NetworkSetting, clocks: Mapping[str, Clock]
) -> Flow:
    if way not in client.ways or way not in server.ways:
        raise MeasurementError(f"{pair}: one end of iperf3 says nothing of the {way} way")
    sent, received = (client, server) if way == FORWARD else (server, client)
    sender, receiver = pair.names if way == FORWARD else pair.names[::-1]
    clock = clocks[pair.client.host]
    alive_ns = (clock.here_ns(pair.client.answer["began_ns"]), clock.here_ns(pair.client.answer["ended_ns"]))
    # That of the receiver, whose bytes these are: where it began late, it counts for less time than the sender.
    length_ns = received.ways[way].intervals[-1].end_ns
    start_ns, uncertainty_ns = began(alive_ns, setting.omit_ns, length_ns, clock.uncertainty_ns)
    return Flow(
        sender=sender,
        receiver=receiver,
        sent=sent.ways[way],
        received=received.ways[way],
        sender_report=sent,
        receiver_report=received,
        start_ns=start_ns,
        uncertainty_ns=uncertainty_ns,
    )


ANSWER_S = 30.0
"""A host that has not answered so long after it should have is given up."""
_LOOK_S = 0.2
_CLOCK_LOOKS = 5


@dataclass(slots=True)
class Program:
    """A program that was started on a host, with its last known state (service ``await-program``)."""

    host: str
    argv: Sequence[str]
    port: int = 0
    """At which it listens; 0: at none."""
    handle: str = ""
    answer: Json = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        return bool(self.answer) and not self.answer["running"]

    def last_error_line(self) -> str:
        """Describes how the program ended, with the last line that it printed to stderr."""
        status = self.answer.get("status")
        lines = [line.strip() for line in str(self.answer.get("err", "")).splitlines() if line.strip()]
        how = (
            "it was lost"
            if status is None
            else f"signal {status - 128} ended it"
            if status > 128
            else f"it ended with exit code {status}"
        )
        return how + "".join(f": {line[:200]}" for line in lines[-1:])


@dataclass(frozen=True, slots=True)
class Clock:
    """A host's wall clock against this process's monotonic clock."""

    offset_ns: int
    uncertainty_ns: int
    """Half the shortest round trip."""

    def here_ns(self, there_ns: int) -> int:
        """Returns the instant on this process's clock."""
        return there_ns - self.offset_ns


class Programs:
    """Holds the programs started on the hosts of a host group. Leaving the context ends all of them."""

    def __init__(self, host_group: HostGroup) -> None:
        self._host_group = host_group
        self._started: list[Program] = []

    def __enter__(self) -> Programs:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        left = [program for program in self._started if program.handle]
        for each in _rounds(left):
            # A host that does not answer ends its programs itself, with the process that had them started.
            self._host_group.ask(
                "stop-program", {host: {"handle": one.handle} for host, one in each.items()}, timeout_s=ANSWER_S
            )
        self._started.clear()

    def ask(self, service: str, arguments: Mapping[str, Json], *, lasts_s: float = 0.0) -> dict[str, Any]:
        """What each host answered; MeasurementError with the name of the first that has a problem."""
        answers = self._host_group.ask(service, arguments, timeout_s=lasts_s + ANSWER_S)
        for host in arguments:
            answer = answers.get(host)
            if answer is None or answer.problem is not None:
                raise MeasurementError(f"{host}: {answer.problem if answer else 'no answer'}")
        return {host: answers[host].value for host in arguments}

    def clocks(self, hosts: Iterable[str]) -> dict[str, Clock]:
        """Measures each host's clock, by round trips."""
        best: dict[str, Clock] = {}
        wanted: dict[str, Json] = {host: {} for host in hosts}
        for _ in range(_CLOCK_LOOKS):
            asked_ns = time.monotonic_ns()
            told = self.ask("wall-clock", wanted)
            half_ns = (time.monotonic_ns() - asked_ns) // 2
            for host, now_ns in told.items():
                if host not in best or half_ns < best[host].uncertainty_ns:
                    best[host] = Clock(now_ns - asked_ns - half_ns, half_ns)
        return best

    def start(self, programs: Sequence[Program]) -> None:
        """Starts them, on all hosts at the same time; of several on one host, one after the other."""
        for each in _rounds(programs):
            words = {host: {"argv": list(one.argv)} for host, one in each.items()}
            for host, told in self.ask("start-program", words).items():
                each[host].handle = told["handle"]
                self._started.append(each[host])

    def stop(self, program: Program) -> None:
        """Ends one before the others."""
        self.ask("stop-program", {program.host: {"handle": program.handle}})
        self._started.remove(program)
        program.handle = ""

    def poll(self, programs: Sequence[Program], timeout_s: float) -> None:
        """Asks how each is; waits for one of each host to end, or to listen, for at most that long."""
        for number, each in enumerate(_rounds([program for program in programs if not program.ended])):
            wait_s = 0.0 if number else timeout_s
            words = {
                host: {"handle": one.handle, "timeout_s": wait_s, "listening": one.port or None}
                for host, one in each.items()
            }
            for host, told in self.ask("await-program", words, lasts_s=wait_s).items():
                each[host].answer = told

    def attend(
        self, programs: Sequence[Program], limit_s: float, ended: Callable[[Program], None], interrupted: Interrupts
    ) -> list[Program]:
        """Waits until all have ended, or for ``limit_s``, or until ``interrupted`` is true; ``ended`` is called for
        each that ends. Those that still run."""
        until_s = time.monotonic() + limit_s
        left = list(programs)
        while left and not interrupted and time.monotonic() < until_s:
            self.poll(left, _LOOK_S)
            for program in [program for program in left if program.ended]:
                left.remove(program)
                ended(program)
        return left


def _rounds(programs: Sequence[Program]) -> list[dict[str, Program]]:
    """At most one of each host in a round: a host group does one service on a host at a time."""
    rounds: list[dict[str, Program]] = []
    for program in programs:
        free = next((each for each in rounds if program.host not in each), None)
        if free is None:
            rounds.append({program.host: program})
        else:
            free[program.host] = program
    return rounds
