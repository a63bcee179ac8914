"""The run directory: what is kept, written and read back. ``docs/record-format.md`` is the format."""

from tonnage.errors import RecordError
from tonnage.records.lines import (
    COUNTED,
    copy_lines,
    device_lines,
    event_lines,
    headline,
    headlines,
    loop_rate,
    loop_rates,
    object_lines,
    record_name,
    setting_key,
    taken,
    task_lines,
    trial_line,
)
from tonnage.records.reader import Run
from tonnage.records.tasks_jsonl import Tasks
from tonnage.records.trial_columns import Trials
from tonnage.records.verify_figures import verify_files
from tonnage.records.workflow_jsonl import workflow_lines
from tonnage.records.writer import RunWriter

__all__ = [
    "COUNTED",
    "RecordError",
    "Run",
    "RunWriter",
    "Tasks",
    "Trials",
    "copy_lines",
    "device_lines",
    "event_lines",
    "headline",
    "headlines",
    "loop_rate",
    "loop_rates",
    "object_lines",
    "record_name",
    "setting_key",
    "taken",
    "task_lines",
    "trial_line",
    "verify_files",
    "workflow_lines",
]
