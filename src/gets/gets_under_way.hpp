// Gets under way whose bytes the cache wants, or that other gets wait for. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cache/cache.hpp"
#include "gets/ahead_pool.hpp"
#include "layout/layout.hpp"

namespace hob::gets {

using layout::Layout;

struct PendingGet {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// fetch: missing. requested: likewise, with a request. tail: the end of bytes that were partly
  /// there. refetch: a hit, fetched again to see whether it changed. verify: a hit, fetched as
  /// well. ahead: blocks; the program's get waits for them. recall: places of a record, unasked.
  enum class Purpose : std::uint8_t { fetch, requested, tail, refetch, verify, ahead, recall };

  cache::EntryId entry{};
  void* buffer = nullptr;
  const Layout* layout = nullptr;  ///< of one element at `buffer`
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;       ///< in the entry
  std::uint64_t issue_ticks = 0;  ///< spent in the MPI call that issued it; 0: not timed
  std::uint64_t when = 0;
  std::uint32_t waiters = kNone;
  int rank = 0;
  std::uint32_t birth = 0;  ///< numbers gets in the order of issue
  std::uint32_t place = 0;  ///< in its target's list
  Purpose purpose = Purpose::fetch;
  bool speculative = false;        ///< purpose refetch: no get had asked for the bytes before
  std::uint64_t displacement = 0;  ///< purposes verify and ahead, or where `issued` is set
  /// Purpose verify: fetched bytes, then served ones. Purpose refetch without an entry: those
  /// that the node's log had.
  std::unique_ptr<std::byte[]> served{};
  std::uint64_t issued = 0;  ///< what the node's clock said before; 0: not for the node's log
  std::uint64_t epoch = 0;   ///< InvalidationEpochs::now() when it was issued
  /// Purposes requested, ahead and recall: the bits of the request that Hob itself asks whether
  /// they have arrived; 0: the program has it, or there is none.
  std::uint64_t request = 0;
  std::uint64_t asked = 0;  ///< when the program first asked whether they have; 0: not yet
  std::unique_ptr<AheadFetch> ahead{};  ///< purposes ahead and recall

  /// What the program asked for, no more and no less.
  bool misses() const { return purpose == Purpose::fetch || purpose == Purpose::requested; }

  /// The bytes lie in one block at `buffer` + layout->low.
  bool whole() const {
    return layout->dense || (layout->blocks.size() == 1 && bytes == layout->size);
  }
  const std::byte* first_byte() const { return static_cast<std::byte*>(buffer) + layout->low; }
};

/// A pool of gets under way, each in its target's list, and of the hits that wait for them. Takes
/// no memory once it was as large as it gets. Not thread safe.
class GetsUnderWay {
 public:
  using List = std::vector<std::uint32_t>;

  /// Takes up a get to `rank`, whose list this is. Returns its index. Throws std::bad_alloc.
  std::uint32_t add(List& list, int rank, PendingGet get);

  PendingGet& operator[](std::uint32_t index) { return gets_[index]; }
  const PendingGet& operator[](std::uint32_t index) const { return gets_[index]; }
  std::uint32_t index_of(const PendingGet& get) const {
    return static_cast<std::uint32_t>(&get - gets_.data());
  }
  bool has(std::uint64_t index) const { return index < gets_.size(); }
  /// Whether the one of this index is a get of blocks that brings these bytes of a target.
  bool brings(std::uint64_t index, int rank, std::uint64_t displacement,
              std::uint64_t bytes) const {
    if (!has(index)) return false;
    const PendingGet& get = gets_[index];
    return get.purpose == PendingGet::Purpose::ahead && get.rank == rank &&
           displacement >= get.displacement && displacement + bytes <= get.displacement + get.bytes;
  }

  /// More of either would take memory for little: a get is then not kept, and no hit waits for one
  /// that is under way. Some ten megabytes.
  static constexpr std::size_t kMost = std::size_t{1} << 16;
  bool full() const { return gets_.size() - free_gets_.size() >= kMost; }
  bool waiters_full() const { return waiters_.size() - free_waiters_.size() >= kMost; }

  /// Numbers gets in the order of issue: that of the last one.
  std::uint32_t last_birth() const { return births_; }

  /// A hit on bytes that `get` will bring: served when they arrive. Throws std::bad_alloc.
  void wait_for(PendingGet& get, void* buffer, const Layout* layout, std::uint64_t bytes,
                std::uint64_t offset);

  /// So many more can wait without a std::bad_alloc, which this may throw.
  void room_for_waiters(std::size_t more) {
    if (free_waiters_.size() >= more) return;
    if (waiters_.capacity() - waiters_.size() < more)
      waiters_.reserve(std::max(waiters_.size() + more, 2 * waiters_.size()));
    free_waiters_.reserve(waiters_.capacity());
  }

  /// A get that will bring nothing.
  void forget_waiters(PendingGet& get);

  /// Gives the waiters of a get its bytes, which are packed here.
  void serve_waiters(PendingGet& get, const std::byte* packed);
  /// The same from the program's buffer, a piece at a time: this cannot fail for want of memory.
  void serve_waiters(PendingGet& get);

  /// Calls finish(PendingGet&) for all gets of a list up to the one numbered `last`, and forgets
  /// them.
  template <class Finish>
  void finish_until(List& list, std::uint32_t last, Finish finish) {
    std::size_t kept = 0;
    for (const std::uint32_t index : list) {
      if (static_cast<std::int32_t>(gets_[index].birth - last) > 0) {
        gets_[index].place = static_cast<std::uint32_t>(kept);
        list[kept++] = index;
        continue;
      }
      finish(gets_[index]);
      gets_[index] = {};
      free_gets_.push_back(index);
    }
    list.resize(kept);
  }

  /// Forgets one.
  void remove(List& list, std::uint32_t index);

  std::uint64_t memory_bytes() const {
    return gets_.capacity() * sizeof(PendingGet) + waiters_.capacity() * sizeof(Waiter);
  }

 private:
  /// A hit on a pending entry: gets its bytes when that get completes.
  struct Waiter {
    void* buffer;
    const Layout* layout;
    std::uint64_t bytes;
    std::uint64_t offset;
    std::uint32_t next;
  };

  std::vector<PendingGet> gets_;
  std::vector<std::uint32_t> free_gets_;
  std::vector<Waiter> waiters_;
  std::vector<std::uint32_t> free_waiters_;
  std::uint32_t births_ = 0;
};

}  // namespace hob::gets
