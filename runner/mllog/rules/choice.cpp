// Which round's rules a log should be judged by.
// Hides how paths are read, and how dates and benchmarks narrow the rounds down.
#include "runner/mllog/rules/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <regex>

#include "runner/base/error.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"

namespace mllog::rules {
namespace {

using base::ConfigError;

struct Name {
  std::string usage;  ///< "" where only the number is given
  std::string number;
};

/// "hpc-3.0.0" is hpc and 3.0.
std::optional<Name> parse_round(const std::string& text) {
  static const std::regex form(R"((?:(training|hpc)[-_ ])?v?(\d+\.\d+)(?:\.0)?)");
  std::smatch match;
  if (!std::regex_match(text, match, form)) return {};
  return Name{match[1], match[2]};
}

std::string list_of(const RuleBook& book, const std::string& usage) {
  std::string list;
  for (const Round& round : book.rounds()) {
    if (!round.no_rules_because.empty() || (!usage.empty() && round.usage != usage)) continue;
    list += (list.empty() ? "" : ", ") + round.name();
  }
  return list;
}

/// The rounds that the flags leave.
std::vector<const Round*> left_by(const RuleBook& book, const Wanted& wanted) {
  std::vector<const Round*> rounds;
  const std::optional<Name> name = parse_round(wanted.round);
  for (const Round& round : book.rounds()) {
    const bool fits = (wanted.usage.empty() || round.usage == wanted.usage) &&
                      (!name || name->usage.empty() || round.usage == name->usage) &&
                      (!name || round.number == name->number);
    if (fits) rounds.push_back(&round);
  }
  return rounds;
}

bool has_rules(const Round* round) { return round->no_rules_because.empty(); }

std::string flags(const Wanted& wanted) {
  std::string text;
  if (!wanted.usage.empty()) text += "--usage " + wanted.usage;
  if (!wanted.round.empty()) text += (text.empty() ? "" : " ") + ("--round " + wanted.round);
  return text;
}

std::string date_of(double time_ms) {
  constexpr double kMsPerSecond = 1e3;
  const auto time = static_cast<std::time_t>(time_ms / kMsPerSecond);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
  return text.data();
}

/// Of rounds in their order: the first that was published on that day or later.
const Round* first_after(const std::vector<const Round*>& rounds, const std::string& date) {
  const auto found = std::find_if(rounds.begin(), rounds.end(), [&](const Round* round) {
    return !round->published.empty() && round->published >= date;
  });
  return found == rounds.end() ? nullptr : *found;
}

}  // namespace

Evidence gather_evidence(std::istream& log) {
  Evidence evidence;
  RecordReader reader(log);
  while (const std::optional<LogItem> item = reader.next()) {
    const auto* const record = std::get_if<Record>(&*item);
    if (record == nullptr) continue;
    evidence.format = record->format;
    if (!evidence.benchmark && record->key == keys::kSubmissionBenchmark) {
      evidence.benchmark = record->value.string();
    }
    if (!evidence.time_ms && is_date(record->time_ms)) evidence.time_ms = record->time_ms;
    if (evidence.benchmark && evidence.time_ms) break;
  }
  return evidence;
}

void require_known(const RuleBook& book, const Wanted& wanted) {
  if (!wanted.usage.empty() && wanted.usage != "training" && wanted.usage != "hpc") {
    throw ConfigError("--usage: must be training or hpc, got " + wanted.usage);
  }
  if (!wanted.round.empty() && !parse_round(wanted.round)) {
    throw ConfigError("--round: must look like hpc-3.0 or 3.0, got " + wanted.round);
  }
  const std::vector<const Round*> rounds = left_by(book, wanted);
  if (rounds.empty()) {
    throw ConfigError(flags(wanted) + ": there is no such round; there are " +
                      list_of(book, wanted.usage));
  }
}

void require_rules(const RuleBook& book, const Wanted& wanted) {
  require_known(book, wanted);
  const std::vector<const Round*> rounds = left_by(book, wanted);
  if (std::none_of(rounds.begin(), rounds.end(), has_rules)) {
    throw ConfigError(flags(wanted) + ": has no rules: " + rounds[0]->no_rules_because);
  }
}

std::optional<Choice> choose_by_path(const RuleBook& book, const Wanted& wanted,
                                     const std::string& path) {
  const std::vector<const Round*> rounds = left_by(book, wanted);
  if (!wanted.round.empty() && rounds.size() == 1) {
    return Choice{rounds[0], flags(wanted) + " asks for it"};
  }
  static const std::regex form(
      R"((?:^|[^A-Za-z0-9])((training|hpc)(?:_results)?[_-]v?(\d+\.\d+))(?=$|[^0-9]))");
  std::optional<Choice> last;
  for (auto match = std::sregex_iterator(path.begin(), path.end(), form);
       match != std::sregex_iterator(); ++match) {
    const Round* const round = book.find((*match)[2], (*match)[3]);
    if (std::find(rounds.begin(), rounds.end(), round) == rounds.end()) continue;
    last = Choice{round, "the path names " + (*match)[1].str()};
  }
  if (last && !wanted.usage.empty()) last->why += ", as --usage allows";
  return last;
}

Choice choose_by_log(const RuleBook& book, const Wanted& wanted, const Evidence& evidence) {
  std::vector<const Round*> rounds = left_by(book, wanted);
  if (evidence.format != LogFormat::kMllog) {
    const auto old = std::find_if(rounds.begin(), rounds.end(), [&](const Round* round) {
      return round->log_format == evidence.format;
    });
    if (old != rounds.end()) {
      return {*old, fmt::format("its records begin with '{}', as those of {} alone",
                                token_of(evidence.format), (*old)->name())};
    }
  }
  std::erase_if(rounds, [](const Round* round) {
    return !has_rules(round) || round->log_format != LogFormat::kMllog;
  });
  const std::string chosen = flags(wanted).empty() ? "" : " (" + flags(wanted) + ")";

  std::vector<const Round*> listing = rounds;
  std::string why = "the log names no benchmark";
  if (evidence.benchmark) {
    std::erase_if(listing, [&](const Round* round) { return !round->judges(*evidence.benchmark); });
    why = fmt::format("no round{} lists the benchmark \"{}\"", chosen, *evidence.benchmark);
  }
  const bool is_listed = evidence.benchmark && !listing.empty();
  if (is_listed) {
    why = fmt::format("\"{}\" is a benchmark of {}", *evidence.benchmark, listing[0]->usage);
  } else {
    const std::string usage = rounds[0]->usage;  // training before hpc
    listing = rounds;
    std::erase_if(listing, [&](const Round* round) { return round->usage != usage; });
    why += ", so " + usage + " is assumed";
  }
  why += is_listed ? chosen : "";
  if (!evidence.time_ms) {
    return {listing.back(),
            why + fmt::format(" and the log has no date, so its newest round{}, {}",
                              is_listed ? " that lists it" : "", listing.back()->name())};
  }
  const std::string date = date_of(*evidence.time_ms);
  if (const Round* const round = first_after(listing, date)) {
    return {round, why + fmt::format(" and the log is of {}, before {} was published on {}", date,
                                     round->name(), round->published)};
  }
  return {
      listing.back(),
      why + fmt::format(" and the log is of {}, later than its rounds, of which {} is the newest",
                        date, listing.back()->name())};
}

}  // namespace mllog::rules
