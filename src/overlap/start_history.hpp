// Which of a program's calls that start a communication take long by themselves (they copy into a
// socket, or compute the first step of a reduction), and whether it pays to let a helper make them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "pay/backoff.hpp"

namespace hob::overlap {

/// A call that starts a communication. What makes it valid is in here, but for the tag and for
/// where the buffers are: one that has succeeded succeeds again, as long as its handles live.
struct Start {
  int function = 0;            ///< any number; 0: none
  std::uint64_t comm = 0;      ///< bits of the handle
  int peer = -1;               ///< or root; -1: the call has none
  std::uint64_t datatype = 0;  ///< bits of the handle
  std::int64_t count = 0;      ///< elements
  /// Of the other end of a collective operation: 0 and 0 where the call has none.
  std::uint64_t other_datatype = 0;
  std::int64_t other_count = 0;
  std::uint64_t op = 0;  ///< bits of the handle of a reduction's operation
  unsigned buffers = 0;  ///< which of them are null, constants of MPI, or the same: any bits

  bool like(const Start& other) const {
    return function == other.function && comm == other.comm && peer == other.peer &&
           datatype == other.datatype && other_datatype == other.other_datatype && op == other.op &&
           buffers == other.buffers;
  }

  /// Both ends have grown or shrunk alike, so that they still fit each other.
  bool in_proportion_to(const Start& other) const {
    std::int64_t one = 0, another = 0;
    return !__builtin_mul_overflow(count, other.other_count, &one) &&
           !__builtin_mul_overflow(other.count, other_count, &another) && one == another;
  }
};

/// Remembers the last start of each kind. Constant time, no memory. Used by one thread at a time.
class StartHistory {
 public:
  /// A start takes long from `long_ns` on. `always`: all do, and none is left to the program.
  explicit constexpr StartHistory(std::uint64_t long_ns, bool always = false)
      : long_ns_(always ? 0 : long_ns), always_(always) {}

  /// Whether the helper is to make this one: one like it has succeeded, and would take long with so
  /// many elements. After one without a gain, starts like it are the program's own: one, then
  /// three, and so on, up to 7 where the program came, up to 63 where no core is free.
  bool worth_postponing(const Start& start) {
    Entry& entry = at(start);
    if (start.count <= 0 || !entry.start.like(start) || !start.in_proportion_to(entry.start) ||
        expected(entry, start.count) < long_ns_)
      return false;
    if (always_ || entry.skipped == 0) return true;
    --entry.skipped;
    return false;
  }

  /// This one has succeeded, and took so many ns of whoever made it. Returns whether it took long.
  /// One without elements shows nothing: its buffers may be anything.
  bool took(const Start& start, std::uint64_t ns) {
    if (start.count <= 0) return false;
    Entry& entry = at(start);
    const bool known = entry.start.like(start);
    if (!known && ns < long_ns_) return false;
    if (!known) entry = {};
    entry.start = start;
    datatypes_ |= bits_of(start);
    entry.used = ++uses_;
    entry.ns = ns;
    return ns >= long_ns_;
  }

  /// What became of one that was postponed.
  enum class End {
    by_thread,  ///< the helper made it
    came,       ///< the program came, and made it itself
    in_turns    ///< the helper made it, but had to take the core from the program
  };
  void ended(const Start& start, End end) {
    Entry& entry = at(start);
    if (!entry.start.like(start)) return;
    const unsigned most = end == End::came ? 7 : 63;
    if (end == End::by_thread)
      entry.in_vain.reset();
    else if (entry.in_vain.now() < most)
      entry.in_vain.lengthen();
    entry.skipped = entry.in_vain.now();
  }

  /// This communicator, or this datatype, ends: its handle may be given to another one.
  void forget_comm(std::uint64_t comm) {
    forget([comm](const Start& start) { return start.comm == comm; });
  }
  void forget_datatype(std::uint64_t datatype) {
    if ((datatypes_ & bit_of(datatype)) == 0) return;
    forget([datatype](const Start& start) {
      return start.datatype == datatype || start.other_datatype == datatype;
    });
  }
  /// All handles end.
  void forget_all() {
    forget([](const Start&) { return true; });
  }

 private:
  static constexpr int kBits = 4;
  /// Handles may be addresses, so any two kinds of starts may meet in one set.
  static constexpr std::size_t kWays = 4;

  struct Entry {
    Start start;
    std::uint64_t ns = 0;
    pay::Backoff<unsigned> in_vain{{.first = 0, .longest = 63, .plus = 1}};
    unsigned skipped = 0;    // starts that are the program's own
    std::uint64_t used = 0;  // counts them all
  };

  /// In proportion to the elements.
  static std::uint64_t expected(const Entry& entry, std::int64_t count) {
    if (entry.start.count == count) return entry.ns;
    if (entry.start.count <= 0 || count <= 0) return 0;
    const double ns = static_cast<double>(entry.ns) * static_cast<double>(count) /
                      static_cast<double>(entry.start.count);
    return static_cast<std::uint64_t>(std::min(ns, 1e18));
  }

  static std::uint64_t bit_of(std::uint64_t datatype) {
    return std::uint64_t{1} << (datatype * 0x9e3779b97f4a7c15u >> 58U);
  }
  static std::uint64_t bits_of(const Start& start) {
    return bit_of(start.datatype) | bit_of(start.other_datatype);
  }

  template <class Which>
  void forget(Which which) {
    datatypes_ = 0;
    for (auto& set : entries_)
      for (Entry& each : set) {
        if (each.start.function == 0) continue;
        if (which(each.start))
          each = {};
        else
          datatypes_ |= bits_of(each.start);
      }
  }

  /// Its entry; or, where it has none, the one that was used least recently of those that it may
  /// have.
  Entry& at(const Start& start) {
    const std::uint64_t mixed = (start.comm + 31 * static_cast<std::uint64_t>(start.peer + 1) +
                                 1'009 * static_cast<std::uint64_t>(start.function) +
                                 65'537 * start.datatype + 4'099 * start.op + start.buffers) *
                                0x9e3779b97f4a7c15u;
    auto& set = entries_[static_cast<std::size_t>(mixed >> (64 - kBits))];
    for (Entry& each : set)
      if (each.start.like(start)) return each;
    return *std::min_element(set.begin(), set.end(),
                             [](const Entry& a, const Entry& b) { return a.used < b.used; });
  }

  std::array<std::array<Entry, kWays>, std::size_t{1} << kBits> entries_{};
  /// A bit for each datatype that may be in an entry: some programs free thousands of others.
  std::uint64_t datatypes_ = 0;
  std::uint64_t uses_ = 0;
  std::uint64_t long_ns_;
  bool always_;
};

}  // namespace hob::overlap
