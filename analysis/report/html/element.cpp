// Pieces of HTML with every text escaped.
#include "analysis/report/html/element.h"

#include <fmt/format.h>

#include "runner/base/printable.h"

namespace analysis::report {

std::string html_text(std::string_view text) {
  std::string out;
  for (const char character : base::printable(text)) {
    switch (character) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += character;
    }
  }
  return out;
}

std::string json_in_script(const std::string& json) {
  std::string out;
  for (const char character : json) {
    if (character == '<' || character == '>' || character == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(character));
    } else {
      out += character;
    }
  }
  return out;
}

std::string html_name(std::string_view text) {
  std::string out;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (base::kNameJoints.find(text[i]) == std::string_view::npos) continue;
    out += html_text(text.substr(begin, i + 1 - begin)) + "<wbr>";
    begin = i + 1;
  }
  return out + html_text(text.substr(begin));
}

HtmlTable::HtmlTable(std::string_view caption) : caption_(html_text(caption)) {}

void HtmlTable::column(std::string_view heading, Kind kind, std::string_view definition) {
  kinds_.push_back(kind);
  const char* const css = kind == Kind::kNumber     ? " class=\"n\""
                          : kind == Kind::kLongText ? " class=\"long\""
                                                    : "";
  std::string shown = html_text(heading);
  if (!definition.empty()) {
    shown = fmt::format("<abbr title=\"{}\">{}</abbr>", html_text(definition), shown);
  }
  head_ += fmt::format("<th scope=\"col\"{}>{}</th>", css, shown);
}

void HtmlTable::row() {
  if (open_) body_ += "</tr>\n";
  body_ += "<tr>";
  open_ = true;
  next_ = 0;
}

void HtmlTable::cell(std::string_view text) { cell(text, next_ == 0 ? "name" : ""); }

void HtmlTable::cell(std::string_view text, std::string_view css_class) {
  std::string css(css_class);
  if (next_ < kinds_.size() && kinds_[next_] == Kind::kNumber) css = "n";
  const char* const tag = next_ == 0 ? "th scope=\"row\"" : "td";
  body_ += fmt::format("<{}{}>{}</{}>", tag, css.empty() ? "" : " class=\"" + css + "\"",
                       next_ == 0 ? html_name(text) : html_text(text), next_ == 0 ? "th" : "td");
  ++next_;
}

std::string HtmlTable::str() const {
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>"
      "<caption>{}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}{}</tbody></table></div>\n",
      caption_, caption_, head_, body_, open_ ? "</tr>\n" : "");
}

}  // namespace analysis::report
