#include "match/flat/part_index.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace hob::match::flat {

namespace {

constexpr std::size_t least_records = 256;
// Records for each message that is there when the array is made: the more, the rarer it is full.
constexpr std::size_t spare = 4;

}  // namespace

std::uint32_t PartIndex::find(const Slots& slots, Part part, Key want) {
  if (!on_[part]) make(slots, part);
  link_new(slots);
  Ends& chain = chain_of(part, want);
  std::uint32_t before = none;
  for (std::uint32_t at = chain.head; at != none;) {
    const Record& record = records_[at];
    if (alive(slots, record)) {
      if (same(part, slots[record.slot].key(), want)) return record.slot;
      before = at;
    } else {
      (before == none ? chain.head : records_[before].next[part]) = record.next[part];
      if (chain.tail == at) chain.tail = before;
    }
    at = record.next[part];
  }
  return none;
}

/// Begins to keep a part.
void PartIndex::make(const Slots& slots, Part part) {
  if (!any_) {
    std::uint32_t count = 0;
    for (std::uint32_t slot = 0; slot < slots.used(); ++slot) count += slots[slot].sequence != 0;
    std::size_t room = std::max(least_records, spare * count);
    if (records_.capacity() < room) records_.resize(room, 0);
    for (std::uint32_t slot = 0; slot < slots.used(); ++slot) {
      if (slots[slot].sequence == 0) continue;
      records_[used_].sequence = slots[slot].sequence;
      records_[used_++].slot = slot;
    }
    std::sort(records_.data(), records_.data() + used_,
              [](const Record& a, const Record& b) { return a.sequence < b.sequence; });
  }
  std::size_t chains = std::bit_ceil(records_.capacity()) / 2;
  try {
    for (unsigned each = 0; each < chains_.size(); ++each) {
      if ((each == part || on_[each]) && chains_[each].capacity() != chains) {
        chains_[each].resize(chains, 0);
      }
    }
  } catch (...) {
    clear();  // what was kept is made again by the next search
    throw;
  }
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(chains));
  on_[part] = any_ = true;
  unlink_all();
}

/// The array is full: leaves out the messages that are gone, in place or in a larger one.
void PartIndex::renew(const Slots& slots) {
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < used_; ++i) {
    Record record = records_[i];
    records_[kept] = record;
    // Which are gone cannot be predicted, so there is no branch on it.
    kept += alive(slots, record);
  }
  used_ = kept;
  if (2 * kept > records_.capacity()) {
    std::size_t room = 2 * records_.capacity();
    try {
      for (unsigned part = 0; part < chains_.size(); ++part) {
        if (on_[part]) chains_[part].resize(std::bit_ceil(room) / 2, 0);
      }
      records_.resize(room, kept);
    } catch (...) {
      clear();
      throw;
    }
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(std::bit_ceil(room) / 2));
  }
  unlink_all();
}

/// Empties all chains: the next search links what is there.
void PartIndex::unlink_all() {
  for (unsigned part = 0; part < chains_.size(); ++part) {
    if (!on_[part]) continue;
    for (std::size_t i = 0; i < chains_[part].capacity(); ++i) chains_[part][i] = {none, none};
  }
  linked_ = 0;
}

/// Links the records that are in no chain yet.
void PartIndex::link_new(const Slots& slots) {
  for (; linked_ != used_; ++linked_) {
    if (!alive(slots, records_[linked_])) continue;
    for (unsigned part = 0; part < chains_.size(); ++part) {
      if (on_[part]) link(part, linked_, slots[records_[linked_].slot].key());
    }
  }
}

void PartIndex::drop() {
  clear();
  records_.resize(0, 0);
  for (Array<Ends>& chains : chains_) chains.resize(0, 0);
}

}  // namespace hob::match::flat
