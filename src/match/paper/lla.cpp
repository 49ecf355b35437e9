// The paper's linked list of arrays (section 3.1).
//
// A receive takes 24 bytes: 8 of tag and peer (rank and communicator in 4 bytes), 8 of masks, 8 of
// pointer; a message takes 16, having no masks. An array has 16 bytes more: the next array and
// where its used part starts and ends. So 2 receives or 3 messages fill a cache line, and twice as
// many two lines, and so on. A removed entry in the middle of an array becomes a hole: a peer and
// tag that no one has, and every bit of the mask set.

#include <stdexcept>
#include <type_traits>
#include <unordered_map>

#include "match/engine_of.hpp"
#include "match/paper/pool.hpp"
#include "match/strategies.hpp"

namespace hob::match {

namespace {

constexpr unsigned kSourceBits = 20;
constexpr std::uint32_t kNoSource = (1u << kSourceBits) - 1;
constexpr std::uint32_t kNoContext = (1u << (32 - kSourceBits)) - 1;
constexpr std::uint64_t kHole = ~std::uint64_t{0};
constexpr std::uint64_t kTagMask = 0xffffffffu;
constexpr std::uint64_t kSourceMask = std::uint64_t{kNoSource} << 32;

/// Short numbers for communicators, as the packed entries hold them.
class ContextNumbers {
 public:
  /// The number of a communicator, or no_context if it has none.
  std::uint32_t find(std::uint32_t context) {
    if (last_ < contexts_.size() && contexts_[last_] == context) return last_;
    auto found = numbers_.find(context);
    if (found == numbers_.end()) return kNoContext;
    return last_ = found->second;
  }

  /// The same, given a number if it has none. Throws std::length_error if all are in use.
  std::uint32_t make(std::uint32_t context) {
    std::uint32_t number = find(context);
    if (number != kNoContext) return number;
    number = unused();
    numbers_.emplace(context, number);
    contexts_[number] = context;
    return last_ = number;
  }

  std::uint32_t context(std::uint32_t number) const { return contexts_[number]; }
  void acquire(std::uint32_t number) { ++users_[number]; }
  void release(std::uint32_t number) { --users_[number]; }

 private:
  std::uint32_t unused() {
    if (contexts_.size() < kNoContext) {
      contexts_.push_back(0);
      users_.push_back(0);
      return static_cast<std::uint32_t>(contexts_.size() - 1);
    }
    for (std::uint32_t number = 0; number < kNoContext; ++number) {
      if (users_[number] != 0) continue;
      numbers_.erase(contexts_[number]);
      return number;
    }
    throw std::length_error("match: lla holds entries of 4095 communicators, no room for more");
  }

  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
  std::vector<std::uint32_t> contexts_;
  std::vector<std::size_t> users_;  // entries queued
  std::uint32_t last_ = 0;
};

struct Receive {
  std::uint64_t key;
  std::uint64_t mask;
  void* item;
};
static_assert(sizeof(Receive) == 24);

struct Message {
  std::uint64_t key;
  void* item;
};
static_assert(sizeof(Message) == 16);

template <bool receives>
class LlaQueue {
 public:
  LlaQueue(Memory& memory, unsigned receives_per_array)
      : capacity_(receives ? receives_per_array : receives_per_array / 2 * 3),
        pool_(memory, (sizeof(Head) + capacity_ * sizeof(Entry) + 63) / 64 * 64) {}

  Handle append(const Envelope& envelope, void* item) {
    if (envelope.source >= static_cast<std::int32_t>(kNoSource)) {
      throw std::length_error("match: lla has no room for ranks of 1048575 and more");
    }
    std::uint32_t context = contexts_.make(envelope.context);
    if (tail_ == nullptr || tail_->end == capacity_) {
      append_array();
    } else if (tail_->start == tail_->end) {
      tail_->start = tail_->end = 0;
      --empty_;
    }
    Entry& entry = tail_->entries()[tail_->end++];
    entry.key = key_of(context, envelope);
    if constexpr (receives) entry.mask = mask_of(envelope);
    entry.item = item;
    contexts_.acquire(context);
    ++count_;
    return reinterpret_cast<Handle>(&entry);
  }

  void* take(const Envelope& with) {
    std::uint32_t context = contexts_.find(with.context);
    if (context == kNoContext) return nullptr;
    std::uint64_t key = key_of(context, with);
    std::uint64_t mask = mask_of(with);
    Head* before = nullptr;
    for (Head* array = head_; array != nullptr;) {
      if (array->start == array->end) {  // emptied by remove()
        --empty_;
        array = drop_array(before, array);
        continue;
      }
      if (Entry* entry = search(array, key, mask)) {
        void* item = punch(array, entry);
        if (array->start == array->end) drop_array(before, array);
        return item;
      }
      before = array;
      array = array->next;
    }
    return nullptr;
  }

  std::optional<QueueEntry> find(const Envelope& want) {
    std::uint32_t context = contexts_.find(want.context);
    if (context == kNoContext) return std::nullopt;
    std::uint64_t key = key_of(context, want);
    std::uint64_t mask = mask_of(want);
    for (Head* array = head_; array != nullptr; array = array->next) {
      if (Entry* entry = search(array, key, mask)) return unpack(*entry);
    }
    return std::nullopt;
  }

  void* remove(Handle handle) {
    auto* entry = reinterpret_cast<Entry*>(handle);
    auto* array = static_cast<Head*>(pool_.node_of(entry));
    void* item = punch(array, entry);
    if (array->start == array->end && 2 * ++empty_ > count_ + 16) sweep();
    return item;
  }

  std::optional<QueueEntry> oldest(std::uint32_t context) const {
    std::optional<QueueEntry> found;
    each([&](const QueueEntry& entry) {
      if (entry.envelope.context != context) return true;
      found = entry;
      return false;
    });
    return found;
  }

  void collect(std::uint32_t context, std::vector<QueueEntry>& out) const {
    each([&](const QueueEntry& entry) {
      if (entry.envelope.context == context) out.push_back(entry);
      return true;
    });
  }

  std::size_t size() const { return count_; }

 private:
  using Entry = std::conditional_t<receives, Receive, Message>;

  struct Head {
    Head* next;
    std::uint32_t start;
    std::uint32_t end;
    Entry* entries() { return reinterpret_cast<Entry*>(this + 1); }
  };
  static_assert(sizeof(Head) == 16);

  static std::uint64_t key_of(std::uint32_t context, const Envelope& envelope) {
    // A rank that has no room has no receives: only receives from any source take its messages.
    auto source = static_cast<std::uint32_t>(envelope.source);
    if (source > kNoSource) source = kNoSource;
    return std::uint64_t{context << kSourceBits | source} << 32 |
           static_cast<std::uint32_t>(envelope.tag);
  }

  static std::uint64_t mask_of(const Envelope& envelope) {
    std::uint64_t mask = kHole;
    if (envelope.source == kAnySource) mask &= ~kSourceMask;
    if (envelope.tag == kAnyTag) mask &= ~kTagMask;
    return mask;
  }

  static Entry* search(Head* array, std::uint64_t key, [[maybe_unused]] std::uint64_t mask) {
    Entry* end = array->entries() + array->end;
    for (Entry* entry = array->entries() + array->start; entry != end; ++entry) {
      if constexpr (receives) {
        if (((entry->key ^ key) & entry->mask) == 0) return entry;
      } else {
        if (((entry->key ^ key) & mask) == 0) return entry;
      }
    }
    return nullptr;
  }

  QueueEntry unpack(Entry& entry) const {
    auto peer = static_cast<std::uint32_t>(entry.key >> 32);
    Envelope envelope{contexts_.context(peer >> kSourceBits),
                      static_cast<std::int32_t>(peer & kNoSource),
                      static_cast<std::int32_t>(entry.key & kTagMask)};
    if constexpr (receives) {
      if ((entry.mask & kSourceMask) == 0) envelope.source = kAnySource;
      if ((entry.mask & kTagMask) == 0) envelope.tag = kAnyTag;
    }
    return {envelope, entry.item, reinterpret_cast<Handle>(&entry)};
  }

  void append_array() {
    auto* array = static_cast<Head*>(pool_.allocate());
    array->next = nullptr;
    array->start = array->end = 0;
    (tail_ != nullptr ? tail_->next : head_) = array;
    tail_ = array;
  }

  /// Takes an array out of the list. Returns the one after it.
  Head* drop_array(Head* before, Head* array) {
    Head* next = array->next;
    (before != nullptr ? before->next : head_) = next;
    if (next == nullptr) tail_ = before;
    pool_.release(array);
    return next;
  }

  /// Makes an entry a hole and trims the used part of its array. Returns the entry's item.
  void* punch(Head* array, Entry* entry) {
    contexts_.release(static_cast<std::uint32_t>(entry->key >> (32 + kSourceBits)));
    void* item = entry->item;
    entry->key = kHole;
    if constexpr (receives) entry->mask = kHole;
    Entry* entries = array->entries();
    while (array->start != array->end && entries[array->start].key == kHole) ++array->start;
    while (array->start != array->end && entries[array->end - 1].key == kHole) --array->end;
    --count_;
    return item;
  }

  /// Frees the arrays that remove() has emptied.
  void sweep() {
    Head* before = nullptr;
    for (Head* array = head_; array != nullptr;) {
      if (array->start == array->end) {
        array = drop_array(before, array);
      } else {
        before = array;
        array = array->next;
      }
    }
    empty_ = 0;
  }

  /// Calls use(entry) in order, until it returns false.
  template <class Use>
  void each(Use&& use) const {
    for (Head* array = head_; array != nullptr; array = array->next) {
      for (std::uint32_t i = array->start; i < array->end; ++i) {
        Entry& entry = array->entries()[i];
        if (entry.key != kHole && !use(unpack(entry))) return;
      }
    }
  }

  std::uint32_t capacity_;
  Pool pool_;
  ContextNumbers contexts_;
  Head* head_ = nullptr;
  Head* tail_ = nullptr;
  std::size_t count_ = 0;
  std::size_t empty_ = 0;  // arrays in the list that have no entries
};

}  // namespace

std::unique_ptr<Engine> make_lla_engine(const Config& config) {
  return std::make_unique<EngineOf<LlaQueue<true>, LlaQueue<false>>>(config.observer,
                                                                     config.entries_per_array);
}

}  // namespace hob::match
