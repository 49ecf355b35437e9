#include "cache/miss_shadow.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "cache/hash.hpp"

namespace hob::cache {
namespace {

constexpr std::uint64_t kEpochBits = 24;
/// Ranges of more blocks than this are forgotten by forgetting everything.
constexpr std::uint64_t kMostForgotten = 64;

}  // namespace

bool MissShadow::set_capacity(std::uint64_t storage_bytes, std::uint64_t get_bytes,
                              std::uint64_t most_blocks) noexcept {
  const bool same_gets = get_bytes <= 2 * get_bytes_ && get_bytes_ <= 2 * get_bytes;
  if (slots_ && storage_bytes == storage_bytes_ && same_gets && most_blocks == most_blocks_)
    return true;
  std::array<Table, kSizes> tables{};
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < kSizes; ++i) {
    std::uint64_t blocks = i == 0 ? storage_bytes / std::max<std::uint64_t>(get_bytes, 16)
                                  : storage_bytes >> kShifts[i];
    if (blocks == 0) continue;
    tables[i].most_sample =
        static_cast<std::uint32_t>(std::bit_ceil((blocks + most_blocks - 1) / most_blocks));
    blocks /= tables[i].most_sample;
    tables[i].first = static_cast<std::uint32_t>(total);
    tables[i].sets = static_cast<std::uint32_t>(std::max<std::uint64_t>(blocks / kLeastWays, 1));
    tables[i].ways = static_cast<std::uint32_t>(blocks / tables[i].sets);
    total += std::uint64_t{tables[i].sets} * tables[i].ways;
  }
  storage_bytes_ = storage_bytes;
  get_bytes_ = get_bytes;
  most_blocks_ = most_blocks;
  // Kept where the layout is the same.
  const bool same =
      std::equal(tables.begin(), tables.end(), tables_.begin(), [](const Table& a, const Table& b) {
        return a.sets == b.sets && a.ways == b.ways && a.most_sample == b.most_sample;
      });
  if (slots_ && same) return true;
  slots_.reset(new (std::nothrow) std::uint64_t[std::max<std::uint64_t>(total, 1)]());
  tables_ = slots_ ? tables : std::array<Table, kSizes>{};
  total_ = slots_ ? total : 0;
  epoch_ = 1;
  return slots_ != nullptr;
}

std::uint64_t* MissShadow::set_of(const Table& table, std::uint64_t hash) const {
  return slots_.get() + table.first + to_range(hash, table.sets) * table.ways;
}

/// Keeps half of what is recorded, which stands for all of it.
void MissShadow::record_fewer(Table& table) {
  table.sample *= 2;
  std::uint64_t* const slots = slots_.get() + table.first;
  for (std::uint32_t slot = 0; slot < table.sets * table.ways; ++slot)
    if ((slots[slot] >> kEpochBits & (table.sample - 1)) != 0) slots[slot] = 0;
}

MissShadow::Sight MissShadow::note(std::size_t i, std::uint32_t target,
                                   std::uint64_t number) noexcept {
  Table& table = tables_[i];
  if (table.sets == 0) return {.stands_for = 1};
  // The set is chosen by the highest bits; the tag, and whether the block is of the sample, by the
  // others.
  const std::uint64_t hash = mix(number, target);
  if ((hash & (table.sample - 1)) != 0) return {};
  const std::uint64_t tag = (hash << kEpochBits) | epoch_;
  std::uint64_t* const set = set_of(table, hash);
  std::uint32_t way = 0;
  while (way < table.ways && set[way] != tag) ++way;
  const bool here = way < table.ways;
  const std::uint32_t stands_for = table.sample;
  if (!here) {
    way = table.ways - 1;
    const bool full = (set[way] ^ epoch_) << (64 - kEpochBits) == 0;
    if (full && table.sample < table.most_sample) record_fewer(table);
    // In an empty place, else the last one; to the front one time in a few. The cache admits an
    // exact entry only where it is worth more than what must go, and a block always.
    for (std::uint32_t k = 0; k < table.ways; ++k)
      if ((set[k] ^ epoch_) << (64 - kEpochBits) != 0) way = std::min(way, k);
    if (full && ++fetched_ % (i == 0 ? 16 : 4) != 0) {
      set[way] = tag;
      return {.stands_for = stands_for};
    }
  }
  for (; way > 0; --way) set[way] = set[way - 1];
  set[0] = tag;
  return {.stands_for = stands_for, .here = here};
}

void MissShadow::forget() noexcept {
  if (++epoch_ >> kEpochBits == 0) return;
  std::fill_n(slots_.get(), total_, 0);
  epoch_ = 1;
}

void MissShadow::forget(std::uint32_t target, std::uint64_t begin, std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  for (std::size_t i = 1; i < kSizes; ++i) {
    const Table& table = tables_[i];
    if (table.sets == 0) continue;
    const std::uint64_t first = begin >> kShifts[i];
    const std::uint64_t last = (begin + bytes - 1) >> kShifts[i];
    if (last - first >= kMostForgotten) return forget();
    for (std::uint64_t number = first; number <= last; ++number) {
      const std::uint64_t hash = mix(number, target);
      const std::uint64_t tag = (hash << kEpochBits) | epoch_;
      std::uint64_t* const set = set_of(table, hash);
      for (std::uint32_t way = 0; way < table.ways; ++way)
        if (set[way] == tag) set[way] = 0;
    }
  }
}

}  // namespace hob::cache
