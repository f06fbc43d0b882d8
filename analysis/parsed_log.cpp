// Look-ups in a parsed log.
#include "analysis/log_parser.h"

namespace analysis {

const Mark* ParsedLog::first(const std::string& key) const {
  const std::vector<Mark>& of_key = all(key);
  return of_key.empty() ? nullptr : &of_key.front();
}

const std::vector<Mark>& ParsedLog::all(const std::string& key) const {
  static const std::vector<Mark> none;
  const auto found = marks.find(key);
  return found == marks.end() ? none : found->second;
}

}  // namespace analysis
