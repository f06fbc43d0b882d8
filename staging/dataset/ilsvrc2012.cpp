// ImageNet's own numbers of the classes of its challenge of 2012.
#include "staging/dataset/ilsvrc2012.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

namespace dataset {

std::vector<std::string> ilsvrc2012_wordnet_ids() {
  const auto file = nlohmann::json::parse(embedded_imagenet().front().text);
  return file.at("wordnet_ids").get<std::vector<std::string>>();
}

bool is_ilsvrc2012_ground_truth(const std::vector<std::string>& lines) {
  constexpr std::size_t kImages = 50'000;
  constexpr std::array<std::string_view, 4> kFirst = {"490", "361", "171", "822"};
  return lines.size() == kImages && std::equal(kFirst.begin(), kFirst.end(), lines.begin());
}

bool are_wordnet_ids(const std::vector<std::string>& names) {
  constexpr std::size_t kDigits = 8;
  return std::ranges::all_of(names, [](const std::string& name) {
    return name.size() == 1 + kDigits && name.front() == 'n' &&
           std::all_of(name.begin() + 1, name.end(),
                       [](unsigned char c) { return std::isdigit(c) != 0; });
  });
}

}  // namespace dataset
