"""What is under a file system, from trees like those of sysfs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tonnage.machine import mounts
from tonnage.machine.mounts import Mount, block_name, block_number, disks, remote_server


class Sys:
    """Devices as the kernel shows them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for place in ("block", "dev/block", "class/block", "class/iscsi_connection"):
            (root / place).mkdir(parents=True)

    def add(self, name: str, number: str, *, of: str = "", at: str = "devices", slaves: tuple[str, ...] = ()) -> Path:
        """A disk, or a partition ``of`` one, or a volume over ``slaves``."""
        place = (self.root / "block" / of).resolve() / name if of else self.root / at / "block" / name
        place.mkdir(parents=True)
        (place / "dev").write_text(f"{number}\n")
        if of:
            (place / "partition").write_text("1\n")
        else:
            (self.root / "block" / name).symlink_to(place)
            (place / "device").symlink_to(self.root / at, target_is_directory=True)
        for slave in slaves:
            (place / "slaves").mkdir(exist_ok=True)
            (place / "slaves" / slave).symlink_to((self.root / "class/block" / slave).resolve())
        (self.root / "dev/block" / number).symlink_to(place)
        (self.root / "class/block" / name).symlink_to(place)
        return place

    def controller(self, at: str, transport: str, address: str) -> None:
        (self.root / at).mkdir(parents=True, exist_ok=True)
        (self.root / at / "transport").write_text(f"{transport}\n")
        (self.root / at / "address").write_text(f"{address}\n")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sys:
    monkeypatch.setattr(mounts, "_SYS", tmp_path)
    return Sys(tmp_path)


def test_the_disks_of_a_volume_are_those_of_all_its_parts(tree: Sys) -> None:
    tree.add("sda", "8:0", at="devices/a")
    tree.add("sda2", "8:2", of="sda")
    tree.add("sdb", "8:16", at="devices/b")
    tree.add("md0", "9:0", at="devices/virtual/m", slaves=("sda2", "sdb"))
    tree.add("dm-0", "253:0", at="devices/virtual/d", slaves=("md0",))
    assert disks("253:0") == ["sda", "sdb"]
    assert disks("8:2") == ["sda"]
    assert block_name("8:2") == "sda2"
    assert (disks("0:25"), block_name("0:25"), block_name("8:77")) == ([], None, None)


def test_btrfs_is_on_the_device_that_it_was_mounted_from(tree: Sys) -> None:
    tree.add("sdz", "65:144")
    assert block_number(Mount("/b", "btrfs", "/dev/sdz", "", device_number="0:44")) == "65:144"
    assert block_number(Mount("/n", "nfs", "server:/x", "", device_number="0:45")) == "0:45"


def test_a_disk_in_this_host_has_no_server(tree: Sys) -> None:
    tree.controller("devices/pci/nvme/nvme0", "pcie", "0000:00:1f.0")
    tree.add("nvme0n1", "259:0", at="devices/pci/nvme/nvme0")
    tree.add("sda", "8:0", at="devices/ata")
    assert remote_server("nvme0n1") is None
    assert remote_server("sda") is None


def test_a_disk_over_the_network_is_at_its_hosts_address(tree: Sys) -> None:
    tree.controller("devices/nvme1", "tcp", "traddr=10.0.0.7,trsvcid=4420,src_addr=10.0.0.2")
    tree.add("nvme1n1", "259:1", at="devices/nvme1")
    assert remote_server("nvme1n1") == ("10.0.0.7", "NVMe over tcp")
    tree.controller("devices/nvme-subsys2/nvme2", "rdma", "traddr=10.0.0.8,trsvcid=4420")
    tree.add("nvme2n1", "259:2", at="devices/nvme-subsys2")
    assert remote_server("nvme2n1") == ("10.0.0.8", "NVMe over rdma")
    tree.add("sdc", "8:32", at="devices/platform/host3/session4/target3:0:0/3:0:0:1")
    connection = tree.root / "class/iscsi_connection/connection4:0"
    connection.mkdir()
    (connection / "persistent_address").write_text("10.0.0.9\n")
    assert remote_server("sdc") == ("10.0.0.9", "iSCSI")
    tree.add("rbd0", "252:0", at="devices/rbd")
    assert remote_server("rbd0") == ("", "Ceph RBD")
