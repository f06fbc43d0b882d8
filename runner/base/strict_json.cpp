// Strict JSON parsing on top of nlohmann's SAX parser.
#include "runner/base/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/json_fault.h"

namespace base {

namespace {

using Json = nlohmann::json;

/// Far beyond any configuration, far below what recursive printing can handle.
constexpr std::size_t kMaxDepth = 200;
constexpr std::size_t kBriefBytes = 60;

/// What nlohmann's parser would have accepted, from the end of its message.
std::string_view expected_by(std::string_view what) {
  struct Words {
    std::string_view library, ours;
  };
  constexpr Words kWords[] = {
      {"; expected string literal", "a name in double quotes"},
      {"; expected ':'", "a colon"},
      {"; expected '}'", "a comma or '}'"},
      {"; expected ']'", "a comma or ']'"},
      {"; expected end of input", "the end of the file"},
      {"missing closing quote", "a double quote that ends the text"},
      {"must be escaped", "a text that ends in its line, with \\n for a line break"},
      {"forbidden character after backslash", "one of \" \\ / b f n r t u after a backslash"},
  };
  for (const Words& words : kWords) {
    if (what.find(words.library) != std::string_view::npos) return words.ours;
  }
  return "a value";
}

/// Iterates over the text and records how far the parser has read.
class CountedText {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountedText(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountedText& operator++() {
    ++at_;
    if (reached_ != nullptr) *reached_ = at_;
    return *this;
  }
  bool operator==(const CountedText& other) const { return at_ == other.at_; }
  bool operator!=(const CountedText& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

/// Builds the value; throws at the first error.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, const std::string& name)
      : text_(text), name_(name), reached_(text.data()) {}

  const char** reached() { return &reached_; }
  Json take() { return std::move(root_); }

  bool null() override { return place(nullptr); }
  bool boolean(bool value) override { return place(value); }
  bool number_integer(number_integer_t value) override { return place(value); }
  bool number_unsigned(number_unsigned_t value) override { return place(value); }
  bool number_float(number_float_t value, const string_t&) override { return place(value); }
  bool string(string_t& value) override { return place(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // no such event in text
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Frame& top = frames_.back();
    top.key = std::move(name);
    if (top.container->contains(top.key)) fail(consumed(), path() + ": duplicate key");
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    constexpr int kNumberOverflow = 406;
    std::size_t at = position == 0 ? 0 : position - 1;
    if (error.id == kNumberOverflow) {
      const std::size_t begin = text_.find_last_not_of("+-.0123456789eE", at) + 1;
      fail(begin + 1, fmt::format("not valid JSON: {} is beyond the largest number",
                                  text_.substr(begin, at + 1 - begin)));
    }
    const std::string_view what = error.what();
    if (what.find("ill-formed UTF-8") != std::string_view::npos) {
      while (at > 0 && at < text_.size() && static_cast<signed char>(text_[at]) >= 0) --at;
    }
    fail(at + 1, "not valid JSON: " + explain_json_fault(text_, at, expected_by(what)));
  }

 private:
  struct Frame {
    Json* container;
    std::string key;
  };

  bool place(Json value) {
    put(std::move(value));
    return true;
  }

  Json* put(Json value) {
    if (frames_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Frame& top = frames_.back();
    if (top.container->is_array()) {
      top.container->push_back(std::move(value));
      return &top.container->back();
    }
    return &((*top.container)[top.key] = std::move(value));
  }

  bool open(Json container) {
    if (frames_.size() == kMaxDepth) {
      fail(consumed(), "nested deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    frames_.push_back({put(std::move(container)), ""});
    return true;
  }

  bool close() {
    frames_.pop_back();
    return true;
  }

  std::string path() const {
    std::string path;
    for (const Frame& frame : frames_) {
      path =
          json_path(path, frame.container->is_array() ? std::to_string(frame.container->size() - 1)
                                                      : frame.key);
    }
    return path;
  }

  std::size_t consumed() const { return static_cast<std::size_t>(reached_ - text_.data()); }

  /// `consumed_bytes`: the number of bytes read; the last of them is the error's position.
  [[noreturn]] void fail(std::size_t consumed_bytes, const std::string& reason) const {
    const std::size_t at = std::min(consumed_bytes == 0 ? 0 : consumed_bytes - 1, text_.size());
    throw DataError(name_ + ": " + place_in_text(text_, at) + ": " + reason);
  }

  std::string_view text_;
  const std::string& name_;
  const char* reached_;
  Json root_;
  std::vector<Frame> frames_;
};

}  // namespace

Json parse_strict_json(std::string_view text, const std::string& name, JsonComments comments) {
  Builder builder(text, name);
  Json::sax_parse(CountedText(text.data(), builder.reached()),
                  CountedText(text.data() + text.size(), nullptr), &builder,
                  Json::input_format_t::json, true, comments == JsonComments::kAllowed);
  return builder.take();
}

std::string json_path(const std::string& parent, std::string_view key) {
  std::string path = parent + "/";
  for (const char c : key) {
    if (c == '~') {
      path += "~0";
    } else if (c == '/') {
      path += "~1";
    } else {
      path += c;
    }
  }
  return path;
}

std::string brief_json(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kBriefBytes) text = text.substr(0, kBriefBytes - 4) + " ...";
  return text;
}

}  // namespace base
