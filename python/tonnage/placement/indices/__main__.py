"""``python -m tonnage.placement.indices``: the process that ``apart`` starts, with names and addresses on its stdin."""

from __future__ import annotations

import json
import signal
import sys

from tonnage.placement.indices.index_reader import ANSWER_S, fresh_indices_at

if __name__ == "__main__":
    # Whatever holds it (a name server that does not answer): its default action ends the process.
    signal.alarm(round(4 * ANSWER_S))
    fresh_indices_at(json.load(sys.stdin), wait_ns=round(ANSWER_S * 1e9))
