// Which exposed memory the MPI library may be filling for calls of the program's own: receives,
// results of collective calls, origins of gets, reads of files. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hob::validation {

/// An adapter may store what is received behind the processor's page tables, where StoreTracker
/// does not see it. So every buffer that the program gives the library to fill is compared with the
/// memory that windows expose: what overlaps counts as written, from the call until it is reported
/// after the call has completed. Not thread safe.
class Incoming {
 public:
  /// [begin, end) in this process's memory.
  struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
  };

  /// A window, by any number that no other has, exposes this memory until hide().
  void expose(std::uint64_t window, const Range& memory) {
    if (memory.begin >= memory.end) return;
    const auto after = std::upper_bound(
        exposed_.begin(), exposed_.end(), memory.begin,
        [](std::uintptr_t begin, const Exposed& e) { return begin < e.memory.begin; });
    exposed_.insert(after, {memory, window, is_being_filled(memory)});
    note_ends();
  }

  void hide(std::uint64_t window) {
    std::erase_if(exposed_, [&](const Exposed& e) { return e.window == window; });
    note_ends();
  }

  bool nothing_exposed() const { return exposed_.empty(); }

  /// A call begins that may fill the buffer. Returns a name for it, or 0 if it overlaps no exposed
  /// memory, and then nothing follows.
  std::uint64_t begin(const Range& buffer) {
    bool touches = false;
    each_overlapping(buffer, [&](Exposed& e) { touches = e.filled = true; });
    if (!touches) return 0;
    ++fills_;
    under_way_.push_back({buffer, fills_});
    return fills_;
  }

  /// The call has completed. A call that never ends keeps what it may fill written for good.
  void end(std::uint64_t fill) {
    const auto found = std::find_if(under_way_.begin(), under_way_.end(),
                                    [&](const UnderWay& u) { return u.name == fill; });
    if (found == under_way_.end()) return;
    each_overlapping(found->buffer, [](Exposed& e) { e.filled = true; });
    *found = under_way_.back();
    under_way_.pop_back();
  }

  /// Whether a call may have filled memory of the window since this was asked last, or may be
  /// filling it now.
  bool take_filled(std::uint64_t window) {
    bool filled = false;
    for (Exposed& e : exposed_) {
      if (e.window != window) continue;
      filled = filled || e.filled;
      e.filled = is_being_filled(e.memory);
    }
    return filled;
  }

  /// Calls so far whose buffers overlapped exposed memory.
  std::uint64_t fills() const { return fills_; }

 private:
  struct Exposed {
    Range memory;
    std::uint64_t window = 0;
    bool filled = false;
    std::uintptr_t last_end = 0;  ///< the largest end of this range and those before it
  };
  struct UnderWay {
    Range buffer;
    std::uint64_t name = 0;
  };

  bool is_being_filled(const Range& memory) const {
    return std::any_of(under_way_.begin(), under_way_.end(),
                       [&](const UnderWay& u) { return u.buffer.overlaps(memory); });
  }

  void note_ends() {
    std::uintptr_t last = 0;
    for (Exposed& e : exposed_) e.last_end = last = std::max(last, e.memory.end);
  }

  template <class Visit>
  void each_overlapping(const Range& buffer, Visit visit) {
    if (buffer.begin >= buffer.end) return;
    auto after =
        std::lower_bound(exposed_.begin(), exposed_.end(), buffer.end,
                         [](const Exposed& e, std::uintptr_t end) { return e.memory.begin < end; });
    while (after != exposed_.begin() && std::prev(after)->last_end > buffer.begin) {
      --after;
      if (after->memory.overlaps(buffer)) visit(*after);
    }
  }

  std::vector<Exposed> exposed_;  ///< by the begin of their memory
  std::vector<UnderWay> under_way_;
  std::uint64_t fills_ = 0;
};

}  // namespace hob::validation
