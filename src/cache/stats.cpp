#include "cache/stats.hpp"

namespace hob::cache {

void OccupancySeries::add(const Occupancy& point) noexcept {
  try {
    if (points_.size() == kMaxPoints) {
      for (std::size_t i = 0; i < kMaxPoints / 2; ++i) points_[i] = points_[2 * i];
      points_.resize(kMaxPoints / 2);
      step_ *= 2;
    }
    points_.push_back(point);
  } catch (...) {
    // Out of memory: the picture has fewer points.
  }
  next_ = point.get + step_;
}

const char* reason_text(Reason reason) {
  switch (reason) {
    case Reason::conflicts:
      return "too many conflicting accesses";
    case Reason::sparse:
      return "index too sparse to find victims";
    case Reason::capacity:
      return "too many capacity and failing accesses";
    case Reason::stable_and_free:
      return "stable hits with free space";
    case Reason::requested:
      return "requested";
    case Reason::out_of_memory:
      return "out of memory";
  }
  return "";
}

}  // namespace hob::cache
