#pragma once

// A record of recent trips at several granularities: which of them a cache of blocks of each size,
// as large as the real one, would have spared. It holds block numbers and no data, and costs the
// network nothing. Where more blocks would be held than can be recorded, one in a few of them
// stands for the others, chosen by its number: the record of a sample behaves as that of all would.

#include <array>
#include <cstdint>
#include <memory>

namespace hob::cache {

class MissShadow {
 public:
  /// Sizes that are tried, by powers of two. The first one stands for no blocks at all: gets that
  /// begin at the same displacement are one.
  static constexpr std::array<std::uint8_t, 11> kShifts = {0,  8,  10, 11, 12, 13,
                                                           14, 15, 16, 18, 20};
  static constexpr std::size_t kSizes = kShifts.size();

  static constexpr std::uint64_t kFew = 128;    ///< blocks of each size, for a window of few gets
  static constexpr std::uint64_t kMost = 1024;  ///< blocks of each size

  /// The record of blocks of size i stands for as many as `storage_bytes` hold, and that of gets
  /// for as many gets of `get_bytes`; it notes `kMostBlocks` of each at most. May forget
  /// everything. False: there is no memory.
  bool set_capacity(std::uint64_t storage_bytes, std::uint64_t get_bytes,
                    std::uint64_t most_blocks) noexcept;

  /// A block that was asked for.
  struct Sight {
    std::uint32_t stands_for = 0;  ///< so many blocks; 0: it does not belong to the sample
    bool here = false;
    std::uint32_t missing() const { return here ? 0 : stands_for; }
  };
  /// Block `number` of size i is asked for; if it is not here, it is fetched now.
  Sight note(std::size_t i, std::uint32_t target, std::uint64_t number) noexcept;

  /// Forgets everything, or all blocks with bytes of [begin, begin + bytes).
  void forget() noexcept;
  void forget(std::uint32_t target, std::uint64_t begin, std::uint64_t bytes) noexcept;

  std::uint64_t memory_bytes() const {
    return slots_ ? total_ * sizeof(std::uint64_t) + places_total_ * sizeof(std::uint16_t) : 0;
  }

 private:
  /// Blocks of one size: a ring, and a hash table of places in it. Any block may be at any place:
  /// in sets, a working set that just fits would seem not to, since some sets have more of it than
  /// others. Who goes is the first, from the hand on, that was not asked for since the hand came
  /// by.
  struct Table {
    std::uint32_t first = 0;        ///< of its slots
    std::uint32_t capacity = 0;     ///< slots
    std::uint32_t first_place = 0;  ///< of its part of places_
    std::uint32_t places = 0;       ///< a power of two, or 0
    std::uint32_t used = 0;
    std::uint32_t hand = 0;
    std::uint32_t sample = 1;       ///< one block in so many is recorded, a power of two
    std::uint32_t most_sample = 1;  ///< with it, the slots stand for as many as the cache holds
  };

  std::uint32_t place_of(const Table& table, std::uint64_t hash) const;
  void enter(Table& table, std::uint64_t hash, std::uint32_t slot);
  void erase(Table& table, std::uint32_t place);
  void erase(Table& table, std::uint32_t target, std::uint64_t number);
  void clear(Table& table);
  void record_fewer(Table& table);

  std::unique_ptr<std::uint64_t[]> slots_;   ///< 0: free; else a hash, and whether it was asked for
  std::unique_ptr<std::uint16_t[]> places_;  ///< 0: free; else the number of a slot, from 1 on
  std::array<Table, kSizes> tables_{};
  std::uint32_t refused_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t places_total_ = 0;
  std::uint64_t storage_bytes_ = 0;
  std::uint64_t get_bytes_ = 0;
  std::uint64_t most_blocks_ = 0;
};

}  // namespace hob::cache
