// Reads JSON as Python's json.loads does.
#include "runner/mllog/python_json_parser.h"

namespace mllog {
namespace {

/// Stores all members.
struct KeepMembers {
  static constexpr int kDepth = 1;
  void take(int, const JsonMember& member) { members.push_back(member); }
  std::vector<JsonMember>& members;
};

/// Finds one member.
struct FindMember {
  static constexpr int kDepth = 1;
  void take(int, const JsonMember& member) {
    if (member.is_named(name)) found = member.value;  // the last duplicate wins
  }
  std::string_view name;
  JsonText found;
};

/// Finds the wanted members, and stores the members of those that are objects.
class FindWanted {
 public:
  static constexpr int kDepth = 2;
  FindWanted(std::span<WantedMember> wanted, std::vector<JsonMember>& inner)
      : wanted_(wanted), inner_(inner) {}

  void take(int depth, const JsonMember& member) {
    if (depth == 1) {
      inner_.push_back(member);
      return;
    }
    for (WantedMember& one : wanted_) {
      if (!member.is_named(one.name)) continue;
      one.repeats = !one.value.is_absent();
      one.value = member.value;  // the last duplicate wins
      one.inner_begin = inner_begin_;
      one.inner_end = inner_.size();
      break;
    }
    inner_begin_ = inner_.size();
  }

  /// Call it after the scan, when `inner` no longer changes.
  void give_members() {
    for (WantedMember& one : wanted_) {
      if (one.inner_begin == one.inner_end) continue;
      one.value = one.value.with({&inner_[one.inner_begin], one.inner_end - one.inner_begin});
    }
  }

 private:
  std::span<WantedMember> wanted_;
  std::vector<JsonMember>& inner_;
  std::size_t inner_begin_ = 0;
};

}  // namespace

std::variant<nlohmann::json, JsonFault> parse_python_json(std::string_view text) {
  IgnoreMembers none;
  return PythonJsonParser<true>(text, none).parse();
}

std::variant<JsonText, JsonFault> scan_python_json(std::string_view text,
                                                   std::vector<JsonMember>& members) {
  members.clear();
  KeepMembers all{members};
  auto result = PythonJsonParser<false, KeepMembers>(text, all).scan();
  if (std::holds_alternative<JsonFault>(result)) members.clear();
  return result;
}

std::variant<JsonText, JsonFault> scan_python_json(std::string_view text,
                                                   std::span<WantedMember> wanted,
                                                   std::vector<JsonMember>& inner) {
  inner.clear();
  FindWanted finder(wanted, inner);
  auto result = PythonJsonParser<false, FindWanted>(text, finder).scan();
  finder.give_members();
  return result;
}

JsonText JsonText::member(std::string_view name) const {
  for (auto one = members_.rbegin(); one != members_.rend(); ++one) {
    if (one->is_named(name)) return one->value;  // the last duplicate wins
  }
  if (!is_object() || !members_.empty()) return {};
  FindMember finder{name, {}};
  PythonJsonParser<false, FindMember>(text_, finder).scan();
  return finder.found;
}

}  // namespace mllog
