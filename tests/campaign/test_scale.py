"""What --scale makes of a command."""

from __future__ import annotations

from tonnage.campaign.campaign_file import parse_campaign
from tonnage.campaign.kinds.command import CommandSetting


def test_scale_shrinks_what_a_command_says_scales_and_else_the_number_of_copies() -> None:
    def one(argv: str) -> CommandSetting:
        text = f'target = "null:"\nscale = 0.1\n[workload]\nkind = "command"\ncopies = 50\ntasks = 1\nargv = {argv}\n'
        (setting,) = parse_campaign(text, "c").settings()
        assert isinstance(setting, CommandSetting)
        return setting

    assert (one('["dd", "count={scale:1000}"]').argv, one('["dd", "count={scale:1000}"]').copies) == (
        ("dd", "count=100"),
        50,
    )
    assert one('["true"]').copies == 5
