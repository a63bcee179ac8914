"""MPI-IO passes the suite of all storages, as each MPI here has it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import rust_suites
from impossible import skipped_where_impossible
from tonnage.cluster.mpi.io_library import io_library


@pytest.mark.timeout(900)
@pytest.mark.skipif(shutil.which("mpicc") is None, reason="no compiler of an MPI is installed")
@pytest.mark.parametrize("driver", ["ompio", "romio321"])
def test_it_passes_the_suite_of_all_storages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: str) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    library = io_library().path
    with skipped_where_impossible():
        given = {**os.environ, "TONNAGE_TEST_MPIIO": str(library), "OMPI_MCA_io": driver, "RUST_TEST_THREADS": "6"}
        rust_suites.passes("storage", "conformance::mpiio", 30, given)
