#include "match/depth_meter.hpp"

#include <algorithm>
#include <bit>

namespace hob::match {

void DepthStats::add(const DepthStats& other) {
  appended += other.appended;
  matched += other.matched;
  withdrawn += other.withdrawn;
  missed += other.missed;
  estimated += other.estimated;
  depth_sum += other.depth_sum;
  max_length = std::max(max_length, other.max_length);
  length.add(other.length);
  depth.add(other.depth);
}

DepthMeter::DepthMeter(std::uint32_t limit) : limit_(std::max(limit, 1u)) {}

DepthMeter::Ticket DepthMeter::append() {
  Ticket ticket;
  if (untracked_ != 0 || tracked_ == limit_) {
    // As long as entries without a position remain, younger ones get none either: so all that have
    // none are younger than all that have one.
    ticket = next_untracked_++;
    ++untracked_;
  } else {
    if (tracked_ == 0) {
      first_new_ += used_ - old_.size();
      old_.clear();
      used_ = 0;
      oldest_ = first_new_;
    } else if (used_ == live_.size() * kWordBits) {
      make_room();
    }
    if (live_.empty()) make_room();
    std::uint32_t word = used_ / kWordBits;
    live_[word] |= std::uint64_t{1} << used_ % kWordBits;
    const auto words = static_cast<std::uint32_t>(live_.size());
    for (std::uint32_t i = word + 1; i < words; i += lowest_bit(i)) ++sums_[i];
    ticket = first_new_ + used_ - old_.size();
    ++used_;
    ++tracked_;
  }
  ++stats_.appended;
  stats_.max_length = std::max(stats_.max_length, length());
  stats_.length.add(length());
  return ticket;
}

std::uint64_t DepthMeter::match_any(Ticket entry) {
  std::uint64_t depth;
  if ((entry & kUntrackedBit) != 0) {
    depth = tracked_ + (untracked_ + 1) / 2;
    ++stats_.estimated;
    --untracked_;
  } else {
    const std::uint32_t at = position(entry);
    depth = live_before(at) + 1;
    if (depth == 1) oldest_ = entry + 1;
    remove(at);
  }
  count_match(depth);
  return depth;
}

void DepthMeter::withdraw(Ticket entry) {
  ++stats_.withdrawn;
  if ((entry & kUntrackedBit) != 0)
    --untracked_;
  else
    remove(position(entry));
  stats_.length.add(length());
}

void DepthMeter::miss() {
  ++stats_.missed;
  stats_.depth.add(length());
}

std::uint32_t DepthMeter::position(Ticket entry) const {
  if (entry >= first_new_) return static_cast<std::uint32_t>(entry - first_new_ + old_.size());
  return static_cast<std::uint32_t>(std::lower_bound(old_.begin(), old_.end(), entry) -
                                    old_.begin());
}

std::uint32_t DepthMeter::live_before(std::uint32_t position) const {
  const std::uint32_t word = position / kWordBits;
  const std::uint64_t before = live_[word] & ((std::uint64_t{1} << position % kWordBits) - 1);
  // Most often it is the oldest; and counting bits is a call on processors of any kind.
  std::uint32_t sum = before == 0 ? 0 : static_cast<std::uint32_t>(std::popcount(before));
  for (std::uint32_t i = word; i != 0; i -= lowest_bit(i)) sum += sums_[i];
  return sum;
}

/// Moves the live entries together; if they fill more than half of the room, doubles it.
void DepthMeter::make_room() {
  std::size_t words = std::max<std::size_t>(live_.size(), 1);
  if (tracked_ > words * kWordBits / 2) words *= 2;
  std::vector<Ticket> tickets;
  tickets.reserve(tracked_);
  for (std::uint32_t at = 0; at < used_; ++at) {
    if ((live_[at / kWordBits] >> at % kWordBits & 1) == 0) continue;
    tickets.push_back(at < old_.size() ? old_[at] : first_new_ + at - old_.size());
  }
  std::vector<std::uint64_t> live(words, 0);
  std::vector<std::uint32_t> sums(words, 0);
  for (std::uint32_t at = 0; at < tracked_; ++at) {
    live[at / kWordBits] |= std::uint64_t{1} << at % kWordBits;
  }
  for (std::uint32_t i = 1; i < words; ++i) {
    sums[i] += static_cast<std::uint32_t>(std::popcount(live[i - 1]));
    std::uint32_t parent = i + lowest_bit(i);
    if (parent < words) sums[parent] += sums[i];
  }
  first_new_ += used_ - old_.size();
  old_ = std::move(tickets);
  live_ = std::move(live);
  sums_ = std::move(sums);
  used_ = tracked_;
}

}  // namespace hob::match
