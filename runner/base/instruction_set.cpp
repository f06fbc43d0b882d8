// Which instruction set the project's kernels may use, from cpuid and TRAINMARK_MAX_ISA.
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"

namespace base {

namespace {

constexpr std::array<std::pair<InstructionSet, const char*>, 5> kNames = {
    {{InstructionSet::kBaseline, "baseline"},
     {InstructionSet::kAvx2, "avx2"},
     {InstructionSet::kAvx512, "avx512"},
     {InstructionSet::kAvx512Bf16, "avx512_bf16"},
     {InstructionSet::kAmx, "amx"}}};

#if defined(__x86_64__)
/// Linux grants matrix tiles (AMX) to processes that request them and kills others at their first
/// use. Some hypervisors hide the tile palettes; there the first use is an illegal instruction.
bool may_use_tiles() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  constexpr unsigned kFeatureLeaf = 7, kPaletteLeaf = 0x1D;
  constexpr unsigned kBf16Bit = 1U << 22, kTileBit = 1U << 24;
  unsigned a = 0, b = 0, c = 0, features = 0, palettes = 0;
  if (__get_cpuid_count(kFeatureLeaf, 0, &a, &b, &c, &features) == 0) return false;
  if ((features & kBf16Bit) == 0 || (features & kTileBit) == 0) return false;
  unsigned d = 0;
  if (__get_cpuid_count(kPaletteLeaf, 0, &palettes, &b, &c, &d) == 0 || palettes == 0) return false;
  static const bool is_permitted = ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return is_permitted;
#else
  return false;
#endif
}

/// The compiler's run-time support reads cpuid, and XGETBV to see whether the operating system
/// saves the wide registers; if not, it reports no AVX.
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
  if (!__builtin_cpu_supports("avx512bf16")) return InstructionSet::kAvx512;
  return may_use_tiles() ? InstructionSet::kAmx : InstructionSet::kAvx512Bf16;
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
      "TRAINMARK_MAX_ISA: must be one of baseline, avx2, avx512, avx512_bf16, amx, got \"" +
      std::string(limit) + "\"");
}

}  // namespace base
