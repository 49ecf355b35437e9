// Whether this process stored to a range of its memory: asks the kernel, which tracks it in the
// page tables. The program is not touched.
#pragma once

#include <cstdint>

namespace hob::validation {

/// Linux 6.7 and later: userfaultfd with asynchronous write protection, read by PAGEMAP_SCAN. The
/// first store to each page after watch() costs a fault of about a microsecond, which the kernel
/// resolves by itself. System calls that store (read, recv) are seen like the process's own stores;
/// devices, and other processes that map the same memory, are not. Needs no privilege.
///
/// Not thread safe, but stores may come from any thread: one that came before written() is seen.
class StoreWatch {
 public:
  /// Whether this machine's kernel can do it, and lets this process.
  static bool available();

  StoreWatch(const void* base, std::uint64_t bytes);
  ~StoreWatch();
  StoreWatch(const StoreWatch&) = delete;
  StoreWatch& operator=(const StoreWatch&) = delete;

  /// From now on stores are noticed. False if the kernel refuses this memory. About 10 us for each
  /// mebibyte of small pages.
  bool watch();

  bool watching() const { return watching_; }

  /// Whether anything was stored to since watch(); if so, watching ends. Whole pages are compared:
  /// what shares a page with the range counts. About 0.7 us for each mebibyte of small pages.
  bool written();

  /// Pages that were stored to when written() last said so.
  std::uint64_t pages_written() const { return pages_written_; }

 private:
  bool register_pages();
  bool protect_pages() const;

  std::uintptr_t begin_, end_;  ///< whole pages
  bool registered_ = false;
  bool refused_ = false;
  bool watching_ = false;
  std::uint64_t pages_written_ = 0;
};

/// Whether all of this memory is this process's own: no part of it is mapped by others too (files
/// and shared memory). Reads /proc/self/maps: some ten microseconds.
bool is_private_memory(const void* base, std::uint64_t bytes);

}  // namespace hob::validation
