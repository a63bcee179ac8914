# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)
"""Spack's recipe. Without the extra `serve`: Spack has no starlette and uvicorn as new as it needs."""

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyTonnage(PythonPackage):
    """How much I/O a storage system can carry, and how to keep jobs at that line."""

    pypi = "tonnage/tonnage-0.1.0.tar.gz"

    license("Apache-2.0 OR MIT")

    # The checksum of a release is the one of its sdist (docs/install.md); one that is built here has none.
    version("0.1.0")

    variant("report", default=True, description="Write reports with figures")
    variant("notebook", default=False, description="Read runs as data frames")
    variant("stage", default=False, description="Serve metrics of staging and placement")
    variant("darshan", default=False, description="Read logs of Darshan")
    variant("mpi", default=False, description="Measure over the site's MPI")

    with default_args(type="build"):
        depends_on("c")
        depends_on("py-maturin@1.9:1")
        depends_on("rust@1.89:")

    with default_args(type=("build", "run")):
        depends_on("python@3.10:")
        depends_on("py-jinja2@3.1:")
        depends_on("py-numpy@1.26:")
        depends_on("py-pydantic@2.9:2")
        depends_on("py-rich@13.9:")
        depends_on("py-tomli@2:", when="^python@:3.10")

        depends_on("py-plotly@6:", when="+report")
        depends_on("py-plotly@6:", when="+notebook")
        depends_on("py-pandas@2.2:", when="+notebook")
        depends_on("py-prometheus-client@0.21:", when="+stage")
        depends_on("py-darshan@3.5:", when="+darshan")
        depends_on("py-mpi4py@4.1:", when="+mpi")

    import_modules = ["tonnage", "tonnage._native", "tonnage.cli"]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_first_day(self):
        """Measures a simulated storage and explains a finding."""
        tonnage = Executable(self.prefix.bin.tonnage)
        tonnage("probe", "sim:knee=8,plateau=2GB/s")
        tonnage("explain", "cache-read")
