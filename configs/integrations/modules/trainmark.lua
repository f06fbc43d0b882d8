-- trainmark for Lmod. To be copied to MODULEPATH as trainmark/0.1.0.lua; root is the folder of `cmake --install`.
help([[MLPerf benchmark runner and result analyzer for CPU clusters. `man trainmark` lists the commands.]])
whatis("Name: trainmark")
whatis("Version: 0.1.0")
whatis("Description: runs, checks, analyses and compares MLPerf benchmarks")

local root = "/opt/trainmark/0.1.0"

-- The MPI library that the program was built with: a name of this system.
-- depends_on("openmpi")

conflict("trainmark")
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
setenv("TRAINMARK_ROOT", root)
setenv("TRAINMARK_CONFIGS", pathJoin(root, "share/trainmark/configs"))
