// Verdicts as text.
#include "analysis/report/text/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "analysis/findings/rule_catalogue.h"
#include "analysis/numbers.h"
#include "analysis/report/text/run_groups.h"
#include "runner/base/printable.h"

namespace analysis::report {
namespace {

/// Violations shown per log.
constexpr std::size_t kShownOfLog = 20;
/// Findings shown per rule: audit warnings over all logs, findings on a submission per folder.
constexpr std::size_t kShownOfRule = 3;

std::string place(const std::string& name, const mllog::Finding& finding) {
  if (finding.line == 0) return name;
  if (finding.column == 0) return fmt::format("{}:{}", name, finding.line);
  return fmt::format("{}:{}:{}", name, finding.line, finding.column);
}

bool is_suppressed(const mllog::Finding& finding) { return !finding.suppressed_because.empty(); }

/// Counts of errors and warnings that are not suppressed.
struct Totals {
  std::int64_t errors = 0, warnings = 0;

  void count(const mllog::Finding& finding) {
    if (is_suppressed(finding)) return;
    if (finding.severity == mllog::Finding::Severity::kError) ++errors;
    if (finding.severity == mllog::Finding::Severity::kWarning) ++warnings;
  }
  std::string text() const {
    return base::counted(errors, "error") + ", " + base::counted(warnings, "warning");
  }
};

bool is_note(const mllog::Finding& finding) {
  return finding.severity == mllog::Finding::Severity::kNote;
}

/// Whether the finding is that the log has no record, which makes all others pointless.
bool says_all(const mllog::rules::KeyFinding& found) { return found.finding.rule == "log/records"; }

std::string verdict_of(const submission::RcpResult& result) {
  if (!result.fails() && !result.passed) return "not tested";
  return result.passed ? "SUCCESS" : "FAIL";
}

/// Writes one report.
class Page {
 public:
  Page(std::ostream& out, const CheckReport& report, const CheckTextOptions& options)
      : out_(out), report_(report), options_(options) {}

  void write() {
    for (const CheckedFile& file : report_.files) {
      if (options_.quiet && file.verdict == Verdict::kSuccess) {
        for (const Finding& finding : file.audit) audited_.count(finding);
      } else {
        write_file(file);
      }
    }
    for (const CheckedSet& set : report_.sets) write_set(set);
    write_left_out();
    write_run_groups(out_, report_, options_.width);
    if (report_.submission) write_submission(*report_.submission);
    write_end();
  }

 private:
  void line(const std::string& text) { out_ << base::printable(text) << '\n'; }

  /// "  result_1.txt:3:1: error: what is wrong [rule]".
  void write_finding(const std::string& name, const char* whose, const mllog::Finding& finding) {
    line(fmt::format("  {}: {}{}: {} [{}]", place(name, finding), whose,
                     to_string(finding.severity), finding.text, finding.rule));
    if (options_.fix_hints && hinted_.insert(finding.rule).second) {
      const std::string_view advice = advice_on(finding.rule);
      if (!advice.empty()) line(fmt::format("    what to do: {}", advice));
    }
  }

  void write_file(const CheckedFile& file) {
    const mllog::rules::Judgement& judgement = file.judgement;
    line(fmt::format("{}: {} under {} ({})", file.name, to_string(file.verdict), judgement.ruleset,
                     file.why_this_ruleset));
    if (file.verdict == Verdict::kUnknown) line("  " + file.unknown_because);
    const auto& all = judgement.findings;
    const auto whole = std::find_if(all.begin(), all.end(), says_all);
    if (whole != all.end()) {
      write_finding(file.name, "", whole->finding);
    } else {
      const std::size_t shown = std::min(all.size(), kShownOfLog);
      for (std::size_t i = 0; i < shown; ++i) write_finding(file.name, "", all[i].finding);
      if (all.size() > shown) line(fmt::format("  {} more, all in the JSON", all.size() - shown));
    }
    write_audit(file.name, file.audit);
  }

  void write_audit(const std::string& name, const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
      audited_.count(finding);
      if (is_note(finding) || is_suppressed(finding)) continue;
      const bool is_error = finding.severity == Finding::Severity::kError;
      if (!is_error && told_of_rule_[finding.rule]++ >= kShownOfRule) continue;
      write_finding(name, "audit ", finding);
    }
  }

  /// Findings on the runs of a folder together.
  void write_set(const CheckedSet& set) {
    const std::string name = shown_name(set);
    if (options_.quiet && !(set.rcp && !set.rcp->passed)) {
      for (const Finding& finding : set.audit) audited_.count(finding);
      return;
    }
    if (set.rcp) {
      line(fmt::format("{}: convergence {}: {}", name, verdict_of(*set.rcp),
                       submission::finding_of(*set.rcp).text));
    }
    write_audit(name, set.audit);
  }

  void write_left_out() {
    for (const auto& [rule, count] : told_of_rule_) {
      if (count <= kShownOfRule) continue;
      line(fmt::format("  {} more audit warnings [{}], all in the JSON", count - kShownOfRule,
                       rule));
    }
  }

  void write_submission(const CheckedSubmission& checked) {
    const submission::PackageReport& report = checked.report;
    for (const submission::PackageSet& set : report.sets) {
      line(fmt::format("{}: {}{}, {} failed{}{}", set.name, base::counted(set.runs, "run"),
                       set.runs_required ? fmt::format(", {} required", *set.runs_required) : "",
                       set.failing_runs.size(), score_text(set), convergence_text(set)));
      if (set.energy) line("  " + energy_text(*set.energy));
    }
    Totals all;
    std::map<std::pair<std::string, std::string>, std::size_t> shown;  // by folder and rule
    for (const submission::PackageFinding& found : report.findings) {
      all.count(found.finding);
      if (is_note(found.finding) || is_suppressed(found.finding)) continue;
      const std::string folder = std::filesystem::path(found.path).parent_path().generic_string();
      if (shown[{folder, found.finding.rule}]++ < kShownOfRule) {
        write_finding(found.path, "", found.finding);
      }
    }
    for (const auto& [what, count] : shown) {
      if (count <= kShownOfRule) continue;
      line(fmt::format("  {} more [{}] in {}, all in the JSON", count - kShownOfRule, what.second,
                       what.first));
    }
    if (checked.submissions.size() > 1) {
      for (const SubmissionTotals& one : totals_of(checked)) {
        line(fmt::format("{}: {}, {} errors, {} warnings", one.name,
                         one.errors == 0 ? "SUCCESS" : "FAIL", one.errors, one.warnings));
      }
    }
    line(fmt::format("submission: {} under {}-{} ({}): {}", report.passes() ? "SUCCESS" : "FAIL",
                     checked.round.usage, checked.round.round, checked.why_this_round, all.text()));
  }

  static std::string score_text(const submission::PackageSet& set) {
    if (!set.score_min()) return "";
    const std::string score = fmt::format("; score {} min", short_number(set.score_min()));
    if (set.score_factor() == 1.0) return score;
    return fmt::format("{}, normalised by {:.6g} from {} min", score, set.score_factor(),
                       short_number(set.raw_score_min()));
  }

  /// Without the message of a failed test, which is among the findings.
  static std::string convergence_text(const submission::PackageSet& set) {
    if (!set.rcp) return "";
    const std::string verdict = "; convergence " + verdict_of(*set.rcp);
    return set.rcp->fails() ? verdict : verdict + ": " + set.rcp->message;
  }

  /// The findings say which runs lack energy, and why.
  static std::string energy_text(const submission::SetEnergy& energy) {
    std::int64_t known = 0, counting = 0;
    for (const submission::RunEnergy& run : energy.runs) {
      if (run.energy_j) ++known;
      if (run.counts) ++counting;
    }
    if (!energy.energy_j) {
      return fmt::format("energy: no mean, known of {} in {}", known,
                         base::counted(static_cast<std::int64_t>(energy.runs.size()), "run"));
    }
    return fmt::format(
        "energy {} J: mean of {} of {} by time{}", short_number(energy.energy_j), counting,
        base::counted(static_cast<std::int64_t>(energy.runs.size()), "run"),
        energy.scaling_factor == 1.0 ? ""
                                     : fmt::format(", scaled by {:.6g}", energy.scaling_factor));
  }

  void write_end() {
    const auto all = static_cast<std::int64_t>(report_.files.size());
    out_ << base::counted(all, "log") << " judged: " << report_.count(Verdict::kSuccess)
         << " SUCCESS, " << report_.count(Verdict::kFail) << " FAIL";
    const std::size_t unknown = report_.count(Verdict::kUnknown);
    if (unknown > 0) out_ << ", " << unknown << " UNKNOWN";
    if (audited_.errors + audited_.warnings > 0) out_ << "; audit: " << audited_.text();
    std::int64_t suppressed = 0;
    for (const SuppressionUse& use : report_.suppressions) suppressed += use.findings;
    if (suppressed > 0) out_ << "; " << base::counted(suppressed, "finding") << " suppressed";
    if (!report_.problems.empty()) out_ << "; " << report_.problems.size() << " could not be read";
    out_ << '\n';
  }

  std::ostream& out_;
  const CheckReport& report_;
  CheckTextOptions options_;
  Totals audited_;
  std::map<std::string, std::size_t> told_of_rule_;  ///< audit warnings, by rule
  std::set<std::string> hinted_;                     ///< rules whose advice was written
};

}  // namespace

void write_check_text(std::ostream& out, const CheckReport& report,
                      const CheckTextOptions& options) {
  Page(out, report, options).write();
}

}  // namespace analysis::report
