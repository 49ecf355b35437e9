// Whether this process stored to a range of its memory: asks the kernel, which tracks it in the
// page tables. The program is not touched.
#pragma once

#include <cstdint>
#include <optional>

#include "validation/edges.hpp"
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
  /// Nothing is watched: the user or the program promises that no stores come.
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

  /// In place of track(): watches a few of the pages only, for the price of so few faults. False if
  /// stores cannot be noticed so, or if there are few pages: track() is to be called.
  bool sample();
  bool sampling() const { return sampling_; }
  /// Whether anything was stored to these pages since sample(), but for those that the range shares
  /// with other data; if so, sampling ends.
  bool sample_written();
  /// Pages that track() watches, at most.
  std::uint64_t pages() const;

  /// Stores are not noticed any more, until track(). Nothing is left registered with the kernel.
  void stop();

  /// Whether other processes map the memory that is watched: known once it was.
  bool shared() const { return shared_; }

  /// Whether the first and the last bytes were compared, since other data on their pages were
  /// stored to after track(), or they cannot be watched. Then written() says no where they are what
  /// they were in track(), though they may have been others in between.
  bool compares_edges() const { return compares_edges_; }

  /// The bytes that are compared, or would be, as they were in track(). False if unknown.
  bool show_edges(ShownEdges& to) const { return active_ && (!edges_.any() || edges_.show(to)); }

  /// Whether stores are noticed through the page tables, so that it matters who passes them.
  bool watches_pages() const { return tracking_ != Tracking::promised && !range_.empty(); }

  bool active() const { return active_; }

  /// Whether anything was stored to since track(); if so, tracking ends. Pages that the range
  /// shares with other data count only if bytes of the range differ: see compares_edges(). About 2
  /// us for each mebibyte of small pages.
  bool written();

  /// What written() found, in words.
  const char* found() const { return found_; }

  /// Faults that watching has caused, at most, since this was asked last: pages that were stored to
  /// when written() said so, or whatever the process took since soft-dirty bits were cleared.
  std::uint64_t take_faults();

 private:
  bool watch_pages(WatchedPages::Extent extent);
  bool watch_bits(std::uint64_t moment);
  /// What the memory is mapped from decides what can be known of it; false: nothing.
  bool know_memory();
  bool watch(std::uint64_t moment);
  void watch_only(const PageRange& range);
  bool narrow();
  StoredPages changed() const;

  Tracking tracking_;
  Owner owner_;
  Edges edges_;
  PageRange range_;  ///< what is watched
  std::optional<WatchedPages> pages_;
  SoftDirty::Range dirty_;
  WatchedPages::Absent absent_ = WatchedPages::Absent::none;
  bool shared_ = false;
  bool refused_ = false;
  bool active_ = false;
  bool sampling_ = false;
  bool narrowed_ = false;  ///< only pages without other data are watched
  bool compares_edges_ = false;
  const char* found_ = "";
  std::uint64_t faults_ = 0;
};

}  // namespace hob::validation
