"""Messages that name options name keywords where Python calls."""

from __future__ import annotations

import pytest
from tonnage.errors import RequestError
from tonnage.option_names import in_keywords


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("allow more with --space", "allow more with space="),
        ("--max-tasks: 0 is none", "max_tasks: 0 is none"),
        ("use --storage=uring or --max-tasks=1.", "use storage='uring' or max_tasks=1."),
        ("add --storage=end,fail, or none", "add storage='end,fail', or none"),
        ("go on with `tonnage run --space 3`", "go on with `tonnage run --space 3`"),
        ("sbatch: --account is wrong", "sbatch: --account is wrong"),
        ("a---space, x--space", "a---space, x--space"),
    ],
)
def test_options_of_a_call_are_keywords_and_nothing_else_is(text: str, told: str) -> None:
    with pytest.raises(RequestError) as refused, in_keywords(("space", "max_tasks", "storage")):
        raise RequestError(text)
    assert str(refused.value) == told
