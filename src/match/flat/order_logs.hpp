#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "match/flat/slots.hpp"

namespace hob::match::flat {

/// The order in which entries were queued, for each communicator: a log of (sequence, slot). An
/// entry that was removed stays in the log; it is recognised because its slot no longer has its
/// sequence, and is left out when the log runs out of room.
class OrderLogs {
 public:
  struct Record {
    std::uint32_t sequence;
    std::uint32_t slot;
  };

  explicit OrderLogs(Memory& memory) : memory_(&memory) {}

  /// Makes room for one more record of this communicator. Throws std::bad_alloc, changing nothing
  /// that can be seen.
  void reserve(const Slots& slots, std::uint32_t context) {
    if (context == last_context_ && logs_[last_].epoch == epoch_ &&
        logs_[last_].end < logs_[last_].records.capacity()) [[likely]] {
      return;
    }
    reserve_slowly(slots, context);
  }

  /// Appends to the log of the communicator that reserve() was last called for.
  void append(Record record) {
    Log& log = logs_[last_];
    log.records[log.end++] = record;
  }

  /// The oldest slot of a communicator that is still in use, or none. Amortised O(1).
  std::uint32_t oldest(const Slots& slots, std::uint32_t context) const;

  /// Calls use(slot) for all slots in use of a communicator, in order.
  template <class Use>
  void each(const Slots& slots, std::uint32_t context, Use&& use) const {
    std::uint32_t at = find(context);
    if (at != none && logs_[at].epoch == epoch_) each_of(slots, logs_[at], use);
  }

  /// The same for all communicators that have records, one after the other.
  template <class Use>
  void each(const Slots& slots, Use&& use) const {
    for (std::uint32_t at : touched_) each_of(slots, logs_[at], use);
  }

  /// Forgets all records, in O(1) but for what it costs to have made them.
  void clear() {
    ++epoch_;
    touched_.clear();
  }

  /// As clear(), and gives the memory back.
  void drop();

 private:
  struct Log {
    Array<Record> records;
    std::uint64_t epoch;          // records of another epoch are forgotten
    mutable std::uint32_t begin;  // nothing in use before this
    std::uint32_t end;
    std::uint32_t context;
  };

  template <class Use>
  static void each_of(const Slots& slots, const Log& log, Use&& use) {
    for (std::uint32_t i = log.begin; i < log.end; ++i) {
      Record record = log.records[i];
      if (slots[record.slot].sequence == record.sequence) use(record.slot);
    }
  }

  std::uint32_t find(std::uint32_t context) const;
  std::uint32_t make(std::uint32_t context);
  void reserve_slowly(const Slots& slots, std::uint32_t context);

  Memory* memory_;
  std::uint64_t epoch_ = 1;
  std::uint32_t last_ = 0;  // the log used last, and its communicator
  std::uint64_t last_context_ = ~std::uint64_t{0};
  std::vector<Log> logs_;
  std::vector<std::uint32_t> cells_;    // from communicators to logs: open addressing
  std::vector<std::uint32_t> touched_;  // logs of this epoch
};

}  // namespace hob::match::flat
