"""A server's /proc as its kernel writes it, with counters that a test turns on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

_HZ = 100


@dataclass
class Server:
    """The counters of one server with two CPUs, a partitioned SATA disk, an NVMe and what lies on them."""

    busy_s: float = 1000.0
    idle_s: float = 8000.0
    iowait_s: float = 1000.0
    reads: int = 1000
    writes: int = 500
    bytes: int = 512 * 4000
    rpcs: int | None = 18628
    paged: int = 40
    waiting_s: float | None = 30.0
    avg10: float = 12.5
    uptime_s: float = 5000.0
    booted_s: int = 1_795_289_120
    disks: tuple[str, ...] = ("sda", "sda1", "sda2", "nvme0n1", "nvme0n1p1", "dm-0", "md127", "loop0", "zram0")
    missing: set[str] = field(default_factory=set)

    def files(self) -> dict[str, str]:
        """Name below /proc → text. Formats: proc(5), iostats.rst, accounting/psi.rst, net/sunrpc/stats.c."""
        half = [int(part * _HZ / 2) for part in (self.busy_s, 0, 0, self.idle_s, self.iowait_s, 0, 0, 0, 0, 0)]
        cpus = [
            f"cpu{name} {' '.join(str(part * times) for part in half)}" for name, times in (("", 2), (0, 1), (1, 1))
        ]
        disk = f"{self.reads} 3 {self.bytes // 1024} 70 {self.writes} 9 {self.bytes // 1024} 80 0 60 150 0 0 0 0 0 0"
        found = {
            "uptime": f"{self.uptime_s:.2f} {self.idle_s:.2f}\n",
            "stat": "\n".join([*cpus, "intr 5 0 0", "ctxt 9", f"btime {self.booted_s}", "procs_running 4", ""]),
            "diskstats": "".join(f"   8 {minor:7} {name} {disk}\n" for minor, name in enumerate(self.disks)),
        }
        found |= {
            "loadavg": "0.52 0.61 0.75 3/345 999\n",
            "meminfo": "MemTotal: 8000 kB\nMemAvailable:    4000 kB\nSwapFree: 2000 kB\nHugePages_Total: 0\n",
            "vmstat": f"nr_free_pages 7\npswpin {self.paged}\npswpout {self.paged}\n",
        }
        if self.rpcs is not None:
            found["net/rpc/nfsd"] = (
                "rc 0 6 18622\nfh 0 0 0 0 0\nio 157286400 0\nth 8 0 0 0 0 0 0 0 0 0 0 0\nra 32 0 0 0 0 0 0 0 0 0 0 0\n"
                f"net {self.rpcs} 0 {self.rpcs} 6\nrpc {self.rpcs} 0 0 0 0\n"
                f"proc3 22 {' '.join(['0'] * 22)}\nproc4 2 2 10853\nproc4ops 72 {' '.join(['0'] * 72)}\n"
            )
        if self.waiting_s is not None:
            total = round(self.waiting_s * 1e6)
            told = "".join(
                f"{kind} avg10={self.avg10:.2f} avg60=3.00 avg300=1.00 total={total}\n" for kind in ("some", "full")
            )
            # node_exporter tells one only where all three are there.
            found |= {f"pressure/{resource}": told for resource in ("cpu", "io", "memory")}
        return {name: text for name, text in found.items() if name not in self.missing}

    def write(self, root: Path) -> None:
        """Each file whole, as a reader of a kernel's file sees it."""
        for name, text in self.files().items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            fresh = root / "fresh"
            fresh.write_text(text)
            fresh.replace(root / name)


def scrape(server: Server, now_s: float) -> str:
    """The same counters as node_exporter 1.5 tells them."""
    lines = [
        "# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.",
        "# TYPE node_cpu_seconds_total counter",
    ]
    for cpu in (0, 1):
        for mode, spent_s in (("user", server.busy_s), ("idle", server.idle_s), ("iowait", server.iowait_s)):
            lines.append(f'node_cpu_seconds_total{{cpu="{cpu}",mode="{mode}"}} {spent_s / 2}')
    lines.append('node_cpu_guest_seconds_total{cpu="0",mode="user"} 77')
    for disk in server.disks:
        lines += [
            f'node_disk_reads_completed_total{{device="{disk}"}} {server.reads:.6e}',
            f'node_disk_writes_completed_total{{device="{disk}"}} {server.writes}',
            f'node_disk_read_bytes_total{{device="{disk}"}} {server.bytes // 2:.9e}',
            f'node_disk_written_bytes_total{{device="{disk}"}} {server.bytes // 2}',
            f'node_disk_io_now{{device="{disk}"}} 0',
        ]
    if server.rpcs is not None:
        lines.append(f"node_nfsd_server_rpcs_total {server.rpcs}")
    if server.waiting_s is not None:
        lines += [
            f"node_pressure_io_waiting_seconds_total {server.waiting_s}",
            "node_pressure_io_stalled_seconds_total 1",
        ]
    lines += [
        "node_load1 0.52",
        "node_load5 0.61",
        "node_load15 0.75",
        "node_procs_running 4",
        "node_memory_MemAvailable_bytes 4.096e+06",
        "node_memory_SwapFree_bytes 2.048e+06",
        f"node_vmstat_pswpin {server.paged}",
        f"node_vmstat_pswpout {server.paged}",
    ]
    lines += [f"node_boot_time_seconds {server.booted_s:.9g}", f"node_time_seconds {now_s:.16e}"]
    return "\n".join(lines) + "\n"
