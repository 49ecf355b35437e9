// Pages whose stores the kernel notes by write protection (userfaultfd, PAGEMAP_SCAN).
#pragma once

#include <atomic>
#include <cstdint>

#include "validation/stored_pages.hpp"

namespace hob::validation {

/// Linux 6.7 and later. Not thread safe, but for give_back(); stores may come from any thread.
class WatchedPages {
 public:
  /// Whether this kernel can, and lets this process.
  static bool available();

  explicit WatchedPages(const PageRange& range) : range_(range) {}
  ~WatchedPages() { remove(); }
  WatchedPages(const WatchedPages&) = delete;
  WatchedPages& operator=(const WatchedPages&) = delete;

  /// Registers the mappings that are there now. False if the kernel refuses: another page-fault
  /// handler of the program's may have them.
  bool add();
  /// Takes the registration back: nothing is left of it.
  void remove();
  bool added() const { return added_.load(std::memory_order_acquire); }

  /// What is known of pages that are not in the page tables.
  enum class Absent {
    zeros,    ///< anonymous memory: they read as zeros
    unknown,  ///< their bytes may change elsewhere; stores of this process bring them here
    none,     ///< there must not be any, nor pages of a file
  };
  enum class Extent {
    all,
    sample,  ///< kSampleSpans times kSpanPages pages, spread over the range
  };
  static constexpr std::uint64_t kSampleSpans = 8, kSpanPages = 4;

  /// Protects the pages that are there; the others need no page tables. False if a mapping is not
  /// the one that was registered, or has pages that must not be. About 4 us for each mebibyte of
  /// small pages.
  bool protect(Absent absent, Extent extent);

  /// Of the pages that were protected, those whose bytes may have changed since, at least one if
  /// any has. Counted are also pages that are gone, and mappings that came in place of those that
  /// were registered. About 2 us for each mebibyte of small pages.
  StoredPages changed() const;

  /// Whether it is the descriptor that all of this goes through.
  static bool is_own(int descriptor);

  /// The program registers [begin, end) with a page-fault handler of its own: what Hob watches of
  /// it is given back, for good. Then calls `then`, in which nothing is registered. Thread safe.
  static int give_back(std::uintptr_t begin, std::uintptr_t end, int (*then)(void*), void* data);

 private:
  void unregister();
  template <class Visit>
  bool scan_protected(std::uint64_t flags, std::uint64_t any_of, std::uint64_t wanted,
                      Visit visit) const;
  PageRange span(std::uint64_t index) const;
  std::uint64_t spans() const { return extent_ == Extent::all ? 1 : kSampleSpans; }

  PageRange range_;
  std::atomic<bool> added_{false};
  std::atomic<bool> given_back_{false};
  /// Another range has a page of this one, and protected it anew after a store.
  std::atomic<bool> stored_to_{false};
  std::atomic<bool> stored_inside_{false};  ///< likewise, and it holds no other data
  Absent absent_ = Absent::none;
  Extent extent_ = Extent::all;
  std::uint64_t bytes_ = 0;             ///< of the extent
  std::uint64_t bytes_inside_ = 0;      ///< of those, on pages without other data
  std::uint64_t protected_ = 0;         ///< pages
  std::uint64_t protected_inside_ = 0;  ///< bytes of those without other data
};

}  // namespace hob::validation
