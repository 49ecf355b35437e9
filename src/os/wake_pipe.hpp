// Wakes a thread that waits for descriptors.
#pragma once

#include <mutex>

#include "os/own_descriptor.hpp"

namespace hob::os {

/// A pipe. Thread safe.
class WakePipe {
 public:
  /// The descriptor that becomes readable at wake(); a new one if the program has closed the last
  /// one. -1 where the system gives none.
  int descriptor();

  /// Does nothing if no thread has asked for the descriptor, or if the program has closed it.
  void wake();

  /// The descriptor is no longer readable.
  void drain();

 private:
  std::mutex lock_;
  OwnPipe pipe_;
};

}  // namespace hob::os
