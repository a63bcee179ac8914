"""Which tool is asked for what, and what becomes of its answers. The tools are stubs that keep their arguments and
print what real ones printed: recorded from Lustre (Expanse and other sites' documentation) and from BeeGFS' manual."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tonnage.filesystems import Striping, glusterfs, stripe, striping
from tonnage.machine.mounts import Mount

# Recorded.
LUSTRE_DIRECTORY = "stripe_count:  128 stripe_size:   1048576 pattern:       raid0 stripe_offset: -1\n"
LUSTRE_COMPOSITE = """\
  lcm_layout_gen:    0
  lcm_mirror_count:  1
  lcm_entry_count:   2
    lcme_id:             N/A
    lcme_extent.e_start: 0
    lcme_extent.e_end:   104857600
      stripe_count:  1       stripe_size:   1048576       pattern:       raid0       stripe_offset: -1

    lcme_id:             N/A
    lcme_extent.e_start: 104857600
    lcme_extent.e_end:   EOF
      stripe_count:  8       stripe_size:   1048576       pattern:       raid0       stripe_offset: -1
"""
LUSTRE_NOT = (
    "lfs getstripe: cannot get lov name: Inappropriate ioctl for device (25)\nerror: getstripe failed for ../.\n"
)
BEEGFS_SET = "Processed 1 entries.\nConfiguration Updates: Chunksize (4194304), DefaultNumTargets (4)\n"
BEEGFS_INFO = """\
Entry type: directory
EntryID: root
ParentID:
Stripe pattern details:
+ Type: RAID0
+ Chunksize: 1M
+ Number of storage targets: desired: 4
+ Storage Pool: 1  (default)
Inlined inode: no
"""


class Tools:
    """Stub executables in a PATH of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.log = home / "argv"

    def add(self, name: str, answers: dict[str, str], *, status: int = 0, errors: str = "") -> None:
        """``answers``: what is printed when the first argument begins so."""
        cases = ""
        for number, (first, text) in enumerate(answers.items()):
            (self.home / f"{name}.{number}").write_text(text)
            cases += f'  "{first}"*) cat "{self.home}/{name}.{number}" ;;\n'
        (self.home / f"{name}.errors").write_text(errors)
        script = (
            f'#!/bin/sh\n{{ printf "%s" "{name}"; printf " %s" "$@"; echo; }} >> "{self.log}"\n'
            f'[ {status} = 0 ] || {{ cat "{self.home}/{name}.errors" >&2; exit {status}; }}\n'
            f'case "$1 $2" in\n{cases}esac\n'
        )
        file = self.home / name
        file.write_text(script)
        file.chmod(0o755)

    def asked(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    home = tmp_path / "bin"
    home.mkdir()
    # The stubs need a shell and cat; none of the real tools may be found.
    for name in ("cat", "sh"):
        (home / name).symlink_to(next(path for path in (Path("/bin", name), Path("/usr/bin", name)) if path.exists()))
    monkeypatch.setenv("PATH", str(home))
    return Tools(home)


def test_lustre_directories_are_pinned_each_to_its_ost(tools: Tools, tmp_path: Path) -> None:
    tools.add("lfs", {"getstripe": LUSTRE_DIRECTORY})
    directories = [tmp_path / name for name in ("a", "b", "c d")]
    done = stripe(directories, ["lustre"] * 3, Striping(size_bytes=1 << 20, osts=(4, 7)))
    assert tools.asked()[::2] == [
        f"lfs setstripe -c 1 -S 1048576 -o 4 {directories[0]}",
        f"lfs setstripe -c 1 -S 1048576 -o 7 {directories[1]}",
        f"lfs setstripe -c 1 -S 1048576 -o 4 {directories[2]}",
    ]
    assert tools.asked()[1] == f"lfs getstripe -d {directories[0]}"
    assert all(one.problem is None for one in done)
    assert done[0].found == {
        "text": LUSTRE_DIRECTORY.strip(),
        "stripe_count": 128,
        "stripe_size_bytes": 1048576,
        "pattern": "raid0",
        "stripe_offset": -1,
    }


@pytest.mark.parametrize(
    ("wanted", "arguments"),
    [
        (Striping(count=-1), "-c -1"),
        (Striping(count=4, size_bytes=65536, pool="flash"), "-c 4 -S 65536 -p flash"),
        (Striping(osts=(0, 2, 5)), "-c 3 -o 0,2,5"),
        (Striping(count=2, osts=(0, 2, 5)), "-c 2 -o 0,2,5"),
    ],
)
def test_one_lustre_directory_gets_what_was_asked(
    tools: Tools, tmp_path: Path, wanted: Striping, arguments: str
) -> None:
    tools.add("lfs", {"getstripe": LUSTRE_COMPOSITE})
    done = stripe([tmp_path], ["lustre"], wanted)
    assert tools.asked()[0] == f"lfs setstripe {arguments} {tmp_path}"
    assert (done[0].found["components"], done[0].found["stripe_count"]) == (2, 8)


def test_beegfs_is_asked_by_the_tool_that_is_there(tools: Tools, tmp_path: Path) -> None:
    wanted = Striping(count=4, size_bytes=4 << 20, pool="2")
    tools.add("beegfs-ctl", {"--getentryinfo": BEEGFS_INFO})
    old = stripe([tmp_path], ["beegfs"], wanted)[0]
    assert tools.asked() == [
        f"beegfs-ctl --setpattern --numtargets=4 --chunksize=4194304 --storagepoolid=2 {tmp_path}",
        f"beegfs-ctl --getentryinfo {tmp_path}",
    ]
    tools.add("beegfs", {"entry set": BEEGFS_SET, "entry info": BEEGFS_INFO})
    new = stripe([tmp_path], ["beegfs"], wanted)[0]
    assert tools.asked()[2:] == [
        f"beegfs entry set --num-targets=4 --chunk-size=4194304 --pool=2 {tmp_path}",
        f"beegfs entry info --retro {tmp_path}",
    ]
    for done in (old, new):
        assert done.problem is None
        facts = {key: value for key, value in done.found.items() if key != "text"}
        assert facts == {"pattern": "RAID0", "chunk_size": "1M", "num_targets": 4, "pool": "1"}
    pinned = stripe([tmp_path], ["beegfs"], Striping(osts=(1,)))[0]
    assert pinned.problem is not None
    assert "does not pin" in pinned.problem


def test_what_cannot_be_done_is_one_sentence_and_never_an_exception(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def problem(file_system: str | None) -> str | None:
        return stripe([tmp_path], [file_system], Striping(count=2))[0].problem

    assert problem("ext4") == "ext4 has no striping to set"
    assert problem(None) == "this file system has no striping to set"
    assert problem("lustre") == "lfs is not installed here"
    tools.add("lfs", {}, status=25, errors=LUSTRE_NOT)
    assert problem("lustre") == (
        "lfs failed with status 25: lfs getstripe: cannot get lov name: Inappropriate ioctl for device (25)"
    )
    (tools.home / "lfs").write_text("#!/no/such/interpreter\n")
    assert problem("lustre") == "lfs is not installed here"
    (tools.home / "lfs").write_text("no program at all\0")
    assert problem("lustre") == "lfs cannot be run: Exec format error"
    (tools.home / "lfs").write_text("#!/bin/sh\nread line < fifo\n")
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(striping, "LIMIT_S", 0.2)
    assert problem("lustre") == "lfs did not answer within 0.2 s"


def volume(at: Path, bricks: int) -> None:
    """What a GlusterFS client shows of itself below its mount (10.3), as far as pinning looks."""
    layers = {"scratch": "performance/write-behind", "scratch-dht": "cluster/distribute", "top": "meta"}
    for name, kind in layers.items():
        layer = at / ".meta/graphs/active" / name
        layer.mkdir(parents=True)
        (layer / "type").write_text(f"{kind}\n")
    for number in range(bricks):
        below = at / ".meta/graphs/active/scratch-dht/subvolumes" / str(number)
        below.mkdir(parents=True)
        (below / "name").write_text(f"scratch-client-{number}\n")


def test_glusterfs_directories_are_pinned_each_to_its_brick_by_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume(tmp_path, 12)
    monkeypatch.setattr(glusterfs, "mount_of", lambda _: Mount(str(tmp_path), "fuse.glusterfs", "h:/scratch", "rw"))
    done = stripe([tmp_path / "a", tmp_path / "b", tmp_path / "c"], ["fuse.glusterfs"] * 3, Striping(osts=(2, 10)))
    assert [one.problem for one in done] == [None] * 3
    pins = [f"@scratch-dht:scratch-client-{number}" for number in (2, 10, 2)]
    assert [one.pin for one in done] == pins
    (too_far,) = stripe([tmp_path], ["fuse.glusterfs"], Striping(osts=(12,)))
    assert too_far.problem is not None
    assert "12 bricks" in too_far.problem
    assert too_far.pin == ""
    (several,) = stripe([tmp_path], ["fuse.glusterfs"], Striping(osts=(0, 1)))
    assert (several.problem, several.pin) == (
        "GlusterFS pins a directory's files to one brick: give osts, and nothing else", "",
    )  # fmt: skip


def test_glusterfs_that_shows_no_layers_pins_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glusterfs, "mount_of", lambda _: Mount(str(tmp_path), "fuse.glusterfs", "h:/scratch", "rw"))
    (done,) = stripe([tmp_path], ["fuse.glusterfs"], Striping(osts=(0,)))
    assert done.problem == "GlusterFS does not tell its bricks: No such file or directory"


def test_moosefs_directories_are_pinned_by_storage_classes(tools: Tools, tmp_path: Path) -> None:
    tools.add("mfssetsclass", {"only": ""})
    tools.add("mfsgetsclass", {"/": f"{tmp_path}/b: 'only-b'\n"})
    done = stripe([tmp_path / "a", tmp_path / "b"], ["fuse.mfs"] * 2, Striping(pools=("only-a", "only-b")))
    assert tools.asked() == [
        f"mfssetsclass only-a {tmp_path}/a", f"mfsgetsclass {tmp_path}/a",
        f"mfssetsclass only-b {tmp_path}/b", f"mfsgetsclass {tmp_path}/b",
    ]  # fmt: skip
    assert (done[1].problem, done[1].found) == (None, {"storage_class": "only-b"})
    (wrong,) = stripe([tmp_path], ["fuse.mfs"], Striping(count=2))
    assert wrong.problem == "MooseFS has storage classes: give one as pool, and nothing else"


def test_beegfs_directories_are_each_in_a_pool_of_their_own(tools: Tools, tmp_path: Path) -> None:
    tools.add("beegfs-ctl", {"--setpattern": BEEGFS_SET, "--getentryinfo": BEEGFS_INFO})
    stripe([tmp_path / "a", tmp_path / "b"], ["beegfs"] * 2, Striping(count=1, pools=("2", "3")))
    assert tools.asked()[::2] == [
        f"beegfs-ctl --setpattern --numtargets=1 --storagepoolid=2 {tmp_path}/a",
        f"beegfs-ctl --setpattern --numtargets=1 --storagepoolid=3 {tmp_path}/b",
    ]
