// Whether this process stored to a range of its memory: asks the kernel, which tracks it in the
// page tables. The program is not touched.
#pragma once

#include <cstdint>

#include "validation/soft_dirty.hpp"
#include "validation/watched_pages.hpp"

namespace hob::validation {

/// How stores are noticed. The first store to each page after track() costs a fault of about a
/// microsecond, which the kernel resolves by itself. System calls that store (read, recv) are seen
/// like the process's own stores; devices that store to pinned pages, and other processes that map
/// the same memory, are not (unseen_stores.hpp, children.hpp). None needs a privilege.
enum class Tracking {
  none,
  /// Linux 6.7 and later: WatchedPages.
  write_protection,
  /// SoftDirty: no other thread of the process may store while a watch begins or is asked.
  soft_dirty,
  /// Nothing is watched: somebody promises that no stores come.
  promised,
};

/// Whose memory may be watched.
enum class Owner {
  process,  ///< no other process maps it: else it is refused
  library,  ///< others may, but only this process stores, and its children
};

/// Not thread safe, but with write protection stores may come from any thread: one that came before
/// written() is seen.
class StoreTracker {
 public:
  /// The best way that this machine's kernel has, and lets this process use. `threads`: others may
  /// store at any time.
  static Tracking best(bool threads);

  /// Whether the kernel has this way.
  static bool available(Tracking tracking);

  StoreTracker(const void* base, std::uint64_t bytes, Tracking tracking,
               Owner owner = Owner::process);
  ~StoreTracker();
  StoreTracker(const StoreTracker&) = delete;
  StoreTracker& operator=(const StoreTracker&) = delete;

  /// From now on stores are noticed. False, and for good, if memory of this kind cannot be watched:
  /// other processes may map it, or a page shows a file. About 4 us for each mebibyte of small
  /// pages that are there; with soft-dirty bits, of all memory of the process, but once for all
  /// calls of the same `moment` (SoftDirty::track).
  bool track(std::uint64_t moment = 0);

  /// Stores are not noticed any more, until track(). Nothing is left registered with the kernel.
  void stop();

  /// Whether other processes map the memory: known once it was watched.
  bool shared() const { return shared_; }

  bool active() const { return active_; }

  /// Whether anything was stored to since track(); if so, tracking ends. Whole pages are compared:
  /// what shares a page with the range counts. About 2 us for each mebibyte of small pages.
  bool written();

  /// Faults that watching has caused, at most, since this was asked last: pages that were stored to
  /// when written() said so, or whatever the process took since soft-dirty bits were cleared.
  std::uint64_t take_faults();

 private:
  bool watch_pages();
  bool watch_bits(std::uint64_t moment);
  /// What the memory is mapped from decides what can be known of it; false: nothing.
  bool know_memory();
  std::int64_t changed() const;

  Tracking tracking_;
  Owner owner_;
  std::uintptr_t begin_, end_;  ///< whole pages
  WatchedPages pages_;
  SoftDirty::Range dirty_;
  WatchedPages::Absent absent_ = WatchedPages::Absent::none;
  bool shared_ = false;
  bool refused_ = false;
  bool active_ = false;
  std::uint64_t faults_ = 0;
};

}  // namespace hob::validation
