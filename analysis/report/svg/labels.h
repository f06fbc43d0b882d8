// Names beside the markers of a chart.
// Hides which place is free.
#pragma once

#include <optional>
#include <vector>

namespace analysis::report {

/// In pixels, y downwards.
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

/// Places labels one after the other.
class LabelPlaces {
 public:
  explicit LabelPlaces(const Box& area) : area_(area) {}

  /// Something that no label may cover.
  void block(const Box& box) { blocked_.push_back(box); }
  /// A place of a line, which labels had better not cover.
  void avoid(double x, double y) { avoided_.push_back({x, y, x, y}); }
  /// Where a label of that size fits beside a marker, or near it, which is as wide and high as
  /// `marker`; the place is blocked from then on. Nothing where there is no room.
  std::optional<Box> place(const Box& marker, double width, double height);

 private:
  bool is_free(const Box& box) const;
  int covered(const Box& box) const;
  Box area_;
  std::vector<Box> blocked_, avoided_;
};

}  // namespace analysis::report
