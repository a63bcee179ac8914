"""Checks wheels for old clusters: ``python check_wheel.py WHEEL…``, with pyelftools and auditwheel installed.

A wheel may be 8 MB, and its engine may need no newer C library than glibc 2.17 and no other library than those that
manylinux2014 allows. Exit code 1 and a line for each thing that is not so.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

from elftools.elf.elffile import ELFFile

LARGEST_BYTES = 8_000_000
GLIBC = (2, 17)
LIBRARIES = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|ld-linux-(x86-64|aarch64))\.so\.\d+")
MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
ENGINE = "tonnage/_native.abi3.so"


def main() -> int:
    """Exit code."""
    wrong = [f"{name}: {what}" for name in sys.argv[1:] for what in complaints(Path(name))]
    print("\n".join(wrong or [f"{Path(name).name}: well" for name in sys.argv[1:]]))
    return 1 if wrong or not sys.argv[1:] else 0


def complaints(wheel: Path) -> list[str]:
    """What is wrong with a wheel."""
    found = []
    if wheel.stat().st_size >= LARGEST_BYTES:
        found.append(f"{wheel.stat().st_size} bytes, {LARGEST_BYTES} are too many")
    platform = re.search(r"-cp310-abi3-(?:[\w.]+\.)?manylinux2014_(x86_64|aarch64)[.\w]*\.whl$", wheel.name)
    if platform is None:
        return [*found, "its name is not one of manylinux2014 for every Python from 3.10 on"]
    with zipfile.ZipFile(wheel) as archive:
        found += engine_complaints(archive.read(ENGINE), platform[1])
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True, check=False
    )
    said = " ".join((shown.stdout + shown.stderr).split())
    if f'following platform tag: "manylinux_2_17_{platform[1]}"' not in said:
        found.append(f"auditwheel says: {said}")
    return found


def engine_complaints(data: bytes, architecture: str) -> list[str]:
    """What is wrong with the engine as a program of that architecture."""
    elf = ELFFile(BytesIO(data))
    found = []
    if elf["e_machine"] != MACHINES.get(architecture):
        found.append(f"the engine is for {elf['e_machine']}")
    if elf.get_section_by_name(".debug_info") is not None:
        found.append("the engine has debug information")
    dynamic = elf.get_section_by_name(".dynamic")
    needed = [tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]
    found += [f"the engine needs {library}" for library in needed if not LIBRARIES.fullmatch(library)]
    versions = elf.get_section_by_name(".gnu.version_r")
    named = {version.name for _, every in versions.iter_versions() for version in every} if versions else set()
    for name in sorted(named):
        number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", name)
        if number and (int(number[1]), int(number[2])) > GLIBC:
            found.append(f"the engine needs {name}")
    return found


if __name__ == "__main__":
    sys.exit(main())
