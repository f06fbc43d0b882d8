// Kernels on rows of numbers, and the rules of all kernels' source: compiled once per instruction
// set, included by table.h and nothing else. Hides nothing. Everything has internal linkage
// and calls nothing from the standard library: a shared inline function compiled here for AVX-512
// could otherwise be the copy that the linker keeps for everyone.
#pragma once

#include "workloads/kernels/lanes.h"

namespace nn {
namespace {

template <class T>
void accumulate(T* dst, const T* src, std::int64_t count) {
  for_each_piece(count, [&](auto access, std::int64_t at, int width) {
    using Access = decltype(access);
    const Lanes before = load_on_way<Access>(dst + at, width);
    Access::store(dst + at, before + load_on_way<Access>(src + at, width), width);
  });
}

template <class From, class To>
void convert(const From* src, To* dst, std::int64_t count) {
  for_each_piece(count, [&](auto access, std::int64_t at, int width) {
    access.store(dst + at, load_on_way<decltype(access)>(src + at, width), width);
  });
}

}  // namespace
}  // namespace nn
