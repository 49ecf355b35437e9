// Wakes a thread that waits for descriptors.
#pragma once

#include <mutex>

#include "os/own_descriptor.hpp"

namespace hob::os {

/// A pipe. Thread safe.
class Bell {
 public:
  /// The descriptor that becomes readable when it is rung; a new one if the program has closed the
  /// last one. -1 where the system gives none.
  int listen();

  /// Does nothing if no process listens, or if the program has closed what is listened to.
  void ring();

  /// Not rung any more.
  void silence();

 private:
  std::mutex lock_;
  OwnPipe pipe_;
};

}  // namespace hob::os
