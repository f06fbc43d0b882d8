// The kernels for CPUs with avx512_bf16, compiled for any CPU.
#include "workloads/kernels/emulated_isa.h"

// Float kernels are the baseline's, which every CPU runs.
#define avx512_kernels baseline_kernels
#define avx512_bf16_kernels emulated_avx512_bf16_kernels
#include "workloads/kernels/isa_avx512_bf16.cpp"
