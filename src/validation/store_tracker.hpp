// Whether this process stored to a range of its memory: asks the kernel, which tracks it in the
// page tables. The program is not touched.
#pragma once

#include <cstdint>

#include "validation/soft_dirty.hpp"

namespace hob::validation {

/// How stores are noticed. The first store to each page after track() costs a fault of about a
/// microsecond, which the kernel resolves by itself. System calls that store (read, recv) are seen
/// like the process's own stores; devices, and other processes that map the same memory, are not.
/// None needs a privilege.
enum class Tracking {
  none,
  /// Linux 6.7 and later: userfaultfd with asynchronous write protection, read by PAGEMAP_SCAN.
  write_protection,
  /// SoftDirty: no other thread of the process may store while a watch begins or is asked.
  soft_dirty,
  /// Nothing is watched: somebody promises that no stores come.
  promised,
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

  StoreTracker(const void* base, std::uint64_t bytes, Tracking tracking);
  ~StoreTracker();
  StoreTracker(const StoreTracker&) = delete;
  StoreTracker& operator=(const StoreTracker&) = delete;

  /// From now on stores are noticed. False if the kernel refuses this memory. About 10 us for each
  /// mebibyte of small pages; with soft-dirty bits, of all memory of the process, but once for all
  /// calls of the same `moment` (SoftDirty::watch).
  bool track(std::uint64_t moment = 0);

  bool active() const { return active_; }

  /// Whether anything was stored to since track(); if so, tracking ends. Whole pages are compared:
  /// what shares a page with the range counts. About 0.7 us for each mebibyte of small pages.
  bool written();

  /// Faults that watching has caused, at most, since this was asked last: pages that were stored to
  /// when written() said so, or whatever the process took since soft-dirty bits were cleared.
  std::uint64_t take_faults();

 private:
  bool register_pages();
  bool protect_pages() const;
  std::int64_t scan() const;

  Tracking tracking_;
  std::uintptr_t begin_, end_;  ///< whole pages
  SoftDirty::Range dirty_;
  bool registered_ = false;
  bool refused_ = false;
  bool active_ = false;
  std::uint64_t faults_ = 0;
};

/// Whether all of this memory is this process's own: no part of it is mapped by others too (files
/// and shared memory). Reads /proc/self/maps: some ten microseconds.
bool is_private_memory(const void* base, std::uint64_t bytes);

}  // namespace hob::validation
