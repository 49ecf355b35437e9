#include "match/flat/flat_queue.hpp"

#include <algorithm>

#include "match/strategies.hpp"

namespace hob::match::flat {

template <Side side>
template <bool keep_source>
void FlatQueue<side>::PartIndex<keep_source>::reserve(const Slots& slots) {
  index.reserve();
  if (ring.capacity() < slots.capacity()) ring.resize(slots.capacity(), ring.capacity());
}

template <Side side>
template <bool keep_source>
void FlatQueue<side>::PartIndex<keep_source>::append(Slots& slots, std::uint32_t slot) {
  Envelope key = access(slots).key(slot);
  index.append(access(slots), slot, key, hash_of(key));
}

template <Side side>
template <bool keep_source>
void FlatQueue<side>::PartIndex<keep_source>::remove(Slots& slots, std::uint32_t slot) {
  Envelope key = access(slots).key(slot);
  index.remove(access(slots), index.find(access(slots), key, hash_of(key)), slot);
}

template <Side side>
template <bool keep_source>
std::uint32_t FlatQueue<side>::PartIndex<keep_source>::oldest(Slots& slots, const Envelope& want) {
  std::uint32_t cell = index.find(access(slots), want, hash_of(want));
  return cell == none ? none : index.head(cell);
}

template <Side side>
template <bool keep_source>
void FlatQueue<side>::PartIndex<keep_source>::drop() {
  index.drop();
  ring.resize(0, 0);
}

template <Side side>
bool FlatQueue<side>::fits(const Slot& slot, const Envelope& with) {
  // No branches but one: which part differs cannot be predicted.
  if constexpr (side == Side::receives) {
    return (slot.context == with.context) &
           ((slot.source == with.source) | (slot.source == any_source)) &
           ((slot.tag == with.tag) | (slot.tag == any_tag));
  } else {
    return (slot.context == with.context) &
           ((slot.source == with.source) | (with.source == any_source)) &
           ((slot.tag == with.tag) | (with.tag == any_tag));
  }
}

/// The place in short_ of the oldest entry that fits, or none.
template <Side side>
std::uint32_t FlatQueue<side>::search_short(const Envelope& with) const {
  for (std::uint32_t place = 0; place < count_; ++place) {
    if (fits(slots_[short_[place]], with)) return place;
  }
  return none;
}

/// The oldest slot that fits, or none; its cell in the main index if the search has found it.
template <Side side>
std::uint32_t FlatQueue<side>::search_keys(const Envelope& with, std::uint32_t* cell) {
  *cell = none;
  if constexpr (side == Side::receives) {
    std::uint32_t best = none;
    auto look_up = [&](const Envelope& key) {
      std::uint32_t at = index_.find(whole(), key, hash_of(key));
      if (at == none) return;
      std::uint32_t slot = index_.head(at);
      if (best != none && slots_[best].sequence < slots_[slot].sequence) return;
      best = slot;
      *cell = at;
    };
    look_up(with);
    if (any_source_only_ != 0) look_up({with.context, any_source, with.tag});
    if (any_tag_only_ != 0) look_up({with.context, with.source, any_tag});
    if (any_both_ != 0) look_up({with.context, any_source, any_tag});
    return best;
  } else {
    if (with.source != any_source && with.tag != any_tag) {
      *cell = index_.find(whole(), with, hash_of(with));
      return *cell == none ? none : index_.head(*cell);
    }
    if (with.source != any_source) {
      if (!by_source_.on) make_part(by_source_);
      return by_source_.oldest(slots_, with);
    }
    if (with.tag != any_tag) {
      if (!by_tag_.on) make_part(by_tag_);
      return by_tag_.oldest(slots_, with);
    }
    return logs_.oldest(slots_, with.context);
  }
}

template <Side side>
template <class Index>
void FlatQueue<side>::make_part(Index& part) {
  part.on = true;
  logs_.each(slots_, [&](std::uint32_t slot) {
    part.reserve(slots_);
    part.append(slots_, slot);
  });
}

template <Side side>
void FlatQueue<side>::count_wildcards(const Envelope& envelope, std::uint32_t change) {
  if constexpr (side == Side::receives) {
    if (envelope.source == any_source) {
      (envelope.tag == any_tag ? any_both_ : any_source_only_) += change;
    } else if (envelope.tag == any_tag) {
      any_tag_only_ += change;
    }
  }
}

template <Side side>
void FlatQueue<side>::reserve_links(const Envelope& envelope) {
  index_.reserve();
  logs_.reserve(slots_, envelope.context);
  if constexpr (side == Side::messages) {
    if (by_source_.on) by_source_.reserve(slots_);
    if (by_tag_.on) by_tag_.reserve(slots_);
  }
}

/// Makes a slot that is filled in known to the indexes. After reserve_links().
template <Side side>
void FlatQueue<side>::link(std::uint32_t slot) {
  Envelope envelope = slots_[slot].envelope();
  slots_[slot].sequence = next_sequence_++;
  index_.append(whole(), slot, envelope, hash_of(envelope));
  logs_.append({slots_[slot].sequence, slot});
  count_wildcards(envelope, 1);
  if constexpr (side == Side::messages) {
    if (by_source_.on) by_source_.append(slots_, slot);
    if (by_tag_.on) by_tag_.append(slots_, slot);
  }
}

template <Side side>
void FlatQueue<side>::unlink(std::uint32_t slot, std::uint32_t cell) {
  Envelope envelope = slots_[slot].envelope();
  if (cell == none) cell = index_.find(whole(), envelope, hash_of(envelope));
  index_.remove(whole(), cell, slot);
  count_wildcards(envelope, -1u);
  if constexpr (side == Side::messages) {
    if (by_source_.on) by_source_.remove(slots_, slot);
    if (by_tag_.on) by_tag_.remove(slots_, slot);
  }
}

template <Side side>
Handle FlatQueue<side>::append(const Envelope& envelope, void* item) {
  slots_.reserve();
  if (!deep_ && count_ == short_length) go_deep();
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
  if (deep_) {
    link(slot);
  } else {
    short_[count_] = slot;
  }
  ++count_;
  return slot;
}

template <Side side>
void* FlatQueue<side>::free_slot(std::uint32_t slot) {
  void* item = slots_[slot].item;
  slots_.release(slot);
  if (--count_ == 0) reset_if_empty();
  return item;
}

template <Side side>
void* FlatQueue<side>::remove_short(std::uint32_t place) {
  std::uint32_t slot = short_[place];
  for (std::uint32_t i = place + 1; i < count_; ++i) short_[i - 1] = short_[i];
  return free_slot(slot);
}

template <Side side>
void* FlatQueue<side>::remove_deep(std::uint32_t slot, std::uint32_t cell) {
  unlink(slot, cell);
  void* item = free_slot(slot);
  if (count_ <= back_to_short) go_short();
  return item;
}

template <Side side>
void* FlatQueue<side>::take(const Envelope& with) {
  if (!deep_) {
    std::uint32_t place = search_short(with);
    return place == none ? nullptr : remove_short(place);
  }
  std::uint32_t cell;
  std::uint32_t slot = search_keys(with, &cell);
  return slot == none ? nullptr : remove_deep(slot, cell);
}

template <Side side>
std::optional<QueueEntry> FlatQueue<side>::find(const Envelope& want) {
  std::uint32_t slot;
  if (deep_) {
    std::uint32_t cell;
    slot = search_keys(want, &cell);
  } else {
    std::uint32_t place = search_short(want);
    slot = place == none ? none : short_[place];
  }
  if (slot == none) return std::nullopt;
  return entry(slot);
}

template <Side side>
void* FlatQueue<side>::remove(Handle handle) {
  auto slot = static_cast<std::uint32_t>(handle);
  if (deep_) return remove_deep(slot, none);
  std::uint32_t place = 0;
  while (short_[place] != slot) ++place;
  return remove_short(place);
}

template <Side side>
std::optional<QueueEntry> FlatQueue<side>::oldest(std::uint32_t context) const {
  if (deep_) {
    std::uint32_t slot = logs_.oldest(slots_, context);
    if (slot == none) return std::nullopt;
    return entry(slot);
  }
  for (std::uint32_t place = 0; place < count_; ++place) {
    if (slots_[short_[place]].context == context) return entry(short_[place]);
  }
  return std::nullopt;
}

template <Side side>
void FlatQueue<side>::collect(std::uint32_t context, std::vector<QueueEntry>& out) const {
  if (deep_) {
    logs_.each(slots_, context, [&](std::uint32_t slot) { out.push_back(entry(slot)); });
    return;
  }
  for (std::uint32_t place = 0; place < count_; ++place) {
    if (slots_[short_[place]].context == context) out.push_back(entry(short_[place]));
  }
}

template <Side side>
void FlatQueue<side>::go_deep() {
  if (next_sequence_ >= none - short_length) next_sequence_ = 1;
  // All memory first: an exception leaves the queue short. A log's first allocation holds a whole
  // short queue, so that the second round allocates nothing.
  for (std::uint32_t place = 0; place < count_; ++place) {
    logs_.reserve(slots_, slots_[short_[place]].context);
  }
  while (index_.capacity() < 4 * short_length) index_.reserve();
  for (std::uint32_t place = 0; place < count_; ++place) {
    reserve_links(slots_[short_[place]].envelope());
    link(short_[place]);
  }
  deep_ = true;
}

template <Side side>
void FlatQueue<side>::go_short() {
  std::uint32_t place = 0;
  logs_.each(slots_, [&](std::uint32_t slot) { short_[place++] = slot; });
  std::sort(short_, short_ + place, [&](std::uint32_t a, std::uint32_t b) {
    return slots_[a].sequence < slots_[b].sequence;
  });
  for (std::uint32_t i = 0; i < place; ++i) unlink(short_[i], none);
  logs_.clear();
  by_source_.on = by_tag_.on = false;
  deep_ = false;
}

/// Sequence numbers have run out: gives the entries new ones from 1 on, in the old order.
template <Side side>
void FlatQueue<side>::renumber() {
  std::vector<std::uint32_t> live;
  live.reserve(count_);
  logs_.each(slots_, [&](std::uint32_t slot) { live.push_back(slot); });
  std::sort(live.begin(), live.end(), [&](std::uint32_t a, std::uint32_t b) {
    return slots_[a].sequence < slots_[b].sequence;
  });
  logs_.clear();
  next_sequence_ = 1;
  for (std::uint32_t slot : live) {
    slots_[slot].sequence = next_sequence_++;
    logs_.reserve(slots_, slots_[slot].context);
    logs_.append({slots_[slot].sequence, slot});
  }
}

template <Side side>
void FlatQueue<side>::reset_if_empty() {
  if (slots_.capacity() <= keep_capacity) {
    slots_.reset();
    return;
  }
  slots_.drop();
  index_.drop();
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
