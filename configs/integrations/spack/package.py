"""trainmark for Spack: to be put into a repository of packages as packages/trainmark/package.py.

`git` names the site's clone; `spack develop --path DIR trainmark@main` builds a checkout instead. The HTML report
needs Chart.js 3, which Spack lacks: `spack install trainmark chart_js=/path/to/chart.min.js`.
"""

from spack.package import *


class Trainmark(CMakePackage):
    """MLPerf benchmark runner and result analyzer for CPU clusters."""

    git = "ssh://git@git.example.org/trainmark.git"

    license("Apache-2.0")

    version("main", branch="main")

    variant("runner", default=True, description="Build the half that trains, not only the analysis of logs")
    variant("chart_js", default="system", values=lambda path: True, description="chart.min.js of Chart.js 3")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("nlohmann-json@3.11:")
    depends_on("spdlog@1.10: +fmt_external")
    depends_on("fmt")
    depends_on("cli11@2.1:")
    depends_on("sqlite")
    with when("+runner"):
        depends_on("mpi@3.1:")
        depends_on("hdf5@1.10: +mpi")
        depends_on("onednn@2.6: cpu_runtime=omp")
        depends_on("libjpeg-turbo")
        depends_on("libpng")
        depends_on("zlib-api")
        depends_on("zstd")
        depends_on("lz4")
        depends_on("xxhash")
        depends_on("hwloc@2:")
        depends_on("icu4c")
        depends_on("pkgconfig", type="build")

    conflicts("%gcc@:11", msg="needs C++20 as GCC 12 has it")
    conflicts("%clang@:16", msg="needs C++20 as Clang 17 has it")

    generator("ninja")

    def cmake_args(self):
        args = [self.define("TRAINMARK_TESTS", False), self.define_from_variant("TRAINMARK_RUNNER", "runner")]
        if self.spec.variants["chart_js"].value != "system":
            args.append(self.define_from_variant("CHART_JS", "chart_js"))
        return args
