// Which instruction set own kernels may use here.
// Hides cpuid and the environment variable that lowers the answer.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"

namespace base {

namespace {

constexpr std::array<std::pair<InstructionSet, const char*>, 4> kNames = {
    {{InstructionSet::kBaseline, "baseline"},
     {InstructionSet::kAvx2, "avx2"},
     {InstructionSet::kAvx512, "avx512"},
     {InstructionSet::kAvx512Bf16, "avx512_bf16"}}};

#if defined(__x86_64__)
/// The compiler's run-time support asks cpuid, and XGETBV whether the operating system saves the
/// wide registers; without that it reports no AVX.
InstructionSet strongest() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
                    __builtin_cpu_supports("movbe");
  if (!avx2) return InstructionSet::kBaseline;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (!avx512) return InstructionSet::kAvx2;
  return __builtin_cpu_supports("avx512bf16") ? InstructionSet::kAvx512Bf16
                                              : InstructionSet::kAvx512;
}
#else
InstructionSet strongest() { return InstructionSet::kBaseline; }
#endif

}  // namespace

std::string to_string(InstructionSet set) {
  for (const auto& [known, name] : kNames) {
    if (known == set) return name;
  }
  throw Error(ExitCode::kInternal, "to_string: no such instruction set");
}

InstructionSet usable_instruction_set() {
  const char* limit = std::getenv("TRAINMARK_MAX_ISA");
  if (limit == nullptr || *limit == '\0') return strongest();
  for (const auto& [set, name] : kNames) {
    if (limit == std::string(name)) return std::min(set, strongest());
  }
  throw ConfigError(
      "TRAINMARK_MAX_ISA: must be one of baseline, avx2, avx512, avx512_bf16, got \"" +
      std::string(limit) + "\"");
}

}  // namespace base
