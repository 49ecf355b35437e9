#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "cache/cache.hpp"

namespace hob::cache {

/// Fetched contiguous bytes that several processes share: a log in memory that all of them map.
///
/// Whoever fetched something appends a record, which overwrites the oldest ones; an index of
/// buckets, a cache line each, finds it. Everything may be lost at any time, and nothing is ever
/// waited for: not for a lock, nor for a process that died or sleeps halfway through. What find()
/// returns is whole:
///
/// - A writer first moves `head` past its room and then writes there. A reader copies first and
///   then looks whether `head` has come round to the record: if it has not, no writer had begun to
///   overwrite it.
/// - A writer announces, before it takes room, from where on it may be writing. Another one that
///   would come round to a place where another process is still writing drops what it has instead.
///
/// When a record may be used follows from a clock that all processes share (docs/consistency.md): a
/// record carries what it said before its get was issued.
///
/// One object per process (or thread) and log; its calls are serialised by the caller, except
/// now(), which any thread may call. Nothing throws or allocates.
class SharedLog {
 public:
  /// Whether `bytes` of memory suffice for so many writers.
  static bool fits(std::uint64_t bytes, std::uint32_t writers);

  /// Prepares zeroed memory, aligned to 64 bytes; by one process, before the others use it.
  static void format(void* memory, std::uint64_t bytes, std::uint32_t writers);

  /// The same memory, size and number of writers in all processes; each with a number of its own as
  /// a writer, below `writers`.
  SharedLog(void* memory, std::uint64_t bytes, std::uint32_t writers, std::uint32_t writer);

  SharedLog(const SharedLog&) = delete;
  SharedLog& operator=(const SharedLog&) = delete;

  /// The clock. What is issued after this call is later than what it returns.
  std::uint64_t now() const { return clock_->load(std::memory_order_acquire); }

  /// Moves the clock on. Records whose `issued` is not below the result come from gets that were
  /// issued after this call began.
  std::uint64_t advance() { return clock_->fetch_add(1, std::memory_order_seq_cst) + 1; }

  /// Appends the bytes fetched from `key` (of contiguous bytes: its layout is 0, or that of a
  /// block) by a get that was issued when now() said `issued`. `ticks` is handed on to who finds
  /// it. False: not kept.
  bool insert(const Key& key, const void* data, std::uint64_t bytes, std::uint64_t issued,
              std::uint64_t ticks);

  /// Copies the first `bytes` bytes at `key`, from a record issued at `floor` or later. False:
  /// there is none, and what `to` points to has any content.
  bool find(const Key& key, std::uint64_t bytes, std::uint64_t floor, void* to,
            std::uint64_t& ticks) const;

  /// The same from a block that holds these bytes, or from two blocks side by side; the older one's
  /// ticks.
  bool find_in_blocks(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes,
                      std::uint64_t floor, void* to, std::uint64_t& ticks);

  /// insert() in two steps, at most one pair at a time.
  struct Room {
    std::uint64_t position = 0;
    explicit operator bool() const { return position != 0; }
  };
  Room claim(std::uint64_t bytes);
  void commit(Room room, const Key& key, const void* data, std::uint64_t bytes,
              std::uint64_t issued, std::uint64_t ticks);

  /// Of the log itself, in bytes, its records' headers included.
  std::uint64_t capacity() const { return capacity_ * sizeof(Word); }

 private:
  // Positions and lengths are in words. Loads that acquire and stores that release cost nothing on
  // x86, and other than fences they are understood by the thread sanitizer.
  using Word = std::atomic<std::uint64_t>;
  static_assert(Word::is_always_lock_free && sizeof(Word) == sizeof(std::uint64_t));

  Word* bucket(std::uint64_t hash) const;
  std::pair<Word*, std::uint64_t> mark(std::uint64_t hash) const;
  bool copy(const Key& key, std::uint64_t offset, std::uint64_t bytes, std::uint64_t floor,
            void* to, std::uint64_t& ticks) const;
  Word& at(std::uint64_t position) const { return ring_[position % capacity_]; }

  Word* head_;  ///< where the next record begins; never 0
  /// Bit `shift` is set if a process has put blocks of 1 << shift bytes. Beside the head, which is
  /// read anyway.
  Word* block_sizes_;
  Word* clock_;
  Word* writing_;  ///< of each writer, a line each: nothing before it is being written; 0: nothing
  /// A bit for each cell of the index, set for good when something is put there: most lookups are
  /// of the keys that no process has put, and a page of the index touched without a result costs a
  /// microsecond.
  Word* summary_;
  Word* index_;
  Word* ring_;
  std::uint64_t buckets_;
  std::uint64_t capacity_;
  std::uint32_t writers_;
  std::uint32_t writer_;
  std::uint32_t last_shift_ = 0;  ///< of the blocks that served last
  std::uint64_t safe_until_ = 0;  ///< no process is writing where a record that ends here would be
};

}  // namespace hob::cache
