#%Module1.0
# trainmark for environment-modules. To be copied to MODULEPATH as trainmark/0.1.0; root is the folder of `cmake --install`.
proc ModulesHelp { } {
    puts stderr {MLPerf benchmark runner and result analyzer for CPU clusters. `man trainmark` lists the commands.}
}
module-whatis {runs, checks, analyses and compares MLPerf benchmarks}

set root /opt/trainmark/0.1.0

# The MPI library that the program was built with: a name of this system.
# module load openmpi

conflict trainmark
prepend-path PATH $root/bin
prepend-path MANPATH $root/share/man
setenv TRAINMARK_ROOT $root
setenv TRAINMARK_CONFIGS $root/share/trainmark/configs
