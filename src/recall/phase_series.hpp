// How many places the phases of a window read, for the report's picture. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace hob::recall {

/// Places of some phases in a row.
struct PhasePoint {
  std::uint64_t phase = 0;     ///< the number of the first one
  std::uint64_t count = 0;     ///< of the phases
  std::uint64_t recalled = 0;  ///< places
  std::uint64_t used = 0;      ///< of these, read
  std::uint64_t missed = 0;    ///< places that the program's own gets fetched

  void add(const PhasePoint& next) {
    count += next.count;
    recalled += next.recalled;
    used += next.used;
    missed += next.missed;
  }
};

/// A series of bounded length: when it is full, neighbours become one. Not thread safe; nothing
/// throws.
class PhaseSeries {
 public:
  static constexpr std::size_t kMostPoints = 256;

  void add(const PhasePoint& phase) noexcept {
    if (!points_.empty() && points_.back().count < each_) return points_.back().add(phase);
    if (points_.size() == kMostPoints) halve();
    try {
      points_.push_back(phase);
    } catch (const std::bad_alloc&) {
      // The picture has one point fewer.
    }
  }

  const std::vector<PhasePoint>& points() const { return points_; }
  std::uint64_t memory_bytes() const { return points_.capacity() * sizeof(PhasePoint); }

 private:
  void halve() noexcept {
    for (std::size_t i = 0; i < kMostPoints / 2; ++i) {
      points_[i] = points_[2 * i];
      points_[i].add(points_[2 * i + 1]);
    }
    points_.resize(kMostPoints / 2);
    each_ *= 2;
  }

  std::vector<PhasePoint> points_;
  std::uint64_t each_ = 1;  ///< phases of a point
};

}  // namespace hob::recall
