// Messages through spdlog; progress as one line.
#include "runner/console.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <unistd.h>

#include <cmath>

#include "runner/base/printable.h"

namespace runner {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kLineEveryNs = 30 * kSecondNs;
constexpr std::int64_t kRedrawEveryNs = kSecondNs / 5;

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(seconds, 0.0)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

Console::Console(std::ostream& out, Style style, const base::Clock& clock)
    : out_(out),
      style_(style),
      clock_(clock),
      logger_(std::make_shared<spdlog::logger>(
          "trainmark", std::make_shared<spdlog::sinks::ostream_sink_mt>(out, true))) {
  logger_->set_pattern("[%H:%M:%S] %v");
  if (style == Style::kSilent) logger_->set_level(spdlog::level::off);
}

Console::~Console() { clear_line(); }

Console::Style Console::style_of_stderr(int rank) {
  if (rank != 0) return Style::kSilent;
  return isatty(STDERR_FILENO) != 0 ? Style::kTerminal : Style::kLines;
}

void Console::info(const std::string& text) {
  clear_line();
  logger_->info(base::printable(text));
}

void Console::warn(const std::string& text) {
  clear_line();
  logger_->warn("WARNING: " + base::printable(text));
}

void Console::begin_progress(std::int64_t steps_done) {
  began_steps_ = steps_done;
  began_ns_ = clock_.steady_ns();
  shown_ns_ = began_ns_;
}

void Console::progress(const ProgressPoint& point) {
  if (style_ == Style::kSilent) return;
  const std::int64_t now = clock_.steady_ns();
  const std::int64_t pause = style_ == Style::kTerminal ? kRedrawEveryNs : kLineEveryNs;
  if (shown_ns_ && now - *shown_ns_ < pause) return;
  shown_ns_ = now;
  const double elapsed_s = static_cast<double>(now - began_ns_) / kSecondNs;
  const std::int64_t steps_here = point.steps_done - began_steps_;
  const double left_s = steps_here > 0
                            ? elapsed_s / static_cast<double>(steps_here) *
                                  static_cast<double>(point.steps_total - point.steps_done)
                            : 0.0;
  const std::string text =
      fmt::format("epoch {}/{}  step {}/{}  loss {:.4f}  {:.1f} samples/s  at most {} left",
                  point.epoch_num, point.epochs, point.steps_done, point.steps_total,
                  point.mean_loss, point.samples_per_s, duration_text(left_s));
  if (style_ == Style::kLines) {
    info(text);
    return;
  }
  out_ << '\r' << text << "\x1b[K" << std::flush;
  line_open_ = true;
}

void Console::clear_line() {
  if (line_open_) out_ << "\r\x1b[K" << std::flush;
  line_open_ = false;
}

}  // namespace runner
