"""The process that ``tonnage stage start`` leaves behind: ``python -m tonnage.cli.stage.detached``, plan on stdin."""

from __future__ import annotations

import signal
import sys

from tonnage.cli.entry import complain
from tonnage.cli.pydantic_plugins import find_none
from tonnage.errors import TonnageError, system_text


def main() -> int:
    """Exit code, which nobody reads once it is in the background; its log has the same in words."""
    find_none()
    from tonnage.cli.stage.mover_view import carry_out, first_line, view
    from tonnage.staging.background_mover import detach
    from tonnage.staging.mover_host import Host
    from tonnage.staging.mover_plan import StagePlan
    from tonnage.staging.run_mover import attend

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        plan = StagePlan.model_validate_json(sys.stdin.read())
        host = Host(plan, lambda started: detach(plan, first_line(started)))
        return carry_out(view(sys.stderr, dated=True), lambda tell: attend(host, tell, drain=False), plan)
    except TonnageError as error:
        return complain(str(error), error.exit_code)
    except OSError as error:
        return complain(system_text(error), 1)


if __name__ == "__main__":
    sys.exit(main())
