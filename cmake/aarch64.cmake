# Cross-builds for 64-bit ARM on x86-64, against a Debian system of that architecture in the folder TRAINMARK_SYSROOT, and
# runs programs by qemu. The system must be of this machine's release. docs/packages.md shows how to make it. On an ARM
# machine none of this is needed.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TRAINMARK_SYSROOT)
if(NOT EXISTS "${TRAINMARK_SYSROOT}/usr/include")
  message(FATAL_ERROR "TRAINMARK_SYSROOT: expected the folder of an arm64 system, found '${TRAINMARK_SYSROOT}'")
endif()
set(CMAKE_SYSROOT ${TRAINMARK_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64-static;-L;${TRAINMARK_SYSROOT}")

set(libraries ${TRAINMARK_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${TRAINMARK_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${TRAINMARK_SYSROOT}/usr/share/pkgconfig)
# Where MPI and HDF5 are: their compiler wrappers, which CMake would ask, are programs of the other architecture.
set(MPI_SKIP_COMPILER_WRAPPER ON)
set(MPI_C_HEADER_DIR ${libraries}/openmpi/include CACHE PATH "")
set(MPI_C_LIB_NAMES mpi CACHE STRING "")
set(MPI_mpi_LIBRARY ${libraries}/openmpi/lib/libmpi.so CACHE FILEPATH "")
set(HDF5_ROOT ${libraries}/hdf5/openmpi)
