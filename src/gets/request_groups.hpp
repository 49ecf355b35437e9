// Which gets with requests the program waits for together, as their buffers show. Pure.
#pragma once

#include <cstdint>

namespace hob::gets {

/// A program may use a buffer again only when its get is complete: a get into the buffer of the
/// first of a group begins the next group. So the waits of requests that Hob has served, which the
/// library completes without it, need not be seen. Not thread safe.
class RequestGroups {
 public:
  /// A get with a request, into `buffer`. `served`: there was nothing to wait for.
  void add(const void* buffer, bool served) {
    if (buffer == first_) {
      spared_ += all_served_ ? 1 : 0;
      all_served_ = true;
    } else if (first_ == nullptr) {
      first_ = buffer;
      all_served_ = true;
    }
    if (!served) all_served_ = false;
  }

  /// All gets so far are complete, by a flush or the end of an epoch, which counts by itself.
  void complete() { first_ = nullptr; }

  /// Groups that had nothing to wait for.
  std::uint64_t spared() const { return spared_; }

 private:
  const void* first_ = nullptr;
  bool all_served_ = false;
  std::uint64_t spared_ = 0;
};

}  // namespace hob::gets
