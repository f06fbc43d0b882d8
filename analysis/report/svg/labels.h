// Places labels next to the markers of a chart without overlap.
#pragma once

#include <optional>
#include <vector>

namespace analysis::report {

/// In pixels, y points down.
struct Box {
  double left = 0.0, top = 0.0, right = 0.0, bottom = 0.0;

  bool overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  bool holds(const Box& other) const {
    return left <= other.left && other.right <= right && top <= other.top && other.bottom <= bottom;
  }
  bool holds(double x, double y) const {
    return left <= x && x <= right && top <= y && y <= bottom;
  }
};

/// Each label takes the best place that the previous ones leave.
class LabelPlaces {
 public:
  explicit LabelPlaces(const Box& area) : area_(area) {}

  /// Labels never cover `box`.
  void block(const Box& box) { blocked_.push_back(box); }
  /// Labels avoid covering this point, such as one on a line.
  void avoid(double x, double y) { avoided_.push_back({x, y, x, y}); }
  /// A free place for a label of that size next to `marker` or near it; blocks the place. Empty if
  /// there is no room.
  std::optional<Box> place(const Box& marker, double width, double height);

 private:
  bool is_free(const Box& box) const;
  int covered(const Box& box) const;
  Box area_;
  std::vector<Box> blocked_, avoided_;
};

}  // namespace analysis::report
