"""Which CPUs take a device's interrupts, from recorded trees of /sys and /proc."""

from __future__ import annotations

from pathlib import Path

import pytest
from tonnage.machine.affinity import device_interrupt_cpus, interrupt_cpus, parse_cpu_list
from tonnage.machine.host_facts import host_facts

# Recorded from a virtual machine with two CPUs, and from a host with NVMe and AHCI; counts shortened.
INTERRUPTS = """\
           CPU0       CPU1
 28:          0          0 PCI-MSIX-0000:00:01.0   0-edge      virtio0-config
 35:          0          1 PCI-MSIX-0000:00:02.0   0-edge      virtio1-config
 36:          0     765979 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 37:          0          0 PCI-MSIX-0000:00:03.0   0-edge      virtio11-req.0
 40:         11          0 IR-PCI-MSI 524288-edge      nvme0q0
 41:        345          0 IR-PCI-MSI 524289-edge      nvme0q1
 42:          0         97 IR-PCI-MSI 524290-edge      nvme0q2
 43:          0         97 IR-PCI-MSI 524290-edge      nvme1q1
 44:          8          8 IR-PCI-MSI-0000:00:17.0 0-edge      ahci[0000:00:17.0]
NMI:          0          0   Non-maskable interrupts
"""
AFFINITY = {"36": "1", "37": "0", "40": "0", "41": "2-3", "42": "5", "43": "7", "44": "0,4"}


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    sys, proc = tmp_path / "sys", tmp_path / "proc"
    (sys / "dev/block").mkdir(parents=True)
    for number, place in {
        "254:0": "pci0/virtio1/block/vda",
        "254:1": "pci0/virtio1/block/vda/vda1",
        "259:0": "pci0/nvme/nvme0/nvme0n1",
        "8:0": "pci0/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda",
        "253:0": "virtual/block/dm-0",
        "7:0": "virtual/block/loop0",
    }.items():
        (sys / "devices" / place).mkdir(parents=True)
        (sys / "dev/block" / number).symlink_to(f"../../devices/{place}")
    (sys / "devices/pci0/virtio1/block/vda/vda1/partition").write_text("1\n")
    for disk, device in {
        "pci0/virtio1/block/vda": "../..",
        "pci0/nvme/nvme0/nvme0n1": "..",
        "pci0/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda": "../..",
    }.items():
        (sys / "devices" / disk / "device").symlink_to(device)
    (sys / "bus/pci/drivers/ahci").mkdir(parents=True)
    (sys / "devices/pci0/0000:00:17.0/driver").symlink_to("../../../bus/pci/drivers/ahci")
    slaves = sys / "devices/virtual/block/dm-0/slaves"
    slaves.mkdir()
    (slaves / "vda1").symlink_to("../../../../pci0/virtio1/block/vda/vda1")
    (slaves / "nvme0n1").symlink_to("../../../../pci0/nvme/nvme0/nvme0n1")
    for number, cpus in AFFINITY.items():
        (proc / "irq" / number).mkdir(parents=True)
        (proc / "irq" / number / "smp_affinity_list").write_text(f"{cpus}\n")
    # Where the kernel says which of the allowed CPUs it is, that one counts.
    (proc / "irq/44/effective_affinity_list").write_text("4\n")
    (proc / "interrupts").write_text(INTERRUPTS)
    return sys, proc


@pytest.mark.parametrize(
    ("number", "cpus"),
    [
        ((254, 0), [1]),
        ((254, 1), [1]),
        ((259, 0), [2, 3, 5]),
        ((8, 0), [4]),
        ((253, 0), [1, 2, 3, 5]),
        ((7, 0), None),
        ((0, 44), None),
    ],
)
def test_a_device_s_interrupts_go_to_these_cpus(
    trees: tuple[Path, Path], number: tuple[int, int], cpus: list[int] | None
) -> None:
    assert device_interrupt_cpus(*number, sys=trees[0], proc=trees[1]) == cpus


def test_a_kernel_that_says_nothing_is_no_answer(tmp_path: Path) -> None:
    assert device_interrupt_cpus(8, 0, sys=tmp_path, proc=tmp_path) is None
    assert interrupt_cpus(tmp_path / "missing") is None
    assert interrupt_cpus("/proc") is None


def test_lists_of_cpus_are_read_as_the_kernel_writes_them() -> None:
    assert parse_cpu_list("0-2,5\n") == [0, 1, 2, 5]
    assert parse_cpu_list("\n") == []


def test_this_process_knows_its_own_cpus() -> None:
    facts = host_facts()
    assert len(facts["cpu_affinity"]) == facts["cpus_allowed"]
