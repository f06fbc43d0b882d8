// The kernels for CPUs with AMX, compiled for any CPU.
#include "workloads/kernels/emulated_isa.h"

#define avx512_bf16_kernels emulated_avx512_bf16_kernels
#define amx_kernels emulated_amx_kernels
#include "workloads/kernels/isa_amx.cpp"
