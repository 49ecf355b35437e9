#include "cache/miss_shadow.hpp"

#include <algorithm>
#include <new>

#include "cache/hash.hpp"

namespace hob::cache {
namespace {

constexpr std::uint64_t epoch_bits = 24;
/// Ranges of more blocks than this are forgotten by forgetting everything.
constexpr std::uint64_t most_forgotten = 64;

}  // namespace

bool MissShadow::set_capacity(std::uint64_t storage_bytes, std::uint64_t get_bytes,
                              std::uint64_t most_blocks) noexcept {
  if (slots_ && storage_bytes == storage_bytes_ && most_blocks == most_blocks_) return true;
  std::array<Table, sizes> tables{};
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < sizes; ++i) {
    const std::uint64_t blocks =
        std::min(i == 0 ? storage_bytes / std::max<std::uint64_t>(get_bytes, 16)
                        : storage_bytes >> shifts[i],
                 most_blocks);
    if (blocks == 0) continue;
    tables[i].first = static_cast<std::uint32_t>(total);
    tables[i].ways = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, ways));
    tables[i].sets = static_cast<std::uint32_t>(blocks / tables[i].ways);
    total += std::uint64_t{tables[i].sets} * tables[i].ways;
  }
  // Kept where the layout is the same: the storage grows in small steps, the tables have a bound.
  const bool same = slots_ && total == total_;
  storage_bytes_ = storage_bytes;
  most_blocks_ = most_blocks;
  if (same) return true;
  slots_.reset(new (std::nothrow) std::uint64_t[std::max<std::uint64_t>(total, 1)]());
  tables_ = slots_ ? tables : std::array<Table, sizes>{};
  total_ = slots_ ? total : 0;
  epoch_ = 1;
  return slots_ != nullptr;
}

std::uint64_t* MissShadow::set_of(const Table& table, std::uint64_t hash) const {
  return slots_.get() + table.first + to_range(hash, table.sets) * table.ways;
}

bool MissShadow::note(std::size_t i, std::uint32_t target, std::uint64_t number) noexcept {
  const Table& table = tables_[i];
  if (table.sets == 0) return false;
  const std::uint64_t hash = mix(number, target);
  const std::uint64_t tag = (hash << epoch_bits) | epoch_;
  std::uint64_t* const set = set_of(table, hash);
  for (std::uint32_t way = 0; way < table.ways; ++way)
    if (set[way] == tag) return true;
  for (std::uint32_t way = table.ways - 1; way > 0; --way) set[way] = set[way - 1];
  set[0] = tag;
  return false;
}

void MissShadow::forget() noexcept {
  if (++epoch_ >> epoch_bits == 0) return;
  std::fill_n(slots_.get(), total_, 0);
  epoch_ = 1;
}

void MissShadow::forget(std::uint32_t target, std::uint64_t begin, std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  for (std::size_t i = 1; i < sizes; ++i) {
    const Table& table = tables_[i];
    if (table.sets == 0) continue;
    const std::uint64_t first = begin >> shifts[i];
    const std::uint64_t last = (begin + bytes - 1) >> shifts[i];
    if (last - first >= most_forgotten) return forget();
    for (std::uint64_t number = first; number <= last; ++number) {
      const std::uint64_t hash = mix(number, target);
      const std::uint64_t tag = (hash << epoch_bits) | epoch_;
      std::uint64_t* const set = set_of(table, hash);
      for (std::uint32_t way = 0; way < table.ways; ++way)
        if (set[way] == tag) set[way] = 0;
    }
  }
}

}  // namespace hob::cache
