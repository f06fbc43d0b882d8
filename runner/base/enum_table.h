// Tables with one row per value of an enumeration.
#pragma once

#include <cstddef>

namespace base {

/// Whether each row is at the index of its value, so that a lookup needs no search. `member` is the
/// row's value: &Row::name.
template <class Table, class Member>
constexpr bool is_in_enum_order(const Table& table, Member member) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].*member) != i) return false;
  }
  return true;
}

}  // namespace base
