"""Which servers hold a path, asked of the real file systems: the answer is compared with where the data is."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import nfs
import pytest
from cephfs import Cephfs, cephfs
from glusterfs import Volume, device_of, volume
from hosts import Daemon, Host, Hosts, hosts, wait_for
from impossible import entered
from sshfs import Home, home
from tonnage.machine import mounts
from tonnage.placement.site import Server, Site
from tonnage.placement.where import locate, servers_of

ROOT = Path(__file__).resolve().parents[2]
SERVERS = ("rcss1", "rcss2", "rcss3")
ASK = """
import sys
from tonnage.cli import main
for path in sys.argv[1:]:
    main(["where", "--json", path])
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Hosts]:
    with ExitStack() as stack:
        yield entered(stack, hosts([*SERVERS, "node1"]))


@pytest.fixture(scope="module")
def start(site: Hosts) -> Iterator[Callable[[Any], Any]]:
    """Starts a file service for the tests of this module, and ends it before the hosts; skips where it cannot run."""
    assert site
    with ExitStack() as stack:
        yield lambda service: entered(stack, service)


@pytest.fixture(scope="module")
def scratch(site: Hosts, start: Callable[[Any], Any]) -> Volume:
    found: Volume = start(volume(site, ("rcss1", "rcss2"), name="scratch", at=Path("/run/scratch")))
    return found


def where(host: Host, *paths: str | Path, directory: str | Path = "/", before: tuple[str, ...] = ()) -> list[Any]:
    """What ``tonnage where`` says on a host of each path."""
    environment = {
        "PYTHONPATH": str(ROOT / "python"),
        "HOME": "/run",
        "XDG_CONFIG_HOME": "/run/none",
        "TONNAGE_SYSTEM_CONFIG": "/etc/tonnage",
    }
    words = (*before, sys.executable, "-c", ASK, *paths)
    left = host.run(*words, directory=directory, environment=environment).stdout
    found = []
    while left.strip():
        one, end = json.JSONDecoder().raw_decode(left.lstrip())
        found.append(one)
        left = left.lstrip()[end:]
    return found


def test_glusterfs_says_the_brick_that_has_the_file(site: Hosts, scratch: Volume) -> None:
    names = [f"file{number}" for number in range(12)]
    for name in names:
        (scratch.at("node1") / name).write_text(name)
    found = where(site["node1"], *(scratch.path / name for name in names))
    for name, told in zip(names, found, strict=True):
        (holder,) = (brick for brick in scratch.bricks if (brick.directory / name).exists())
        assert told["servers"] == [holder.server], name
        assert not told["striped"]
        assert not told["local"]
    assert {told["servers"][0] for told in found} == {"rcss1", "rcss2"}, "the names fell on one brick: the test is weak"
    assert {told["target"] for told in found} == {found[0]["target"]}


def test_a_glusterfs_directory_is_on_all_its_bricks(site: Hosts, scratch: Volume) -> None:
    (told,) = where(site["node1"], scratch.path)
    assert set(told["servers"]) == {"rcss1", "rcss2"}
    assert told["striped"]


def test_glusterfs_tells_an_ordinary_user_as_well(site: Hosts, scratch: Volume) -> None:
    (scratch.at("node1") / "theirs").write_text("1")
    (scratch.at("node1") / "theirs").chmod(0o644)
    ordinary = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    (told,) = where(site["node1"], scratch.path / "theirs", before=ordinary)
    (holder,) = (brick for brick in scratch.bricks if (brick.directory / "theirs").exists())
    assert told["servers"] == [holder.server]


def test_a_target_is_the_same_on_every_host(site: Hosts, scratch: Volume) -> None:
    targets = {where(host, scratch.path)[0]["target"] for host in site.values()}
    assert len(targets) == 1


def test_a_bind_mount_is_where_its_directory_is(site: Hosts, scratch: Volume) -> None:
    node = site["node1"]
    (scratch.at("node1") / "deep").mkdir()
    (scratch.at("node1") / "deep/file").write_text("1")
    node.path("/run/bound").mkdir()
    node.run("mount", "--bind", scratch.path / "deep", "/run/bound")
    direct, bound = where(node, scratch.path / "deep/file", "/run/bound/file")
    assert bound["servers"] == direct["servers"] != []
    assert bound["target"] == direct["target"]
    assert bound["mount"]["mount_point"] == "/run/bound"


def test_an_overlay_is_where_the_layer_is_that_has_the_file(site: Hosts, scratch: Volume) -> None:
    node = site["node1"]
    (scratch.at("node1") / "image").mkdir()
    (scratch.at("node1") / "image/below").write_text("1")
    with device(site, "node1", "layers", "ext4") as own:
        for name in ("upper", "work"):
            (own / name).mkdir()
        (own / "upper/above").write_text("1")
        node.path("/run/over").mkdir()
        layers = f"lowerdir={scratch.path}/image,upperdir=/run/layers/upper,workdir=/run/layers/work"
        node.run("mount", "-t", "overlay", "-o", layers, "overlay", "/run/over")
        try:
            below, above = where(node, "/run/over/below", "/run/over/above")
        finally:
            node.run("umount", "/run/over")
    (holder,) = (brick for brick in scratch.bricks if (brick.directory / "image/below").exists())
    assert below["servers"] == [holder.server]
    assert above["servers"] == ["node1"]
    assert above["local"]


@contextmanager
def device(site: Hosts, host: str, name: str, file_system: str) -> Iterator[Path]:
    """A file system on a loop device of a host, as it is reached from outside."""
    with ExitStack() as stack:
        yield entered(stack, device_of(site[host], name, 320 << 20, file_system)).path


@pytest.mark.parametrize("file_system", ["ext4", "xfs", "btrfs"])
def test_a_file_system_on_a_loop_device_is_this_host_s_own(site: Hosts, file_system: str) -> None:
    node = site["node1"]
    with device(site, "node1", f"own-{file_system}", file_system) as own:
        (own / "file").write_text("1")
        told, again = where(node, f"/run/own-{file_system}/file", f"/run/own-{file_system}")
    assert told["servers"] == ["node1"]
    assert told["local"]
    assert told["mount"]["file_system"] == file_system
    assert told["target"] == again["target"]
    assert told["target"].startswith("local:node1:")


def test_a_deleted_working_directory_is_where_it_was(site: Hosts, scratch: Volume) -> None:
    gone = scratch.path / "gone"
    (scratch.at("node1") / "gone").mkdir()
    (told,) = where(site["node1"], ".", directory=gone, before=("sh", "-c", f'rmdir {gone}; exec "$@"', "sh"))
    assert told["servers"] == ["rcss1"], "it can no more be asked: whence it was mounted is what is known"
    assert any("the mount table alone" in line for line in told["how"])


def test_what_does_not_exist_yet_is_where_its_parent_is(site: Hosts, scratch: Volume) -> None:
    (told,) = where(site["node1"], scratch.path / "to/come")
    assert set(told["servers"]) == {"rcss1", "rcss2"}


@pytest.fixture(scope="module")
def homes(site: Hosts, start: Callable[[Any], Any]) -> Home:
    found: Home = start(home(site, "rcss3"))
    return found


def test_sshfs_says_its_server_and_the_server_itself(site: Hosts, homes: Home) -> None:
    site["rcss3"].path(homes.path / "file").write_text("1")
    (far,) = where(site["node1"], homes.path / "file")
    assert far["servers"] == ["rcss3"]
    assert not far["local"]
    (near,) = where(site["rcss3"], homes.path / "file")
    assert near["servers"] == ["rcss3"]


@contextmanager
def frozen(daemon: Daemon) -> Iterator[None]:
    daemon.send(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.send(signal.SIGCONT)


def test_a_mount_that_hangs_is_answered_by_the_mount_table(site: Hosts, homes: Home) -> None:
    site["rcss3"].path(homes.path / "held").mkdir()
    with frozen(homes.clients["node1"]):
        began = time.monotonic()
        (told,) = where(site["node1"], homes.path / "held/file")
        took_s = time.monotonic() - began
    assert told["servers"] == ["rcss3"]
    assert any("did not answer" in line for line in told["how"])
    # A few times the limit of 1 s, and the interpreter's start on a busy machine.
    assert took_s < 15


def test_a_volume_whose_client_hangs_names_the_server_it_was_mounted_from(site: Hosts, scratch: Volume) -> None:
    with frozen(scratch.clients["node1"]):
        (told,) = where(site["node1"], scratch.path / "any")
    assert told["servers"] == ["rcss1"]


@pytest.fixture(scope="module")
def ceph(site: Hosts, start: Callable[[Any], Any]) -> Cephfs:
    found: Cephfs = start(cephfs(site, SERVERS, "node1"))
    return found


def test_cephfs_says_the_osd_that_has_a_small_file_and_all_of_a_directory(site: Hosts, ceph: Cephfs) -> None:
    mount = site["node1"].path(ceph.path)
    names = [f"file{number}" for number in range(4)]
    for name in names:
        (mount / name).write_text(name)
    found = where(site["node1"], *(ceph.path / name for name in names), ceph.path)
    for name, told in zip(names, found, strict=False):
        one = json.loads(ceph.ceph("osd", "map", "data", f"{(mount / name).stat().st_ino:x}.00000000", "--format=json"))
        assert told["servers"] == [SERVERS[one["acting_primary"]]]
        assert told["devices"][0]["name"] == f"osd.{one['acting_primary']}"
    assert len({told["servers"][0] for told in found[:-1]}) > 1, "all objects fell on one OSD: the test is weak"
    assert set(found[-1]["servers"]) == set(SERVERS)
    assert found[-1]["striped"]
    assert found[0]["target"] == f"ceph:{ceph.ceph('fsid').strip()}"


@pytest.fixture(scope="module")
def exported(site: Hosts, start: Callable[[Any], Any]) -> nfs.Server:
    found: nfs.Server = start(nfs.server(site["rcss2"]))
    assert found.answers_version_4(site["node1"])
    return found


def test_an_nfs_export_is_at_the_address_of_its_mount(
    exported: nfs.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The export is real and answers; mounting it would take a kernel with a client: the line of its table is recorded.
    line = exported.mountinfo(str(tmp_path), "10.77.0.4")
    monkeypatch.setattr(Path, "read_text", _reading("/proc/self/mountinfo", line, Path.read_text))
    assert [mount.file_system for mount in mounts.read_mounts()] == ["nfs4"]
    site = Site(server=(Server(name="homes", aliases=(exported.host.address,), hosts=("rcss2",)),))
    found = locate(tmp_path, site, timeout_s=1.0)
    assert [server.name for server in servers_of(found, site)] == ["homes"]
    assert found.target.startswith("nfs:")


def _reading(path: str, text: str, real: Callable[..., str]) -> Callable[..., str]:
    return lambda self, *rest, **named: text if os.fspath(self) == path else real(self, *rest, **named)


def test_a_server_that_is_gone_does_not_hang_the_question(site: Hosts, scratch: Volume) -> None:
    (brick,) = (brick for brick in scratch.bricks if brick.server == "rcss2")
    with frozen(brick.daemon):
        (told,) = where(site["node1"], scratch.path / "never-seen-before")
        assert told["servers"]
    wait_for(lambda: not site["node1"].run("ls", scratch.path, check=False).returncode, "the brick answers again")
