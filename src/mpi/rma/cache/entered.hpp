// The lock of a window's cached gets.
#pragma once

#include "gets/hot_lookup.hpp"
#include "mpi/pmpi/spin.hpp"

namespace hob::mpi {

/// Holds it for anything but a hit, after which a get is looked at in full again.
class Entered {
 public:
  Entered(ExclusiveSpin& lock, gets::HotLookup& hot) : lock_(lock) {
    lock_.lock();
    hot.close();
  }
  ~Entered() { lock_.unlock(); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  ExclusiveSpin& lock_;
};

}  // namespace hob::mpi
