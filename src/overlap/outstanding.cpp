#include "overlap/outstanding.hpp"

#include <utility>

namespace hob::overlap {
namespace {

constexpr std::size_t kFirstSlots = 64;

}  // namespace

std::size_t Outstanding::home(std::uintptr_t handle) const {
  // The upper bits of the product depend on all bits of the handle.
  return static_cast<std::size_t>((handle * 0x9e3779b97f4a7c15u) >> 32) & (slots_.size() - 1);
}

std::size_t Outstanding::find(std::uintptr_t handle) const {
  std::size_t at = home(handle);
  while (slots_[at].handle != 0 && slots_[at].handle != handle) at = (at + 1) & (slots_.size() - 1);
  return at;
}

bool Outstanding::contains(std::uintptr_t handle) const {
  return size_ != 0 && handle != 0 && slots_[find(handle)].handle == handle;
}

std::uint64_t Outstanding::serial(std::uintptr_t handle) const {
  return contains(handle) ? slots_[find(handle)].serial : 0;
}

bool Outstanding::forbids(std::uintptr_t handle) const {
  return contains(handle) && slots_[find(handle)].forbids;
}

void Outstanding::grow() {
  std::vector<Slot> old(slots_.empty() ? kFirstSlots : slots_.size() * 2);
  std::swap(old, slots_);
  for (const Slot& slot : old)
    if (slot.handle != 0) slots_[find(slot.handle)] = slot;
}

void Outstanding::add(std::uintptr_t handle, bool forbids) {
  if (handle == 0) return;
  if (2 * (size_ + 1) > slots_.size()) grow();
  Slot& slot = slots_[find(handle)];
  if (slot.handle == 0) ++size_;
  if (slot.handle == 0 || slot.complete) ++open_;
  if (slot.forbids) --forbidding_;
  if (forbids) ++forbidding_;
  slot = {handle, ++added_, forbids, false};
}

bool Outstanding::remove(std::uintptr_t handle) {
  if (!contains(handle)) return false;
  std::size_t hole = find(handle);
  --size_;
  if (slots_[hole].forbids) --forbidding_;
  if (!slots_[hole].complete) --open_;
  // What would no longer be found across the hole moves into it.
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = (hole + 1) & mask; slots_[at].handle != 0; at = (at + 1) & mask) {
    const std::size_t own = home(slots_[at].handle);
    if (((at - own) & mask) < ((at - hole) & mask)) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = {};
  return true;
}

}  // namespace hob::overlap
