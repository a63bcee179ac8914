"""A scheduler of a plug-in: the caller gets results of the types of ``Scheduler``, or an error that names plug-in and
method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from tonnage import plugins
from tonnage.cluster.scheduler import (
    ClusterHost,
    Job,
    Queue,
    Scheduler,
    SchedulerError,
    SubmissionUnknown,
    Submitted,
    TellsLicences,
    TellsWhoSees,
)
from tonnage.errors import RequestError, TonnageError

_RETURNS: dict[str, tuple[type, ...]] = {
    "present": (bool,),
    "check": (type(None),),
    "command": (list,),
    "submit": (Submitted,),
    "find": (Submitted, type(None)),
    "interactive": (int,),
    "jobs": (list,),
    "queues": (list,),
    "hosts": (list,),
    "cancel": (type(None),),
    "set_cap": (type(None),),
    "licences": (dict,),
    "hides_others": (bool,),
}
"""What each method returns."""
_PARTS = {"command": str, "jobs": Job, "queues": Queue, "hosts": ClusterHost}
"""What the lists are of."""


class PlugInFailed(SchedulerError):
    """A method of a plug-in failed in a way that no scheduler may; the exit code of all failures of plug-ins."""

    exit_code = RequestError.exit_code


def guarded(name: str, theirs: object) -> Scheduler:
    """The plug-in's scheduler with guarded methods; of those that a scheduler need not have, the ones that it has."""
    optional = [method for kind in (TellsLicences, TellsWhoSees) for method in _methods_of(kind)]
    methods = [*_methods_of(Scheduler), *(method for method in optional if hasattr(theirs, method))]
    # A class of its own: ``isinstance`` with a protocol looks for methods at the class.
    kind = type("PlugInScheduler", (), {method: _guarded(name, theirs, method) for method in methods})
    found: Any = kind()
    found.name = getattr(theirs, "name", name)
    return cast("Scheduler", found)


def _methods_of(protocol: type) -> list[str]:
    return [name for name in vars(protocol) if name in _RETURNS]


def _guarded(name: str, theirs: object, method: str) -> Callable[..., Any]:
    def call(_: object, *arguments: Any, **named: Any) -> Any:
        part: Any = _PARTS.get(method)

        def checked() -> Any:
            found: Any = getattr(theirs, method)(*arguments, **named)
            wanted = _RETURNS[method]
            if not any(isinstance(found, kind) for kind in wanted):
                raise TypeError(f"it returned {found!r}, which is no {' or '.join(kind.__name__ for kind in wanted)}")
            if isinstance(found, Submitted):
                return plugins.with_fields(Submitted, found)
            for one in found if part is not None else ():
                if not isinstance(one, part):
                    raise TypeError(f"it returned a list with {one!r}, which is no {part.__name__}")
            return found if part in (None, str) else [plugins.with_fields(part, one) for one in found]

        try:
            return plugins.call(plugins.SCHEDULERS, name, checked, method=method, passed_on=(TonnageError,))
        except plugins.PlugInError as error:
            # It may have failed behind the scheduler's answer, so that the job is there.
            raise (SubmissionUnknown if method == "submit" else PlugInFailed)(str(error)) from error

    return call
