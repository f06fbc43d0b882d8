// Places labels next to the markers of a chart without overlap.
#include "analysis/report/svg/labels.h"

#include <algorithm>

namespace analysis::report {
namespace {

constexpr double kLabelGap = 3.0;
constexpr int kRings = 4;       ///< of candidate places around a marker
constexpr int kCostOfRing = 2;  ///< of one ring further out, in covered points

/// Candidate places, best first: right, left, the corners, above, below.
std::vector<Box> places_around(const Box& marker, double width, double height) {
  const double x = (marker.left + marker.right) / 2.0;
  const double y = (marker.top + marker.bottom) / 2.0;
  const double right = marker.right + kLabelGap, left = marker.left - kLabelGap - width;
  const double above = marker.top - kLabelGap - height, below = marker.bottom + kLabelGap;
  const double middle = y - height / 2.0, centre = x - width / 2.0;
  std::vector<Box> places;
  for (const auto& [from, top] :
       {std::pair{right, middle}, std::pair{left, middle}, std::pair{right, above},
        std::pair{right, below}, std::pair{left, above}, std::pair{left, below},
        std::pair{centre, above}, std::pair{centre, below}}) {
    places.push_back({from, top, from + width, top + height});
  }
  return places;
}

}  // namespace

bool LabelPlaces::is_free(const Box& box) const {
  return area_.holds(box) && std::none_of(blocked_.begin(), blocked_.end(),
                                          [&](const Box& one) { return one.overlaps(box); });
}

int LabelPlaces::covered(const Box& box) const {
  return static_cast<int>(std::count_if(avoided_.begin(), avoided_.end(), [&](const Box& place) {
    return box.holds(place.left, place.top);
  }));
}

std::optional<Box> LabelPlaces::place(const Box& marker, double width, double height) {
  std::optional<Box> best;
  int least = 0;
  for (int ring = 0; ring < kRings; ++ring) {
    const double further = ring * height;
    const Box around{marker.left - further, marker.top - further, marker.right + further,
                     marker.bottom + further};
    for (const Box& box : places_around(around, width, height)) {
      if (!is_free(box)) continue;
      const int cost = covered(box) + ring * kCostOfRing;
      if (best && cost >= least) continue;
      best = box;
      least = cost;
    }
  }
  if (best) block(*best);
  return best;
}

}  // namespace analysis::report
