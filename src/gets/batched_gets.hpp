// Gets of one window that go out in batches (mpi/rma/batch). Pure.
#pragma once

#include "base/published.hpp"

namespace hob::gets {

/// Written under the batches' lock, read under that of the cache.
struct BatchedGets {
  Published<bool> batched;  ///< they do, as far as is known
  /// What one takes then, its share of the completion included; 0: not known.
  Published<double> ticks_each;
  /// What one takes natively, likewise.
  Published<double> native_ticks_each;
  /// Too much of them is held: the next caller who holds no lock has them completed.
  Published<bool> full;
};

}  // namespace hob::gets
