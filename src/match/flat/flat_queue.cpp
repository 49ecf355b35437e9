#include "match/flat/flat_queue.hpp"

#include "match/strategies.hpp"

namespace hob::match::flat {

template <Side side>
template <bool keep_source>
[[gnu::always_inline]] inline void FlatQueue<side>::PartIndex<keep_source>::reserve(Slots& slots) {
  index.reserve(access(slots), slots.capacity());
  if (ring.capacity() < slots.capacity()) ring.resize(slots.capacity(), ring.capacity());
}

template <Side side>
template <bool keep_source>
[[gnu::always_inline]] inline void FlatQueue<side>::PartIndex<keep_source>::append(
    Slots& slots, std::uint32_t slot, const Envelope& envelope) {
  Envelope key = Part<keep_source>::key_of(envelope);
  ring[slot].hash = hash_of(key);
  index.append(access(slots), slot, key, ring[slot].hash);
}

template <Side side>
template <bool keep_source>
[[gnu::always_inline]] inline void FlatQueue<side>::PartIndex<keep_source>::remove(
    Slots& slots, std::uint32_t slot) {
  if (ring[slot].first) {
    index.remove_first(access(slots), slot, ring[slot].hash);
  } else {
    index.remove_younger(access(slots), slot);
  }
}

template <Side side>
template <bool keep_source>
[[gnu::always_inline]] inline std::uint32_t FlatQueue<side>::PartIndex<keep_source>::oldest(
    Slots& slots, const Envelope& want, std::uint32_t hash) {
  return index.find(access(slots), want, hash);
}

template <Side side>
template <bool keep_source>
void FlatQueue<side>::PartIndex<keep_source>::drop() {
  index.drop();
  ring.resize(0, 0);
}

template <Side side>
[[gnu::always_inline]] inline bool FlatQueue<side>::fits(const Slot& slot, const Envelope& with) {
  return side == Side::receives ? accepts(slot.envelope(), with) : accepts(with, slot.envelope());
}

/// The oldest slot of a short queue that fits, or none.
template <Side side>
[[gnu::always_inline]] inline std::uint32_t FlatQueue<side>::search_short(
    const Envelope& with) const {
  std::uint32_t slot = first_;
  while (slot != none && !fits(slots_[slot], with)) slot = slots_[slot].links.next;
  return slot;
}

/// The oldest slot of a deep queue that fits, if any.
template <Side side>
[[gnu::always_inline]] inline typename FlatQueue<side>::Found FlatQueue<side>::search_keys(
    const Envelope& with) {
  if constexpr (side == Side::receives) {
    std::uint32_t hash = hash_of(with);
    Found best{index_.find(whole(), with, hash), hash, true, false};
    auto look_up = [&](const Envelope& key) {
      std::uint32_t other = hash_of(key);
      std::uint32_t slot = wild_index_.find(whole(), key, other);
      if (slot == none) return;
      if (best.slot == none || slots_[slot].sequence < slots_[best.slot].sequence) {
        best = {slot, other, true, true};
      }
    };
    if (any_source_only_ != 0) look_up({with.context, any_source, with.tag});
    if (any_tag_only_ != 0) look_up({with.context, with.source, any_tag});
    if (any_both_ != 0) look_up({with.context, any_source, any_tag});
    return best;
  } else {
    std::uint32_t hash = hash_of(with);
    if (with.source != any_source && with.tag != any_tag) {
      return {index_.find(whole(), with, hash), hash, true, false};
    }
    if (with.source != any_source) {
      if (!by_source_.on) make_part(by_source_);
      return {by_source_.oldest(slots_, with, hash), 0, false, false};
    }
    if (with.tag != any_tag) {
      if (!by_tag_.on) make_part(by_tag_);
      return {by_tag_.oldest(slots_, with, hash), 0, false, false};
    }
    return {logs_.oldest(slots_, with.context), 0, false, false};
  }
}

template <Side side>
template <class Index>
void FlatQueue<side>::make_part(Index& part) {
  try {
    logs_.each(slots_, [&](std::uint32_t slot) {
      part.reserve(slots_);
      part.append(slots_, slot, slots_[slot].envelope());
    });
  } catch (...) {
    part.drop();  // half an index would hide messages
    throw;
  }
  part.on = true;
}

template <Side side>
[[gnu::always_inline]] inline void FlatQueue<side>::count_wildcards(const Envelope& envelope,
                                                                    std::uint32_t change) {
  if constexpr (side == Side::receives) {
    if (envelope.source == any_source) {
      (envelope.tag == any_tag ? any_both_ : any_source_only_) += change;
    } else if (envelope.tag == any_tag) {
      any_tag_only_ += change;
    }
  }
}

template <Side side>
[[gnu::always_inline]] inline void FlatQueue<side>::reserve_links(const Envelope& envelope) {
  if (is_wild(envelope)) {
    wild_index_.reserve(whole(), slots_.capacity());
  } else {
    index_.reserve(whole(), slots_.capacity());
  }
  logs_.reserve(slots_, envelope.context);
  if constexpr (side == Side::messages) {
    if (by_source_.on) by_source_.reserve(slots_);
    if (by_tag_.on) by_tag_.reserve(slots_);
  }
}

/// Makes a slot that is filled in known to the indexes. After reserve_links().
template <Side side>
[[gnu::always_inline]] inline void FlatQueue<side>::link(std::uint32_t slot,
                                                         const Envelope& envelope) {
  slots_[slot].sequence = next_sequence_;
  logs_.append({next_sequence_, slot});
  ++next_sequence_;
  if (is_wild(envelope)) {
    wild_index_.append(whole(), slot, envelope, hash_of(envelope));
    count_wildcards(envelope, 1);
  } else {
    index_.append(whole(), slot, envelope, hash_of(envelope));
  }
  if constexpr (side == Side::messages) {
    if (by_source_.on) by_source_.append(slots_, slot, envelope);
    if (by_tag_.on) by_tag_.append(slots_, slot, envelope);
  }
}

/// Takes a slot out of the indexes.
template <Side side>
[[gnu::always_inline]] inline void FlatQueue<side>::unlink(const Found& found,
                                                           const Envelope& envelope) {
  auto remove_from = [&](auto& index) {
    if (found.first) {
      index.remove_first(whole(), found.slot, found.hash);
    } else {
      index.remove_younger(whole(), found.slot);
    }
  };
  if (found.wild) {
    remove_from(wild_index_);
    count_wildcards(envelope, -1u);
  } else {
    remove_from(index_);
  }
  if constexpr (side == Side::messages) {
    if (by_source_.on) by_source_.remove(slots_, found.slot);
    if (by_tag_.on) by_tag_.remove(slots_, found.slot);
  }
}

/// A slot of a deep queue, as unlink() needs it.
template <Side side>
typename FlatQueue<side>::Found FlatQueue<side>::known(std::uint32_t slot) {
  Envelope envelope = slots_[slot].envelope();
  std::uint32_t hash = hash_of(envelope);
  bool wild = is_wild(envelope);
  std::uint32_t first =
      wild ? wild_index_.find(whole(), envelope, hash) : index_.find(whole(), envelope, hash);
  return {slot, hash, first == slot, wild};
}

template <Side side>
[[gnu::always_inline]] inline void FlatQueue<side>::append_short(std::uint32_t slot) {
  slots_[slot].links = {none, last_};
  (last_ != none ? slots_[last_].links.next : first_) = slot;
  last_ = slot;
}

template <Side side>
[[gnu::always_inline]] inline void FlatQueue<side>::unlink_short(std::uint32_t slot) {
  Links at = slots_[slot].links;
  (at.prev != none ? slots_[at.prev].links.next : first_) = at.next;
  (at.next != none ? slots_[at.next].links.prev : last_) = at.prev;
}

template <Side side>
[[gnu::always_inline]] inline Handle FlatQueue<side>::append(const Envelope& envelope, void* item) {
  slots_.reserve();
  if (count_ == short_length && !deep_) [[unlikely]] {
    go_deep();
  }
  if (deep_) {
    if (next_sequence_ == none) [[unlikely]] {
      renumber();
    }
    reserve_links(envelope);
  }
  std::uint32_t slot = slots_.allocate();
  Slot& filled = slots_[slot];
  filled.item = item;
  filled.context = envelope.context;
  filled.source = envelope.source;
  filled.tag = envelope.tag;
  ++count_;
  if (deep_) {
    link(slot, envelope);
  } else {
    append_short(slot);
  }
  return slot;
}

/// Frees a slot that nothing leads to any more. Returns its item.
template <Side side>
[[gnu::always_inline]] inline void* FlatQueue<side>::release(std::uint32_t slot) {
  void* item = slots_[slot].item;
  slots_.release(slot);
  if (--count_ == 0) {
    slots_.reset();
    if (slots_.capacity() > keep_capacity) [[unlikely]] {
      drop();
    }
  }
  return item;
}

template <Side side>
[[gnu::always_inline]] inline void* FlatQueue<side>::remove_deep(const Found& found) {
  unlink(found, slots_[found.slot].envelope());
  void* item = release(found.slot);
  if (count_ <= back_to_short) [[unlikely]] {
    go_short();
  }
  return item;
}

template <Side side>
[[gnu::always_inline]] inline void* FlatQueue<side>::take(const Envelope& with) {
  if (!deep_) {
    std::uint32_t slot = search_short(with);
    if (slot == none) return nullptr;
    unlink_short(slot);
    return release(slot);
  }
  Found found = search_keys(with);
  if (found.slot == none) return nullptr;
  // By part of the envelope or by age, a message is found that may or may not be its key's first.
  if (!found.first) found = known(found.slot);
  return remove_deep(found);
}

template <Side side>
std::optional<QueueEntry> FlatQueue<side>::find(const Envelope& want) {
  std::uint32_t slot = deep_ ? search_keys(want).slot : search_short(want);
  if (slot == none) return std::nullopt;
  return entry(slot);
}

template <Side side>
void* FlatQueue<side>::remove(Handle handle) {
  auto slot = static_cast<std::uint32_t>(handle);
  if (deep_) return remove_deep(known(slot));
  unlink_short(slot);
  return release(slot);
}

template <Side side>
std::optional<QueueEntry> FlatQueue<side>::oldest(std::uint32_t context) const {
  if (deep_) {
    std::uint32_t slot = logs_.oldest(slots_, context);
    if (slot == none) return std::nullopt;
    return entry(slot);
  }
  for (std::uint32_t slot = first_; slot != none; slot = slots_[slot].links.next) {
    if (slots_[slot].context == context) return entry(slot);
  }
  return std::nullopt;
}

template <Side side>
void FlatQueue<side>::collect(std::uint32_t context, std::vector<QueueEntry>& out) const {
  if (deep_) {
    logs_.each(slots_, context, [&](std::uint32_t slot) { out.push_back(entry(slot)); });
    return;
  }
  for (std::uint32_t slot = first_; slot != none; slot = slots_[slot].links.next) {
    if (slots_[slot].context == context) out.push_back(entry(slot));
  }
}

template <Side side>
void FlatQueue<side>::go_deep() {
  if (next_sequence_ >= none - short_length) next_sequence_ = 1;
  // All memory first: an exception leaves the queue short. A log's and an index's first allocation
  // holds a whole short queue, so that the second round allocates nothing.
  index_.reserve(whole(), slots_.capacity());
  for (std::uint32_t slot = first_; slot != none; slot = slots_[slot].links.next) {
    reserve_links(slots_[slot].envelope());
  }
  for (std::uint32_t slot = first_; slot != none;) {
    std::uint32_t next = slots_[slot].links.next;
    reserve_links(slots_[slot].envelope());
    link(slot, slots_[slot].envelope());
    slot = next;
  }
  deep_ = true;
}

template <Side side>
void FlatQueue<side>::go_short() {
  // Ordered within each communicator, which is all that matching needs.
  std::uint32_t slots[back_to_short];
  std::uint32_t count = 0;
  logs_.each(slots_, [&](std::uint32_t slot) { slots[count++] = slot; });
  for (std::uint32_t i = 0; i < count; ++i) unlink(known(slots[i]), slots_[slots[i]].envelope());
  first_ = last_ = none;
  for (std::uint32_t i = 0; i < count; ++i) append_short(slots[i]);
  logs_.clear();
  by_source_.on = by_tag_.on = false;
  deep_ = false;
}

/// Sequence numbers have run out: gives the entries new ones from 1 on, in the old order of each
/// communicator.
template <Side side>
void FlatQueue<side>::renumber() {
  std::vector<std::uint32_t> live;
  live.reserve(count_);
  logs_.each(slots_, [&](std::uint32_t slot) { live.push_back(slot); });
  logs_.clear();
  next_sequence_ = 1;
  for (std::uint32_t slot : live) {
    slots_[slot].sequence = next_sequence_++;
    logs_.reserve(slots_, slots_[slot].context);
    logs_.append({slots_[slot].sequence, slot});
  }
}

/// Gives all memory back. The queue must be empty.
template <Side side>
void FlatQueue<side>::drop() {
  slots_.drop();
  index_.drop();
  wild_index_.drop();
  logs_.drop();
  by_source_.drop();
  by_tag_.drop();
}

template class FlatQueue<Side::receives>;
template class FlatQueue<Side::messages>;

}  // namespace hob::match::flat

namespace hob::match {

// Here, so that the queues are inlined into the engine.
std::unique_ptr<Engine> make_flat_engine(const Config& config) {
  return std::make_unique<
      EngineOf<flat::FlatQueue<flat::Side::receives>, flat::FlatQueue<flat::Side::messages>>>(
      config.observer);
}

}  // namespace hob::match
