// A reader of well-formed XML 1.0 with elements, attributes, text and the five entities. Rejects
// everything else, also comments and declarations other than the first.
#pragma once

#include <cctype>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace golden {

struct XmlElement {
  std::string tag;
  std::map<std::string, std::string> attributes;  ///< as written
  std::string text;                               ///< directly in the element, as written
  std::string within;                             ///< the enclosing elements' classes, outer first

  double number(const std::string& attribute) const { return std::stod(attributes.at(attribute)); }
};

class Xml {
 public:
  explicit Xml(const std::string& text) : text_(text) {}

  /// Whether the text is a declaration and one element. REQUIRES: called once, before elements().
  bool is_well_formed() {
    const auto end = text_.find("?>");
    if (!text_.starts_with("<?xml ") || end == std::string::npos) return false;
    at_ = end + 2;
    blanks();
    if (!element("")) return false;
    blanks();
    return at_ == text_.size();
  }
  /// Elements named `tag` in the order of their start tags; only those of class `css` unless "".
  std::vector<XmlElement> elements(const std::string& tag, const std::string& css = "") const {
    std::vector<XmlElement> chosen;
    for (const XmlElement& one : elements_) {
      const auto held = one.attributes.find("class");
      const bool fits = css.empty() || (held != one.attributes.end() && held->second == css);
      if (one.tag == tag && fits) chosen.push_back(one);
    }
    return chosen;
  }

 private:
  bool take(const std::string& what) {
    if (text_.compare(at_, what.size(), what) != 0) return false;
    at_ += what.size();
    return true;
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-')) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }
  bool attributes(std::map<std::string, std::string>& held) {
    for (blanks(); at_ < text_.size() && text_[at_] != '>' && text_[at_] != '/'; blanks()) {
      const std::string key = name();
      if (key.empty() || held.contains(key) || !take("=\"")) return false;
      const std::size_t begin = at_;
      if (!characters('"')) return false;
      held[key] = text_.substr(begin, at_ - begin);
      if (!take("\"")) return false;
    }
    return true;
  }
  /// Moves to the next `end`, or returns false if there is none or a character is not allowed.
  bool characters(char end) {
    while (at_ < text_.size() && text_[at_] != end) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '<' || (byte < 0x20 && byte != '\n') || byte == 0x7f) return false;
      if (text_.compare(at_, 3, "\xef\xbf\xbe") == 0) return false;
      if (text_.compare(at_, 3, "\xef\xbf\xbf") == 0) return false;
      if (text_.compare(at_, 3, "]]>") == 0) return false;
      if (byte == '&' && !entity()) return false;
      ++at_;
    }
    return at_ < text_.size();
  }
  bool entity() {
    for (const char* one : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}) {
      if (text_.compare(at_, std::strlen(one), one) == 0) return true;
    }
    return false;
  }
  bool element(const std::string& within) {
    if (!take("<")) return false;
    const std::size_t self = elements_.size();
    elements_.push_back({name(), {}, "", within});
    const std::string tag = elements_[self].tag;
    if (tag.empty() || !attributes(elements_[self].attributes)) return false;
    if (take("/>")) return true;
    if (!take(">")) return false;
    const auto css = elements_[self].attributes.find("class");
    const std::string inner =
        css == elements_[self].attributes.end() ? within : within + " " + css->second;
    for (std::size_t begin = at_; characters('<'); begin = at_) {
      elements_[self].text += text_.substr(begin, at_ - begin);
      if (take("</" + tag + ">")) return true;
      if (!element(inner)) return false;
    }
    return false;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::vector<XmlElement> elements_;
};

}  // namespace golden
