"""Mounts whose source or options say everything: NFS, sshfs, SMB, buckets, overlays, automounts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tonnage.filesystems.bucket_mounts import endpoint_of
from tonnage.placement.site import Server, Site

from .recorded_tools import answer

# Recorded: NFS on Linux 4 and 5 clients, from public notes.
NFS3 = (
    "121 61 0:39 / /vol01 rw,relatime - nfs 192.168.1.80:/ifs/vols/vol01 rw,vers=3,rsize=131072,wsize=524288,"
    "namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,mountaddr=192.168.1.80,mountvers=3,mountport=300,"
    "mountproto=udp,local_lock=none,addr=192.168.1.80"
)
NFS4 = (
    "39 28 0:52 / /data rw - nfs4 rcss1.cluster:/export rw,vers=4.2,clientaddr=10.0.0.2,local_lock=none,addr=10.0.0.9"
)
NFS6 = "39 28 0:52 / /data rw - nfs4 [fe80::1]:/export rw,vers=4.2,addr=fe80::1"


@pytest.mark.parametrize(
    ("line", "path", "expected"),
    [
        (NFS3, "/vol01/x", "192.168.1.80"),
        (NFS4, "/data/x", "rcss1.cluster"),
        (NFS6, "/data/x", "fe80::1"),
        ("45 21 0:54 / /s rw - fuse.sshfs me@far:/data rw", "/s", "far"),
        ("45 21 0:54 / /s rw - fuse.sshfs far: rw", "/s", "far"),
        ("45 21 0:54 / /s rw - fuse.sshfs me@[fe80::2]:/data rw", "/s", "fe80::2"),
        ("45 36 0:45 / /s rw - cifs //server/share rw,vers=3.1.1,addr=10.0.0.7", "/s", "server"),
        ("45 36 0:45 / /s rw - pvfs2 tcp://oss1:3334/fs rw", "/s", "oss1"),
        ("45 36 0:45 / /s rw - fuse.mfs mfs#master:9421/ rw", "/s", "master"),
        ("45 36 0:45 / /s rw - wekafs backend0,backend1/default rw", "/s", None),
        ("45 36 0:45 / /s rw - fuse.squashfuse image.sqfs rw", "/s", None),
    ],
)
def test_the_host_in_a_mounts_source_is_its_server(line: str, path: str, expected: str | None) -> None:
    found = answer(line, path)
    assert found.servers == ((expected,) if expected else ())
    assert (found.problem is None) == (expected is not None)


def test_the_sites_name_for_either_host_or_address_counts() -> None:
    for alias in ("rcss1", "rcss1.cluster", "10.0.0.9"):
        site = Site(server=(Server(name="nas", aliases=(alias,)),))
        found = answer(NFS4, "/data/x", site=site)
        assert site.named(found.servers[0]) == site.server[0]
        assert found.how == ("mountinfo: rcss1.cluster:/export at 10.0.0.9",)


@pytest.mark.parametrize(
    ("words", "endpoint"),
    [
        ("s3fs bucket /mnt -o url=https://s3.site:9000,use_path_request_style", "https://s3.site:9000"),
        ("s3fs bucket /mnt -ourl=http://10.0.0.1", "http://10.0.0.1"),
        ("mount-s3 --endpoint-url https://s3.site bucket /mnt", "https://s3.site"),
        ("goofys --endpoint=http://minio:9000 bucket /mnt", "http://minio:9000"),
        ("rclone mount remote:bucket /mnt --s3-endpoint s3.site", "s3.site"),
        ("s3fs bucket /mnt -o passwd_file=/p", None),
        ("mount-s3 bucket /mnt --endpoint-url", None),
    ],
)
def test_the_endpoint_is_in_the_programs_words(words: str, endpoint: str | None) -> None:
    assert endpoint_of(words.split()) == endpoint


def test_a_bucket_is_served_by_the_endpoint_of_the_program_that_mounted_it(tmp_path: Path) -> None:
    line = f"45 36 0:45 / {tmp_path} rw - fuse.s3fs s3fs rw,user_id=0"
    assert "does not show its endpoint" in (answer(line, str(tmp_path)).problem or "")
    idle = "import sys; print(flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", idle, "bucket", str(tmp_path), "-o", "url=http://store:9000"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        found = answer(line, str(tmp_path))
    assert found.servers == ("store",)


def test_an_overlay_is_where_the_layer_is_that_has_the_path(tmp_path: Path) -> None:
    upper, lower = tmp_path / "upper", tmp_path / "lower"
    for layer in (upper, lower):
        layer.mkdir()
    (lower / "old").write_text("")
    line = f"48 21 0:57 / /box rw - overlay overlay rw,lowerdir=/nowhere:{lower},upperdir={upper},workdir=/w"
    assert answer(line, "/box/old").servers == (f"below:{lower}/old",)
    assert answer(line, "/box/new").servers == (f"below:{upper}",)
    assert answer(line, "/box/old").how[0] == f"mountinfo: overlay, its layer {lower}"
    many = f"48 21 0:57 / /box ro - overlay overlay ro,lowerdir+=/nowhere,lowerdir+={lower}"
    assert answer(many, "/box/old").servers == (f"below:{lower}/old",)


def test_layers_that_a_container_hides_are_said_to_be_hidden() -> None:
    line = "48 21 0:57 / / rw - overlay overlay rw,lowerdir=/no/l,upperdir=/no/u,workdir=/no/w"
    problem = answer(line, "/data").problem or ""
    assert "are not to be seen from here; hint: ask outside the container" in problem


def test_an_automount_without_an_answer_is_told() -> None:
    line = "60 21 0:70 / /net rw - autofs /etc/auto.net rw,fd=6,pgrp=1,timeout=300,indirect"
    assert "nothing is mounted at /net yet: the automounter (/etc/auto.net)" in (answer(line, "/net").problem or "")
