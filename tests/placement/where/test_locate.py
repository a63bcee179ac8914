"""Paths of this machine as they come: there or not, through links, hanging, deleted, forbidden."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tonnage.errors import RequestError
from tonnage.machine.mounts import mount_of
from tonnage.placement import where as module
from tonnage.placement.site import Server, Site
from tonnage.placement.where import Located, locate, servers_of


def where(path: object, *, timeout_s: float = 10.0, site: Site | None = None) -> Located:
    return locate(str(path), site or Site(), timeout_s=timeout_s)


def test_what_is_on_this_hosts_disk_is_held_by_this_host(tmp_path: Path) -> None:
    found = where(tmp_path)
    assert (found.path, found.real_path) == (str(tmp_path), str(tmp_path.resolve()))
    assert found.mount == mount_of(tmp_path)
    assert found.problem is None
    assert found.local
    assert found.servers == (platform.node(),)
    assert found.how


def test_memory_is_said_to_be_memory() -> None:
    mount = mount_of("/dev/shm")
    if mount is None or mount.file_system != "tmpfs":
        pytest.skip("/dev/shm is no tmpfs here")
    found = where("/dev/shm")
    assert found.local
    assert "memory" in found.how[-1]
    assert found.devices == ()


def test_what_does_not_exist_yet_lives_where_its_nearest_parent_does(tmp_path: Path) -> None:
    found = where(tmp_path / "run 1" / "out.dat")
    assert found.mount == mount_of(tmp_path)
    assert found.real_path == str(tmp_path.resolve() / "run 1" / "out.dat")
    assert found.how[0] == f"run 1/out.dat does not exist yet: {tmp_path.resolve()} says where it will be"
    assert found.target == where(tmp_path).target


def test_links_are_followed_and_broken_ones_told(tmp_path: Path) -> None:
    (tmp_path / "shm").symlink_to("/dev/shm")
    found = where(tmp_path / "shm")
    assert (found.path, found.real_path) == (str(tmp_path / "shm"), str(Path("/dev/shm").resolve()))
    (tmp_path / "lost").symlink_to("nowhere")
    for path in ("lost", "lost/below"):
        with pytest.raises(RequestError, match=r"lost is a broken symbolic link to nowhere; hint: "):
            where(tmp_path / path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="below a file that is no directory"):
        where(tmp_path / "file" / "x")
    with pytest.raises(RequestError, match="names nothing"):
        where("")


def test_a_loop_of_links_is_told_and_does_not_end_in_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert (
        where(tmp_path / "a")
        .how[0]
        .endswith("cannot be looked at (Too many levels of symbolic links): the mount table alone says where it is")
    )


def test_a_working_directory_that_was_deleted_is_still_somewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    found = where(".")
    assert found.mount == mount_of(tmp_path)
    assert found.path == str(gone.parent.resolve() / "gone")
    assert f"{tmp_path.resolve()}/gone was deleted: it was here" in found.how


def test_relative_paths_are_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    assert where("x/y").path == str(tmp_path.resolve() / "a/x/y")
    assert where("..").real_path == str(tmp_path.resolve())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give up its rights")
def test_without_permission_the_mount_table_answers(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "in").mkdir(parents=True)
    closed.chmod(0o700)
    os.chown(closed, 65534, 65534)
    script = (
        "import sys; from tonnage.placement.where import locate; from tonnage.placement.site import Site\n"
        "found = locate(sys.argv[1], Site(), timeout_s=10); print(found.how[0]); print(*found.servers)\n"
    )
    # Root that may not pass over permissions: somebody else could not read this interpreter everywhere.
    rights = "-dac_override,-dac_read_search"
    argv = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}", sys.executable, "-c", script]
    said = subprocess.run([*argv, str(closed / "in" / "x")], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout.splitlines() == [
        f"no permission to look below {tmp_path.resolve()}/closed: the mount table alone says where {closed}/in/x is",
        platform.node(),
    ]


def test_a_path_that_hangs_is_given_up_and_the_mount_table_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "status_here", lambda _path: time.sleep(600))
    started_s = time.monotonic()
    found = where(tmp_path, timeout_s=0.2)
    assert time.monotonic() - started_s < 5
    assert found.how[0] == f"{tmp_path} did not answer within 0.2 s: the mount table alone says where it is"
    assert found.mount == mount_of(tmp_path)


def test_a_host_may_be_a_server_of_the_site(tmp_path: Path) -> None:
    site = Site(server=(Server(name="rcss1", aliases=(platform.node(),), hosts=("rcss1-a", "rcss1-b")),))
    assert [server.name for server in servers_of(where(tmp_path), site)] == ["rcss1"]
    plain = servers_of(where(tmp_path), Site())
    assert [(server.name, server.hosts) for server in plain] == [(platform.node(), (platform.node(),))]


def servers_named(path: object, site: Site) -> list[str]:
    """The site file's own servers of a path."""
    return [server.name for server in servers_of(where(path, site=site), site) if server in site.server]


def test_a_path_is_held_by_the_server_that_has_what_it_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path.resolve()
    for name in ("p1", "p2", "p3"):
        (place / name).mkdir()
    site = Site(server=tuple(Server(name=name, holds=(str(place / name),)) for name in ("p1", "p2")))
    monkeypatch.chdir(place / "p1")
    (place / "p1" / "to2").symlink_to("../p2")
    (place / "p1" / "to3").symlink_to("../p3")
    for path, wanted in (
        ("../p2", ["p2"]), ("../p2/new/file", ["p2"]), ("to2", ["p2"]), ("to2/x", ["p2"]), ("../p3", []), ("to3", []),
        ("to3/x", []), ("new/../../p3", []), ("x", ["p1"]), ("../p1/x", ["p1"]), (place / "p2/../p1", ["p1"]),
    ):  # fmt: skip
        assert servers_named(path, site) == wanted, path


def test_a_site_file_may_spell_a_directory_through_a_link(tmp_path: Path) -> None:
    place = tmp_path.resolve()
    for name in ("volume/proj", "volume/other", "elsewhere"):
        (place / name).mkdir(parents=True)
    (place / "data").symlink_to("volume")
    (place / "volume" / "proj" / "out").symlink_to(place / "elsewhere")
    wide = Server(name="wide", holds=(str(place / "data"),))
    deep = Server(name="deep", holds=(str(place / "data" / "pro*"),))
    site = Site(server=(wide, deep))
    assert servers_named(place / "data" / "proj" / "x", site) == ["deep"]
    assert servers_named(place / "data" / "other", site) == ["wide"]
    assert servers_named(place / "data" / "proj" / "out" / "x", site) == []


def test_what_hangs_is_held_by_its_name_without_what_leads_out_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "status_here", lambda _path: time.sleep(600))
    site = Site(server=tuple(Server(name=name, holds=(str(tmp_path / name),)) for name in ("p1", "p2")))
    found = where(tmp_path / "p1" / ".." / "p2" / "x", timeout_s=0.2, site=site)
    assert [server.name for server in servers_of(found, site)] == ["p2"]
    assert "did not answer within 0.2 s: the mount table alone says where it is" in found.how[0]


def test_every_registered_file_system_can_be_imported_and_tells_something() -> None:
    from tonnage.filesystems.known_filesystems import _MODULES, module_of

    for kind in _MODULES:
        assert {"facts", "holders", "served_by"} & set(vars(module_of(kind))), kind
