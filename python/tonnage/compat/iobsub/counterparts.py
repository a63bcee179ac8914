"""What becomes of each option of bsub, by scheduler: a table of iobsub's page."""

from __future__ import annotations

_ROWS = (
    ("`-q`, `-q QUEUE`, `--queue`", "quiet; `--partition`", "quiet; `-q`", "quiet; the queue `local`"),
    ("`-I`", "`srun`", "`-I`", "with this terminal"),
    ("`-Ip`, `-Is`", "`srun --pty`", "`-Ip`", "as `-I`: the terminal is the program's own"),
    ("`-K`", "its jobs are asked for until all have ended", "the same", "the same"),
    ("`-i`, `-o`, `-e`", "`--input`, `--output`, `--error`", "the same options", "its files"),
    ("`-n 4`", "`--ntasks` on one node", "`-n 4 -R span[hosts=1]`", "four slots"),
    ("`-J NAME`", "`--job-name`", "`-J`", "its name"),
    (
        "`-J 'NAME[1-4,7]%2'`",
        "`--array=1-4,7%2`; without `%` the load line is the limit",
        "the same option and limit",
        "as many at once",
    ),
    (
        "`-cwd DIR`",
        "`--chdir`; DIR's file server counts, and `-i -o -e` are in DIR",
        "submitted from DIR",
        "it starts there",
    ),
    (
        "`-m 'a+2 b others'`",
        (
            "`--nodelist`, or all others excluded; with `others` a preference (`--prefer`); in the site file's queue "
            "of these hosts; `+N` is not passed on, and a note says so"
        ),
        "`-m`; `+N` with `others` alone, else a note",
        "this host; others are refused",
    ),
    ("`-W 1:30`", "`--time`; with a host behind it refused", "`-W`", "refused"),
    (
        "`-w 'done(1) && ended(2)'`",
        (
            "`--dependency=afterok:1,afterany:2`; `exit` is `afternotok`, `started` is `after`, `||` is `?`; "
            "names, brackets, both of `&&` and `||` are refused"
        ),
        "`-w`",
        "refused",
    ),
    ("`-b 20:00`", "`--begin`, the next such moment", "`-b`", "refused"),
    ("`-M 4GB`", "`--mem`, which it also has for itself; KB where no unit is written, and a note", "`-M`", "refused"),
    (
        "`-R 'rusage[mem=4GB]'`",
        "`--mem`; MB where no unit is written, and a note; of this and `-M` the larger",
        "`-R`",
        "refused",
    ),
    ("`-R 'rusage[ngpus_physical=2]'`", "`--gres=gpu:2`", "`-R`", "refused"),
    ("`-R 'span[hosts=1]'`", "so it is in any case", "`-R`", "so it is in any case"),
    ("other `-R` (`select`, `order`, `same`, …)", "refused", "`-R`", "refused"),
    ("`-P NAME`", "`--account`", "`-P`", "refused"),
    ("`-x`", "`--exclusive`", "`-x`", "all slots of this host"),
    ("`-r`", "`--requeue`; refused with `-I`", "`-r`", "refused: it runs nothing twice"),
    ("`-B`, `-N`, `-u ADDRESS`", "`--mail-type=BEGIN`, `END,FAIL`, `--mail-user`", "the same options", "refused"),
    ("`-c`, `-E`", "refused: Slurm has neither", "the same options", "refused"),
    ("script on standard input, `#BSUB`", "its interpreter with `-c`", "the same", "the same"),
    ("any other option of bsub", "refused", "refused", "refused"),
)
_TEXT = """
## What happens to each

[placement](placement.md#terms-of-a-job) shows the options of PBS and Flux.

{table}

`LSB_JOBINDEX` has the number of an array's copy, whatever the scheduler. What no option has can be given to
`tonnage submit --scheduler-options`.
"""


def counterparts() -> str:
    """Writes the table of counterparts as Markdown."""
    head = ["| option | with Slurm | with LSF | without a scheduler (`local`) |", "|---|---|---|---|"]
    rows = (" | ".join(cell.replace("|", r"\|") for cell in row) for row in _ROWS)
    return _TEXT.format(table="\n".join([*head, *(f"| {row} |" for row in rows)]))
