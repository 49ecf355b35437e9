#include "cache/shared_log.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "cache/block.hpp"
#include "cache/hash.hpp"

namespace hob::cache {
namespace {

constexpr std::uint64_t kLine = 8;  ///< words of a cache line
constexpr std::uint64_t kHeader = 6;

/// A cell of the index: a tag, and the position's low bits. They are all of them for the first two
/// million gigabytes; then nothing is found any more.
constexpr int kPositionBits = 48;
constexpr std::uint64_t kPositionMask = (std::uint64_t{1} << kPositionBits) - 1;

/// Longer records would push out too much.
constexpr std::uint64_t kLongest = 8;

struct Plan {
  std::uint64_t summary, index, ring, buckets, capacity;

  Plan(std::uint64_t bytes, std::uint32_t writers) {
    const std::uint64_t words = bytes / sizeof(std::uint64_t);
    buckets = words / 16 / kLine;
    summary = (2 + std::uint64_t{writers}) * kLine;
    index = summary + (buckets + 64 - 1) / 64 * kLine;  // a bit for each cell, whole lines
    ring = index + buckets * kLine;
    capacity = words > ring ? words - ring : 0;
  }
};

std::uint64_t words_of(std::uint64_t bytes) {
  return kHeader + (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
}

}  // namespace

bool SharedLog::fits(std::uint64_t bytes, std::uint32_t writers) {
  const Plan plan(bytes, writers);
  return writers != 0 && plan.buckets != 0 && plan.capacity >= kLongest * (kHeader + 1);
}

void SharedLog::format(void* memory, std::uint64_t bytes, std::uint32_t writers) {
  auto* words = static_cast<Word*>(memory);
  words[0].store(Plan(bytes, writers).capacity);
  words[kLine].store(1);
}

SharedLog::SharedLog(void* memory, std::uint64_t bytes, std::uint32_t writers, std::uint32_t writer)
    : head_(static_cast<Word*>(memory)),
      block_sizes_(head_ + 1),
      clock_(head_ + kLine),
      writing_(clock_ + kLine),
      writers_(writers),
      writer_(writer) {
  const Plan plan(bytes, writers);
  summary_ = head_ + plan.summary;
  index_ = head_ + plan.index;
  ring_ = head_ + plan.ring;
  buckets_ = plan.buckets;
  capacity_ = plan.capacity;
}

SharedLog::Word* SharedLog::bucket(std::uint64_t hash) const {
  return index_ + to_range(hash, buckets_) * kLine;
}

/// Of the summary: the word and the bit in it.
std::pair<SharedLog::Word*, std::uint64_t> SharedLog::mark(std::uint64_t hash) const {
  const std::uint64_t bit = to_range(hash, buckets_ * kLine);
  return {summary_ + bit / 64, std::uint64_t{1} << bit % 64};
}

SharedLog::Room SharedLog::claim(std::uint64_t bytes) {
  const std::uint64_t words = words_of(bytes);
  if (words > capacity_ / kLongest) return {};
  Word& mine = writing_[writer_ * kLine];
  // Announced before room is taken: a writer that does not see this has taken its room earlier.
  mine.store(head_->load(std::memory_order_relaxed), std::memory_order_seq_cst);
  const std::uint64_t position = head_->fetch_add(words, std::memory_order_seq_cst);
  if (position + words > safe_until_) {
    // Who announces later, writes behind this position: the answer is good for a whole round.
    std::uint64_t lowest = position;
    for (std::uint32_t i = 0; i < writers_; ++i) {
      if (i == writer_) continue;
      const std::uint64_t other = writing_[i * kLine].load(std::memory_order_seq_cst);
      if (other != 0) lowest = std::min(lowest, other);
    }
    safe_until_ = lowest + capacity_;
    if (position + words > safe_until_) {
      mine.store(0, std::memory_order_release);
      return {};
    }
  }
  return {position};
}

void SharedLog::commit(Room room, const Key& key, const void* data, std::uint64_t bytes,
                       std::uint64_t issued, std::uint64_t ticks) {
  const std::uint64_t header[kHeader] = {room.position, key.target, key.displacement,
                                         bytes,         issued,     ticks};
  for (std::uint64_t i = 0; i < kHeader; ++i)
    at(room.position + i).store(header[i], std::memory_order_release);
  Word* to = &at(room.position + kHeader);
  const auto* from = static_cast<const std::byte*>(data);
  for (std::uint64_t done = 0; done < bytes; done += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    if (bytes - done >= sizeof word)
      std::memcpy(&word, from + done, sizeof word);
    else
      std::memcpy(&word, from + done, bytes - done);
    to->store(word, std::memory_order_release);
    if (++to == ring_ + capacity_) to = ring_;
  }

  const std::uint64_t hash = hash_key(key);
  const std::uint64_t tag = hash << kPositionBits;
  const auto [word, bit] = mark(hash);
  if ((word->load(std::memory_order_relaxed) & bit) == 0)
    word->fetch_or(bit, std::memory_order_relaxed);
  Word* const cells = bucket(hash);
  Word* victim = cells;
  std::uint64_t oldest = ~std::uint64_t{0};
  for (Word* cell = cells; cell != cells + kLine; ++cell) {
    const std::uint64_t there = cell->load(std::memory_order_relaxed);
    const std::uint64_t position = there & kPositionMask;
    // An older record of this key, most likely.
    const std::uint64_t age = (there & ~kPositionMask) == tag && there != 0 ? 0 : position;
    if (age >= oldest) continue;
    oldest = age;
    victim = cell;
  }
  victim->store(tag | (room.position & kPositionMask), std::memory_order_release);
  writing_[writer_ * kLine].store(0, std::memory_order_release);
}

bool SharedLog::insert(const Key& key, const void* data, std::uint64_t bytes, std::uint64_t issued,
                       std::uint64_t ticks) {
  const Room room = claim(bytes);
  if (!room) return false;
  if (is_block(key.layout)) {
    const std::uint64_t size = std::uint64_t{1} << block_shift(key.layout);
    if ((block_sizes_->load(std::memory_order_relaxed) & size) == 0)
      block_sizes_->fetch_or(size, std::memory_order_relaxed);
  }
  commit(room, key, data, bytes, issued, ticks);
  return true;
}

bool SharedLog::find(const Key& key, std::uint64_t bytes, std::uint64_t floor, void* to,
                     std::uint64_t& ticks) const {
  return copy(key, 0, bytes, floor, to, ticks);
}

bool SharedLog::find_in_blocks(std::uint32_t target, std::uint64_t displacement,
                               std::uint64_t bytes, std::uint64_t floor, void* to,
                               std::uint64_t& ticks) {
  const std::uint64_t last = displacement + bytes - 1;
  if (bytes == 0 || last < displacement) return false;
  auto sizes = static_cast<std::uint32_t>(block_sizes_->load(std::memory_order_relaxed));
  // The size that served last comes first.
  std::uint32_t shift = last_shift_;
  for (; sizes != 0; shift = static_cast<std::uint32_t>(std::bit_width(sizes)) - 1) {
    if ((sizes >> shift & 1) == 0) continue;
    sizes &= ~(std::uint32_t{1} << shift);
    const std::uint64_t first = block_begin(displacement, shift);
    const std::uint64_t second = block_begin(last, shift);
    if (second - first > std::uint64_t{1} << shift) continue;
    const Key key{target, first, block_layout(shift)};
    const std::uint64_t in_first = first == second ? bytes : second - displacement;
    if (!copy(key, displacement - first, in_first, floor, to, ticks)) continue;
    if (first != second) {
      std::uint64_t other = 0;
      if (!copy({target, second, key.layout}, 0, bytes - in_first, floor,
                static_cast<std::byte*>(to) + in_first, other))
        continue;
      ticks = std::min(ticks, other);
    }
    last_shift_ = shift;
    return true;
  }
  return false;
}

/// Bytes from `offset` on of a record of that key.
bool SharedLog::copy(const Key& key, std::uint64_t offset, std::uint64_t bytes, std::uint64_t floor,
                     void* to, std::uint64_t& ticks) const {
  const std::uint64_t hash = hash_key(key);
  if (const auto [word, bit] = mark(hash); (word->load(std::memory_order_relaxed) & bit) == 0)
    return false;
  const std::uint64_t tag = hash << kPositionBits;
  const Word* const cells = bucket(hash);
  for (const Word* cell = cells; cell != cells + kLine; ++cell) {
    const std::uint64_t there = cell->load(std::memory_order_acquire);
    if ((there & ~kPositionMask) != tag || there == 0) continue;
    const std::uint64_t position = there & kPositionMask;
    const auto overtaken = [&] {
      return head_->load(std::memory_order_acquire) - position > capacity_;
    };
    if (overtaken()) continue;
    std::uint64_t header[kHeader];
    for (std::uint64_t i = 0; i < kHeader; ++i)
      header[i] = at(position + i).load(std::memory_order_acquire);
    if (header[0] != position || header[1] != key.target || header[2] != key.displacement ||
        header[3] < offset + bytes || header[4] < floor)
      continue;
    const Word* from = &at(position + kHeader + offset / sizeof(std::uint64_t));
    auto* into = static_cast<std::byte*>(to);
    std::uint64_t skip = offset % sizeof(std::uint64_t);  // of the first word
    for (std::uint64_t done = 0; done < bytes; skip = 0) {
      const std::uint64_t word = from->load(std::memory_order_acquire);
      const std::uint64_t part = std::min(sizeof word - skip, bytes - done);
      if (part == sizeof word)
        std::memcpy(into + done, &word, sizeof word);
      else
        std::memcpy(into + done, reinterpret_cast<const std::byte*>(&word) + skip, part);
      done += part;
      if (++from == ring_ + capacity_) from = ring_;
    }
    if (overtaken()) continue;
    ticks = header[5];
    return true;
  }
  return false;
}

}  // namespace hob::cache
