// `trainmark bleu`: the score of a translation in a text file.
#include "workloads/gnmt/bleu_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runner/base/error.h"
#include "runner/base/output_options.h"
#include "runner/base/printable.h"
#include "runner/documents.h"
#include "workloads/gnmt/bleu.h"
#include "workloads/gnmt/detokenizer.h"
#include "workloads/gnmt/text_lines.h"
#include "workloads/gnmt/tokens.h"

namespace gnmt {
namespace {

using nlohmann::json;

struct BleuOptions {
  std::string hypothesis, reference;  ///< paths
  std::string tokenizer = "intl";
  std::string language;  ///< of the detokenizer; empty: hypotheses are plain text
  bool cased = false;
  bool lowercase = false;  ///< says the default aloud; excludes `cased`
  std::string json;        ///< file, or "-"
};

struct ScoredFiles {
  std::int64_t sentences = 0;
  Bleu bleu;
};

std::int64_t lines_in_all(TextLines& lines) {
  std::string line;
  while (lines.next(line)) continue;
  return lines.number();
}

/// Throws DataError if there is a line left in one of the files.
void check_equal_ends(const BleuOptions& options, TextLines& references, TextLines& hypotheses) {
  const std::int64_t expected = lines_in_all(references), found = lines_in_all(hypotheses);
  if (expected != found) {
    throw base::DataError(fmt::format("{}: expected {}, as {} has, found {}", options.hypothesis,
                                      base::counted(expected, "line"), options.reference, found));
  }
  if (expected == 0) {
    throw base::DataError(
        fmt::format("{}: expected a sentence a line, found an empty file", options.reference));
  }
}

ScoredFiles score_files(const BleuOptions& options) {
  const Tokenizer tokenizer = parse_tokenizer(options.tokenizer);
  const Casing casing = options.cased ? Casing::kKept : Casing::kLower;
  const Language language = options.language == "de" ? Language::kGerman : Language::kEnglish;
  TextLines references(options.reference), hypotheses(options.hypothesis);
  BleuCounts counts;
  ScoredFiles scored;
  std::string reference, hypothesis;
  while (true) {
    const bool has_reference = references.next(reference);
    if (!hypotheses.next(hypothesis) || !has_reference) break;
    if (!options.language.empty()) hypothesis = detokenize(join_pieces(hypothesis), language);
    counts += count_sentence(words_of(hypothesis, tokenizer, casing),
                             words_of(reference, tokenizer, casing));
    ++scored.sentences;
  }
  check_equal_ends(options, references, hypotheses);
  scored.bleu = bleu_of(counts);
  return scored;
}

/// In the form of sacreBLEU's signatures.
std::string signature_of(const BleuOptions& options) {
  return fmt::format("BLEU+case.{}+numrefs.1+smooth.exp+tok.{}{}", options.cased ? "mixed" : "lc",
                     options.tokenizer,
                     options.language.empty() ? "" : "+detok." + options.language);
}

json document_of(const BleuOptions& options, const ScoredFiles& scored) {
  const Bleu& bleu = scored.bleu;
  return {{"bleu", bleu.score},
          {"precisions", bleu.precisions},
          {"brevity_penalty", bleu.brevity_penalty},
          {"correct", bleu.counts.correct},
          {"total", bleu.counts.total},
          {"hypothesis_words", bleu.counts.hypothesis_words},
          {"reference_words", bleu.counts.reference_words},
          {"sentences", scored.sentences},
          {"signature", signature_of(options)},
          {"hypothesis", options.hypothesis},
          {"reference", options.reference}};
}

void print_score(const BleuOptions& options, const ScoredFiles& scored, std::ostream& out) {
  const Bleu& bleu = scored.bleu;
  out << fmt::format("BLEU             {:.2f}\n", bleu.score);
  for (std::size_t n = 0; n < kBleuOrder; ++n) {
    out << fmt::format("precision {}      {:.1f} %, {} of {}\n", n + 1, bleu.precisions[n],
                       bleu.counts.correct[n], bleu.counts.total[n]);
  }
  out << fmt::format("brevity penalty  {:.3f}\n", bleu.brevity_penalty);
  out << fmt::format("words            {}, the reference {}, in {} sentences\n",
                     bleu.counts.hypothesis_words, bleu.counts.reference_words, scored.sentences);
  out << fmt::format("settings         {}\n", signature_of(options));
}

base::ExitCode score(const BleuOptions& options) {
  base::require_files({{"--json", options.json}});
  if (!options.json.empty() && options.json != "-") {
    base::refuse_to_overwrite(options.json, {options.hypothesis, options.reference});
  }
  const ScoredFiles scored = score_files(options);
  if (!options.json.empty()) {
    runner::write_document(document_of(options, scored), options.json, std::cout);
  }
  if (options.json != "-") print_score(options, scored, std::cout);
  return base::ExitCode::kSuccess;
}

}  // namespace

base::Command bleu_command() {
  base::Command command;
  command.name = "bleu";
  command.summary = "the BLEU of a translation, as MLPerf's rules for gnmt compute it";
  command.example =
      "trainmark bleu --reference newstest2014.de translation.de\n"
      "  trainmark bleu --reference newstest2014.de --detokenize en tokens.de --json -";
  command.declare = [](CLI::App& app) -> base::Command::Action {
    const auto options = std::make_shared<BleuOptions>();
    app.add_option("hypothesis,--hypothesis", options->hypothesis,
                   "text file with a translated sentence a line")
        ->required();
    app.add_option("--reference", options->reference, "text file with the right translations")
        ->required();
    app.add_option("--tokenize", options->tokenizer,
                   "what separates words: Unicode's punctuation and symbols (intl, the rules'), "
                   "ASCII's (13a), or white space alone (none)")
        ->check(CLI::IsMember({"intl", "13a", "none"}))
        ->capture_default_str();
    auto* const lowercase = app.add_flag("--lowercase", options->lowercase,
                                         "compare lower-case text, as the rules do (the default)");
    app.add_flag("--cased", options->cased, "compare text as it is")->excludes(lowercase);
    app.add_option("--detokenize", options->language,
                   "the translation is Moses tokens with '@@' at the ends of pieces: make plain "
                   "text of it first, by these rules (the reference takes en for German, too)")
        ->check(CLI::IsMember({"en", "de"}));
    app.add_option("--json", options->json,
                   "write the score as JSON to this file; '-' for standard output");
    return [options](runner::Communicator*) { return score(*options); };
  };
  return command;
}

}  // namespace gnmt
