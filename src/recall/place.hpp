// A place that the program read: which bytes of which target. Pure.
#pragma once

#include <cstdint>

namespace hob::recall {

/// 16 bytes: a window's records may hold a million of them.
class Place {
 public:
  /// A place has fewer bytes than this, and lies below this displacement.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 26;
  static constexpr std::uint64_t kMostDisplacement = std::uint64_t{1} << 48;

  enum Mark : std::uint32_t {
    kAbsent = 1u << 26,    ///< recalled the last time, and not read
    kFresh = 1u << 27,     ///< read in the last phase for the first time
    kRecalled = 1u << 28,  ///< recalled in this phase, or already in the cache
    kAsked = 1u << 29      ///< the program read it in this phase
  };

  static constexpr bool fits(std::uint64_t displacement, std::uint64_t bytes) {
    return bytes != 0 && bytes < kMostBytes && displacement < kMostDisplacement - kMostBytes;
  }

  Place() = default;
  /// `order`: its number among the gets of its phase.
  Place(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes, std::uint64_t order)
      : where_(displacement << 16 | (order < 0xffff ? order : 0xffff)),
        target_(target),
        what_(static_cast<std::uint32_t>(bytes)) {}

  std::uint32_t target() const { return target_; }
  std::uint64_t displacement() const { return where_ >> 16; }
  std::uint64_t bytes() const { return what_ & (kMostBytes - 1); }
  std::uint64_t end() const { return displacement() + bytes(); }
  std::uint64_t order() const { return where_ & 0xffff; }

  bool is(Mark mark) const { return (what_ & mark) != 0; }
  void set(Mark mark) { what_ |= mark; }
  void clear(std::uint32_t marks) { what_ &= ~marks; }

  bool contains(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes) const {
    return target == target_ && this->displacement() <= displacement &&
           displacement + bytes <= end();
  }
  /// As records are sorted; of those that begin alike, the longest comes first.
  bool before(const Place& other) const {
    if (target_ != other.target_) return target_ < other.target_;
    if (displacement() != other.displacement()) return displacement() < other.displacement();
    return bytes() > other.bytes();
  }

 private:
  std::uint64_t where_ = 0;
  std::uint32_t target_ = 0;
  std::uint32_t what_ = 0;
};
static_assert(sizeof(Place) == 16);

}  // namespace hob::recall
