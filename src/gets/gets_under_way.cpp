#include "gets/gets_under_way.hpp"

#include <algorithm>
#include <utility>

namespace hob::gets {

std::uint32_t GetsUnderWay::add(List& list, int rank, PendingGet get) {
  std::uint32_t index = 0;
  if (free_gets_.empty()) {
    gets_.emplace_back();
    index = static_cast<std::uint32_t>(gets_.size()) - 1;
    free_gets_.push_back(index);
    free_gets_.reserve(gets_.capacity());
  } else {
    index = free_gets_.back();
  }
  list.push_back(index);
  free_gets_.pop_back();
  PendingGet& added = gets_[index];
  added = std::move(get);
  added.place = static_cast<std::uint32_t>(list.size()) - 1;
  added.rank = rank;
  added.birth = ++births_;
  return index;
}

void GetsUnderWay::remove(List& list, std::uint32_t index) {
  const std::uint32_t place = gets_[index].place;
  list[place] = list.back();
  gets_[list.back()].place = place;
  list.pop_back();
  gets_[index] = {};
  free_gets_.push_back(index);
}

void GetsUnderWay::wait_for(PendingGet& get, void* buffer, const Layout* layout,
                            std::uint64_t bytes, std::uint64_t offset) {
  std::uint32_t index = 0;
  if (free_waiters_.empty()) {
    index = static_cast<std::uint32_t>(waiters_.size());
    waiters_.emplace_back();
    free_waiters_.reserve(waiters_.capacity());
  } else {
    index = free_waiters_.back();
    free_waiters_.pop_back();
  }
  waiters_[index] = {buffer, layout, bytes, offset, get.waiters};
  get.waiters = index;
}

void GetsUnderWay::forget_waiters(PendingGet& get) {
  for (std::uint32_t i = get.waiters; i != PendingGet::kNone; i = waiters_[i].next)
    free_waiters_.push_back(i);
  get.waiters = PendingGet::kNone;
}

void GetsUnderWay::serve_waiters(PendingGet& get, const std::byte* packed) {
  for (std::uint32_t i = get.waiters; i != PendingGet::kNone;) {
    const Waiter& waiter = waiters_[i];
    unpack(*waiter.layout, waiter.buffer, packed + waiter.offset, waiter.bytes);
    free_waiters_.push_back(i);
    i = waiter.next;
  }
  get.waiters = PendingGet::kNone;
}

void GetsUnderWay::serve_waiters(PendingGet& get) {
  std::byte piece[4096];
  for (std::uint32_t i = get.waiters; i != PendingGet::kNone;) {
    const Waiter& waiter = waiters_[i];
    for (std::uint64_t at = 0; at < waiter.bytes; at += sizeof piece) {
      const std::uint64_t now = std::min<std::uint64_t>(sizeof piece, waiter.bytes - at);
      pack(*get.layout, get.buffer, piece, now, waiter.offset + at);
      unpack(*waiter.layout, waiter.buffer, piece, now, at);
    }
    free_waiters_.push_back(i);
    i = waiter.next;
  }
  get.waiters = PendingGet::kNone;
}

}  // namespace hob::gets
