// Gets of one window that go out in batches (mpi/rma/batch). Pure.
#pragma once

namespace hob::gets {

struct BatchedGets {
  bool gathered = false;  ///< they do, as far as is known
  /// What one takes then, its share of the completion included; 0: nobody knows.
  double ticks_each = 0;
};

}  // namespace hob::gets
