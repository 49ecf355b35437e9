// Which gets with requests the program waits for together, as their buffers show. Pure.
#pragma once

#include <cstdint>
#include <utility>

namespace hob::gets {

/// A program may use a buffer again only when its get is complete: a get into the buffer of the
/// first of a group begins the next group. So the waits of requests that Hob has served, which the
/// library completes without it, need not be seen. Not thread safe.
class RequestGroups {
 public:
  /// A get with a request, into `buffer`. `served`: there was nothing to wait for.
  void add(const void* buffer, bool served) {
    waited_since_ = false;
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

  /// The program has waited for one. False: it did so before, and none was added since.
  bool waited() { return !std::exchange(waited_since_, true); }

  /// Groups that had nothing to wait for.
  std::uint64_t spared() const { return spared_; }

 private:
  const void* first_ = nullptr;
  bool all_served_ = false;
  bool waited_since_ = false;
  std::uint64_t spared_ = 0;
};

}  // namespace hob::gets
