// What calls on the own rank need of a window's cache, which holds nothing of it.
#pragma once

#include <atomic>

#include "validation/own_marks.hpp"

namespace hob::mpi {

/// With several threads, wrappers use it without the cache's lock (direct.hpp).
struct OwnRank {
  validation::OwnMarks marks;
  /// A flush of the own rank says nothing of other targets' copies. False in mode strict, where
  /// they end with it.
  std::atomic<bool> flushes_alone{false};
};

}  // namespace hob::mpi
