"""A job as a command line of ``sbatch`` or ``srun``, and how Slurm spells its terms."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tonnage.cluster.array_numbers import spelled
from tonnage.cluster.job_terms import CommandSyntax, Dependency, Mail, Spelling, check_jobs, in_units
from tonnage.cluster.scheduler import JobRequest, Spread
from tonnage.errors import RequestError

_HERE = Path(__file__).parent
_OWN = " | "
"""Between ours and the user's own comment."""
_COMMENT = re.compile(r"tonnage:(?P<key>[A-Za-z0-9._-]{1,64})(?::(?P<server>.+?))?(?: \| .*)?", re.DOTALL)
_OF_A_JOB = ("SLURM_", "SLURMD_", "SBATCH_", "SALLOC_", "SRUN_")
_OF_A_SITE = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT")

_MAIL = {"begin": "BEGIN", "end": "END", "fail": "FAIL"}


def _dependency(after: Dependency) -> list[str]:
    check_jobs(after, r"[0-9]+(_[0-9]+|\[[0-9]+\])?", "Slurm")
    between = "?" if after.any_of else ","
    # Of an array's copy Slurm writes 12_3.
    each = (f"{when}:{job.replace('[', '_').rstrip(']')}" for when, job in after.conditions)
    return [f"--dependency={between.join(each)}"]


def _mail(mail: Mail) -> list[str]:
    to = [f"--mail-user={mail.to}"] if mail.to is not None else []
    return [f"--mail-type={','.join(_MAIL[event] for event in mail.events)}", *to]


def _begin(moment_s: int) -> list[str]:
    return [f"--begin={time.strftime('%Y-%m-%dT%H:%M:%S', time.localtime(moment_s))}"]


SLURM = Spelling(
    "Slurm",
    {
        "time_limit_s": lambda limit_s: [f"--time={limit_s // 60}:{limit_s % 60:02d}"],
        "account": lambda name: [f"--account={name}"],
        "memory_bytes": lambda size: [f"--mem={in_units(size, 1 << 10)}K"],
        # By --gpus a site without the consumable resources of that name would refuse them.
        "gpus": lambda count: [f"--gres=gpu:{count}"],
        "dependency": _dependency,
        "mail": _mail,
        "exclusive": lambda _: ["--exclusive"],
        "rerun": lambda _: ["--requeue"],
        "begin_at_s": _begin,
        "words": list,
    },
    CommandSyntax(
        refused=(
            *("--array", "-a", "--wrap", "--parsable", "--wait", "-W", "--test-only"),
            *("--help", "-h", "--usage", "-u", "--version", "-V"),
        ),
        flags=(
            *("--contiguous", "--exclusive", "--get-user-env", "--hold", "--ignore-pbs", "--immediate", "--nice"),
            *("--no-bell", "--no-kill", "--no-requeue", "--overcommit", "--oversubscribe", "--propagate", "--quiet"),
            *("--reboot", "--requeue", "--share", "--spread-job", "--stepmgr", "--use-min-nodes", "--verbose"),
        ),
        # Those of srun too.
        values="AaBbCcDdeFGiJLMmNnopqrSTtwx",
    ),
)
_OPTION, _SHORTEST = "--comment", "--com"
"""A beginning that only this option has is this option."""


def without_comment(words: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """A user's own comment, which shares the field with ours, and the other words."""
    rest: list[str] = []
    found = None
    given = iter(words)
    for word in given:
        name, equals, text = word.partition("=")
        if not (name.startswith(_SHORTEST) and _OPTION.startswith(name)):
            rest.append(word)
            continue
        found = text if equals else next(given, None)
        if found is None:
            raise RequestError("--comment has no text; hint: write --comment=TEXT")
    return found, tuple(rest)


def sbatch(request: JobRequest, where: Sequence[str]) -> list[str]:
    """``where``: the options that say on which hosts. RequestError for what Slurm has no way to say.

    The script is one that this package has; the program and its words are the script's arguments, and Slurm passes
    those on as they are. A job is one process on one host, with so many slots there, or spread over nodes by ``srun``.
    """
    options = [*_common(request, is_batch=True), *_size(request), *where]
    if request.copies is not None:
        limit = "" if request.cap is None else f"%{request.cap}"
        options.append(f"--array={spelled(request.numbers)}{limit}")
    options += _terms(request)
    script = "job.sh" if request.copies is None else "copy.sh"
    return ["sbatch", *options, str(_HERE / script), *_launch(request.spread), *request.program]


def _size(request: JobRequest) -> list[str]:
    spread = request.spread
    if spread is None:
        return ["--nodes=1", f"--ntasks={request.slots}"]
    # After a node failure Slurm would start the job again without a notice.
    whole = "--exclusive" if spread.alone else f"--ntasks-per-node={spread.per_node}"
    return [f"--nodes={spread.nodes}", whole, "--no-requeue"]


def _launch(spread: Spread | None) -> list[str]:
    """The words that start the processes from the first node; a single one is the batch job itself."""
    if spread is None or spread.processes == 1:
        return []
    # More processes than CPUs, and each on any of them: they wait for storage most of the time.
    options = [f"--ntasks={spread.processes}", "--overcommit", "--cpu-bind=none", "--kill-on-bad-exit=1"]
    if spread.mpi is not None:
        options.append(f"--mpi={spread.mpi}")
    if spread.order is None:
        options.append(f"--ntasks-per-node={spread.per_node}")
    else:
        # Slurm sorts a list of names; it keeps the order of a file, which it knows by the slash in its name.
        options += ["--distribution=arbitrary", f"--nodelist={spread.order}"]
    return ["srun", *options]


def srun(request: JobRequest, where: Sequence[str]) -> list[str]:
    """The same with this terminal; RequestError for copies."""
    if request.copies is not None:
        raise RequestError("copies cannot share a terminal; hint: leave -I or --copies out")
    if request.terms.rerun:
        raise RequestError("an interactive job of Slurm is not run again; hint: leave that out")
    slots = ["--nodes=1", "--ntasks=1", f"--cpus-per-task={request.slots}"]
    # Without the last, Slurm answers a first Ctrl-C itself.
    options = [
        *_common(request, is_batch=False),
        *slots,
        *where,
        *_terms(request),
        "--disable-status",
        *(["--pty"] if request.pty else []),
    ]
    return ["srun", *options, *request.program]


def _common(request: JobRequest, *, is_batch: bool) -> list[str]:
    remark, _ = without_comment(request.terms.words)
    options = [
        f"--job-name={request.name or 'tonnage'}",
        f"--comment={comment(request)}{f'{_OWN}{remark}' if remark else ''}",
        f"--chdir={request.directory}",
    ]
    if request.queue is not None:
        options.append(f"--partition={request.queue}")
    if request.licences:
        options.append("--licenses=" + ",".join(f"{name}:{count}" for name, count in request.licences))
    files = (("input", request.input), ("output", _output(request, is_batch=is_batch)), ("error", request.error))
    for option, file in files:
        if file is not None:
            # Slurm fills in the directory as well as the name: it must see both.
            path = str(Path(request.directory) / file)
            options.append(f"--{option}={pattern(path, is_array=request.copies is not None)}")
    return options


def _terms(request: JobRequest) -> list[str]:
    _, words = without_comment(request.terms.words)
    return SLURM.options(replace(request.terms, words=words))


def _output(request: JobRequest, *, is_batch: bool) -> str | None:
    """Slurm's own name for it is left to Slurm where the directory's name has nothing that it would fill in."""
    if request.output is None and is_batch and set("%\\") & set(request.directory):
        return "slurm-%J.out" if request.copies is None else "slurm-%J_%I.out"
    return request.output


def pattern(path: str, *, is_array: bool) -> str:
    """A file's name as Slurm reads it: ``%J`` and ``%I`` mean job and copy, all else stands for itself."""
    numbers = "%J" in path or "%I" in path
    if "\\" in path:
        if numbers:
            raise RequestError(f"Slurm fills in no numbers where a file has a backslash: {path!r}")
        return path.replace("\\", "\\\\")
    copy = "%a" if is_array else "0"
    meanings = {"%J": "%A", "%I": copy, "%": "%%"}
    return re.sub("%[JI]?", lambda found: meanings[found[0]], path)


def comment(request: JobRequest) -> str:
    """What Slurm keeps with the job: key and server."""
    return f"tonnage:{request.key}" + (f":{request.server}" if request.server else "")


def read_comment(text: str) -> tuple[str | None, str | None]:
    """Key and server of a job's comment; None where it is no job of ours."""
    match = _COMMENT.fullmatch(text)
    return (match["key"], match["server"]) if match else (None, None)


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what a job around us has set: it would become the new job's, down to its host and its slots."""
    if "SLURM_JOB_ID" not in environment:
        return dict(environment)
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(_OF_A_JOB) or name.startswith(_OF_A_SITE)
    }
