#include "cache/miss_shadow.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "cache/hash.hpp"

namespace hob::cache {
namespace {

/// Ranges of more blocks than this are forgotten by forgetting everything.
constexpr std::uint64_t kMostForgotten = 64;

/// One in so many gets that are missing takes the place of another one.
constexpr std::uint32_t kRefused = 8;

/// A record's slot stands for so many blocks at most, however large the storage is said to be.
constexpr std::uint64_t kMostSample = std::uint64_t{1} << 31;

/// Of a slot: the block was asked for since the hand came by. No part of the hash.
constexpr std::uint64_t kAsked = 1;

/// What stands for a block in its slot; never 0.
std::uint64_t name_of(std::uint64_t hash) { return std::max(hash & ~kAsked, 2 * kAsked); }

}  // namespace

bool MissShadow::set_capacity(std::uint64_t storage_bytes, std::uint64_t get_bytes,
                              std::uint64_t most_blocks) noexcept {
  const bool same_gets = get_bytes <= 2 * get_bytes_ && get_bytes_ <= 2 * get_bytes;
  if (slots_ && storage_bytes == storage_bytes_ && same_gets && most_blocks == most_blocks_)
    return true;
  std::array<Table, kSizes> tables{};
  std::uint64_t total = 0;
  std::uint64_t places = 0;
  for (std::size_t i = 0; i < kSizes; ++i) {
    Table& table = tables[i];
    const std::uint64_t held = i == 0 ? storage_bytes / std::max<std::uint64_t>(get_bytes, 16)
                                      : storage_bytes >> kShifts[i];
    const std::uint64_t blocks = std::min(held, most_blocks * kMostSample);
    if (blocks == 0) continue;
    table.most_sample =
        static_cast<std::uint32_t>(std::bit_ceil((blocks + most_blocks - 1) / most_blocks));
    table.capacity = static_cast<std::uint32_t>(blocks / table.most_sample);
    table.places = std::bit_ceil(2 * table.capacity);
    table.first = static_cast<std::uint32_t>(total);
    table.first_place = static_cast<std::uint32_t>(places);
    total += table.capacity;
    places += table.places;
  }
  storage_bytes_ = storage_bytes;
  get_bytes_ = get_bytes;
  most_blocks_ = most_blocks;
  // Kept where the layout is the same.
  const bool same =
      std::equal(tables.begin(), tables.end(), tables_.begin(), [](const Table& a, const Table& b) {
        return a.capacity == b.capacity && a.most_sample == b.most_sample;
      });
  if (slots_ && same) return true;
  slots_.reset(new (std::nothrow) std::uint64_t[std::max<std::uint64_t>(total, 1)]());
  places_.reset(new (std::nothrow) std::uint16_t[std::max<std::uint64_t>(places, 1)]());
  if (!places_) slots_.reset();
  tables_ = slots_ ? tables : std::array<Table, kSizes>{};
  total_ = slots_ ? total : 0;
  places_total_ = slots_ ? places : 0;
  return slots_ != nullptr;
}

/// Where the table has that block, or the free place where it would be.
std::uint32_t MissShadow::place_of(const Table& table, std::uint64_t hash) const {
  const std::uint64_t name = name_of(hash);
  auto place = static_cast<std::uint32_t>(to_range(hash, table.places));
  for (;; place = (place + 1) & (table.places - 1)) {
    const std::uint16_t slot = places_[table.first_place + place];
    if (slot == 0 || (slots_[table.first + slot - 1] & ~kAsked) == name) return place;
  }
}

void MissShadow::enter(Table& table, std::uint64_t hash, std::uint32_t slot) {
  slots_[table.first + slot] = name_of(hash);
  places_[table.first_place + place_of(table, hash)] = static_cast<std::uint16_t>(slot + 1);
}

/// Frees a place; whoever found it taken moves up.
void MissShadow::erase(Table& table, std::uint32_t place) {
  const std::uint32_t mask = table.places - 1;
  std::uint16_t* const places = places_.get() + table.first_place;
  for (std::uint32_t next = (place + 1) & mask; places[next] != 0; next = (next + 1) & mask) {
    const std::uint64_t name = slots_[table.first + places[next] - 1];
    const auto home = static_cast<std::uint32_t>(to_range(name, table.places));
    if (((next - home) & mask) < ((next - place) & mask)) continue;
    places[place] = places[next];
    place = next;
  }
  places[place] = 0;
}

/// Forgets all blocks. Acquires may be as frequent as gets: this takes no longer than it took to
/// record them.
void MissShadow::clear(Table& table) {
  const std::uint32_t mask = table.places - 1;
  std::uint16_t* const places = places_.get() + table.first_place;
  for (std::uint32_t slot = 0; slot < table.used; ++slot) {
    // Between a block's place and where it belongs no place is free.
    auto place = static_cast<std::uint32_t>(to_range(slots_[table.first + slot], table.places));
    for (; places[place] != 0; place = (place + 1) & mask) places[place] = 0;
  }
  table.used = table.hand = 0;
}

void MissShadow::erase(Table& table, std::uint32_t target, std::uint64_t number) {
  const std::uint32_t place = place_of(table, mix(number, target));
  std::uint16_t* const places = places_.get() + table.first_place;
  if (places[place] == 0) return;
  // The last one takes its slot.
  const std::uint32_t slot = places[place] - 1;
  erase(table, place);
  const std::uint32_t last = --table.used;
  table.hand = table.hand < table.used ? table.hand : 0;
  if (slot == last) return;
  std::uint64_t* const slots = slots_.get() + table.first;
  places[place_of(table, slots[last])] = static_cast<std::uint16_t>(slot + 1);
  slots[slot] = slots[last];
}

/// Keeps half of what is recorded, which stands for all of it.
void MissShadow::record_fewer(Table& table) {
  table.sample *= 2;
  std::uint64_t* const slots = slots_.get() + table.first;
  const std::uint32_t before = table.used;
  clear(table);
  for (std::uint32_t slot = 0; slot < before; ++slot) {
    const std::uint64_t name = slots[slot];
    if ((name & (2 * std::uint64_t{table.sample} - 2)) == 0) enter(table, name, table.used++);
  }
}

MissShadow::Sight MissShadow::note(std::size_t i, std::uint32_t target,
                                   std::uint64_t number) noexcept {
  Table& table = tables_[i];
  if (table.capacity == 0) return {.stands_for = 1};
  // Whether a block is of the sample is decided by the lowest bits but one.
  const std::uint64_t hash = mix(number, target);
  if ((hash & (2 * std::uint64_t{table.sample} - 2)) != 0) return {};
  const std::uint32_t stands_for = table.sample;
  const std::uint32_t place = place_of(table, hash);
  if (const std::uint16_t slot = places_[table.first_place + place]; slot != 0) {
    slots_[table.first + slot - 1] |= kAsked;
    return {.stands_for = stands_for, .here = true};
  }
  if (table.used == table.capacity && table.sample < table.most_sample) record_fewer(table);
  if (table.used < table.capacity) {
    enter(table, hash, table.used++);
    return {.stands_for = stands_for};
  }
  // The cache admits an exact entry only where it is worth more than what must go, and a block
  // always.
  if (i == 0 && ++refused_ % kRefused != 0) return {.stands_for = stands_for};
  std::uint64_t* const slots = slots_.get() + table.first;
  const auto next = [&] { table.hand = table.hand + 1 == table.capacity ? 0 : table.hand + 1; };
  for (; (slots[table.hand] & kAsked) != 0; next()) slots[table.hand] &= ~kAsked;
  erase(table, place_of(table, slots[table.hand]));
  enter(table, hash, table.hand);
  next();
  return {.stands_for = stands_for};
}

void MissShadow::forget() noexcept {
  for (Table& table : tables_)
    if (table.used != 0) clear(table);
}

void MissShadow::forget(std::uint32_t target, std::uint64_t begin, std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  for (std::size_t i = 1; i < kSizes; ++i) {
    Table& table = tables_[i];
    if (table.used == 0) continue;
    const std::uint64_t first = begin >> kShifts[i];
    const std::uint64_t last = (begin + bytes - 1) >> kShifts[i];
    if (last - first >= kMostForgotten) return forget();
    for (std::uint64_t number = first; number <= last; ++number) {
      erase(table, target, number);
      erase(table, ~target, number);
    }
  }
}

}  // namespace hob::cache
