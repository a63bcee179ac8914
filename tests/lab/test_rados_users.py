"""A Ceph with keys: who may not, or has the wrong key, is told so in one line, and no key is ever printed or kept."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import ceph as lab
import pytest
from impossible import skipped_where_impossible
from tonnage_commands import tonnage


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Ceph]:
    with skipped_where_impossible(), lab.ceph(tmp_path_factory.mktemp("ceph"), osds=1, groups=8, auth="cephx") as found:
        found.pool("bench")
        found.pool("other")
        yield found


def conf(cluster: lab.Ceph, directory: Path, keyring: Path) -> Path:
    """The cluster's configuration with another keyring."""
    file = directory / "ceph.conf"
    text = re.sub(r"\nkeyring = .*/keyring\n", f"\nkeyring = {keyring}\n", cluster.conf.read_text(), count=1)
    assert str(keyring) in text
    file.write_text(text)
    return file


def campaign(directory: Path, target: str) -> Path:
    file = directory / "campaign.toml"
    file.write_text(f'target = "{target}"\n[repeat]\ncount = 1\n[workload]\nop = "write"\nblock_size = "1MiB"\n')
    return file


def keys_in(path: Path) -> list[str]:
    return re.findall(r"key = (\S+)", path.read_text())


def refused(cluster: lab.Ceph, tmp_path: Path, keyring: Path, user: str, said: str) -> None:
    file = campaign(tmp_path, f"rados://bench?conf={conf(cluster, tmp_path, keyring)}&user={user}")
    done = tonnage("run", file, "--out", tmp_path / "run", expect=2)
    assert said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "run").exists()
    for key in keys_in(keyring) if keyring.exists() else ():
        assert key not in done.stdout + done.stderr


def test_without_a_keyring(cluster: lab.Ceph, tmp_path: Path) -> None:
    refused(cluster, tmp_path, tmp_path / "none", "client.admin", "no keyring of client.admin was found")


def test_with_a_wrong_key(cluster: lab.Ceph, tmp_path: Path) -> None:
    # A well-formed key of nobody: type 1, a time, 16 bytes.
    wrong = base64.b64encode(struct.pack("<HIIH", 1, 0, 0, 16) + b"0123456789abcdef").decode()
    (tmp_path / "keyring").write_text(f"[client.admin]\n\tkey = {wrong}\n")
    refused(cluster, tmp_path, tmp_path / "keyring", "client.admin", "client.admin is not let in")


def test_a_user_whom_the_cluster_does_not_know(cluster: lab.Ceph, tmp_path: Path) -> None:
    (tmp_path / "keyring").write_text(f"[client.nobody]\n\tkey = {keys_in(cluster.directory / 'keyring')[0]}\n")
    refused(cluster, tmp_path, tmp_path / "keyring", "client.nobody", "client.nobody is not let in")


def test_a_user_without_rights_on_the_pool(cluster: lab.Ceph, tmp_path: Path) -> None:
    keyring = cluster.user("client.reader", "mon", "allow r", "osd", "allow rw pool=other")
    refused(cluster, tmp_path, keyring, "client.reader", "Operation not permitted")


def test_a_user_with_rights_measures_and_leaves_no_key_in_the_run(cluster: lab.Ceph, tmp_path: Path) -> None:
    keyring = cluster.user("client.writer", "mon", "allow r", "osd", "allow rw pool=bench")
    file = campaign(tmp_path, f"rados://bench?conf={conf(cluster, tmp_path, keyring)}&user=client.writer")
    done = tonnage("run", file, "--out", tmp_path / "run", "--json")
    (key,) = keys_in(keyring)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert key not in done.stdout + done.stderr and key.encode() not in kept
    # With mon r it may also ask where its objects are.
    assert b'"placed_objects": 1' in kept or b'"placed_objects":1' in kept
