"""Places on mounts that this machine does not have, and tools that print what real ones printed."""

from __future__ import annotations

import os
from pathlib import Path

from tonnage.filesystems.known_filesystems import served_by
from tonnage.filesystems.servers import Answer, ObservedPath
from tonnage.machine.mounts import find_mount, parse_mountinfo
from tonnage.placement.site import Site

RECORDED = Path(__file__).parents[1] / "recorded"


def recorded(name: str) -> str:
    """A tool's output as it was printed. Its first line, which begins with ``#``, says where it was taken."""
    origin, _, text = (RECORDED / name).read_text(encoding="utf-8").partition("\n")
    assert origin.startswith("# "), f"{name} does not say where it was taken"
    return text


def place_on(line: str, path: str, *, site: Site | None = None, **facts: object) -> ObservedPath:
    """``path`` on the mount that a line of mountinfo tells of."""
    mounts = parse_mountinfo(line)
    mount = find_mount(mounts, path)
    assert mount is not None

    def below(lower: str) -> Answer:
        return Answer(servers=(f"below:{lower}",))

    known = {"is_known": (site or Site()).named, "timeout_s": 10.0, "below": below, **facts}
    return ObservedPath(path=path, mount=mount, mounts=tuple(mounts), **known)  # type: ignore[arg-type]


def answer(line: str, path: str, *, site: Site | None = None, **facts: object) -> Answer:
    """What its file system says of it."""
    return served_by(place_on(line, path, site=site, **facts))


class Tools:
    """Programs that print recorded words, first in PATH."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.log = home / "asked"

    def add(self, name: str, answers: dict[str, str], *, status: int = 0) -> None:
        """``answers``: what it prints when its words begin so. Any other question, and ``status``, is a failure."""
        cases = ""
        for number, (first, text) in enumerate(answers.items()):
            (self.home / f"{name}.{number}").write_text(text)
            cases += f'  "{first}"*) cat "{self.home}/{name}.{number}"; exit {status} ;;\n'
        file = self.home / name
        file.write_text(
            f'#!/bin/sh\necho "{name} $*" >> "{self.log}"\ncase "$*" in\n{cases}esac\n'
            'echo "You must be root" >&2; exit 1\n'
        )
        file.chmod(0o755)

    def asked(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


def tools_in(home: Path, monkeypatch: object) -> Tools:
    """Nothing but the recorded programs, and what they need themselves."""
    home.mkdir()
    for name in ("cat", "sh"):
        (home / name).symlink_to(next(at for at in (Path("/bin", name), Path("/usr/bin", name)) if at.exists()))
    monkeypatch.setenv("PATH", str(home))  # type: ignore[attr-defined]
    monkeypatch.setattr("tonnage.filesystems.mounted_path._SIDE_ROOMS", ())  # type: ignore[attr-defined]
    assert os.environ["PATH"] == str(home)
    return Tools(home)
