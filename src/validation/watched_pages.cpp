#include "validation/watched_pages.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "base/lasting.hpp"
#include "os/memory.hpp"
#include "os/own_descriptor.hpp"
#include "os/page_scan.hpp"

namespace hob::validation {
namespace {

namespace page_is = os::page_is;

// Of newer headers than those that Hob is compiled with.
constexpr std::uint64_t kUserModeOnly = 1;                    // UFFD_USER_MODE_ONLY
constexpr std::uint64_t kWriteProtectShared = 1u << 12;       // UFFD_FEATURE_WP_HUGETLBFS_SHMEM
constexpr std::uint64_t kWriteProtectUnpopulated = 1u << 13;  // UFFD_FEATURE_WP_UNPOPULATED
constexpr std::uint64_t kWriteProtectAsync = 1u << 15;        // UFFD_FEATURE_WP_ASYNC
constexpr std::uint64_t kFeatures =
    kWriteProtectShared | kWriteProtectUnpopulated | kWriteProtectAsync;
constexpr std::uint64_t kProtect = 1u << 0;  // PM_SCAN_WP_MATCHING
constexpr std::uint64_t kRefuse = 1u << 1;   // PM_SCAN_CHECK_WPASYNC

/// Without the functions that Hob puts in front of the system's.
template <class Argument>
long control(int file, unsigned long request, Argument* argument) {
  return ::syscall(SYS_ioctl, file, request, argument);
}

/// Ranges that are registered. Apart, so that programs that never had one open nothing.
std::atomic<std::size_t> registered_ranges{0};

/// Two descriptors. After fork() they still speak of the parent's memory, so they are the process's
/// alone that opened them.
struct Kernel {
  os::OwnDescriptor faults;
  os::OwnDescriptor pages;
  pid_t owner = ::getpid();
  std::mutex lock;
  std::vector<WatchedPages*> registered;

  Kernel() {
    faults = os::OwnDescriptor(
        static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kUserModeOnly)));
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = kFeatures;
    if (control(faults.get(), UFFDIO_API, &api) == 0)
      pages = os::OwnDescriptor(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    else
      close();
  }

  /// Where the kernel cannot do what is needed: an open descriptor of this kind that is not used
  /// looks as if the program had it (unseen_stores.hpp).
  void close() {
    faults = {};
    pages = {};
  }

  /// A program may close all descriptors that it knows nothing of, and open others.
  bool usable() const { return owner == ::getpid() && faults.get() >= 0 && pages.get() >= 0; }
};

Kernel& kernel() { return lasting<Kernel>(); }

/// Calls visit() with each region of pages that have one of the categories (all, if 0), and what of
/// `wanted` they are. False if the kernel refuses.
template <class Visit>
bool scan(std::uintptr_t begin, std::uintptr_t end, std::uint64_t flags, std::uint64_t any_of,
          std::uint64_t wanted, Visit visit) {
  std::array<os::ScanRegion, 128> regions;
  os::ScanArguments all{};
  all.size = sizeof all;
  all.flags = flags;
  all.end = end;
  all.vec = reinterpret_cast<std::uintptr_t>(regions.data());
  all.vec_len = regions.size();
  all.category_anyof_mask = any_of;
  all.return_mask = wanted;
  for (all.start = begin; all.start < end; all.start = all.walk_end) {
    const long found = control(kernel().pages.get(), os::kScanPages, &all);
    if (found < 0 || all.walk_end <= all.start) return false;
    for (long i = 0; i < found; ++i) visit(regions[static_cast<std::size_t>(i)]);
  }
  return true;
}

std::uint64_t pages_in(const os::ScanRegion& region) {
  return (region.end - region.start) / os::page_bytes();
}

/// Of these it is counted how many are protected. Pages of files that are swapped out look like
/// those that were cut out of the file, or given back.
std::uint64_t countable(WatchedPages::Absent absent) {
  return absent == WatchedPages::Absent::zeros ? page_is::kPresent | page_is::kSwapped
                                               : page_is::kPresent;
}

}  // namespace

bool WatchedPages::available() {
  static const bool can = [] {
    const auto page = os::page_bytes();
    const auto here = reinterpret_cast<std::uintptr_t>(&kernel()) / page * page;
    const bool scans = kernel().pages.get() >= 0 &&
                       scan(here, here + page, 0, 0, page_is::kWatched, [](const auto&) {});
    if (!scans) kernel().close();
    return scans;
  }();
  return can && kernel().owner == ::getpid();
}

bool WatchedPages::is_own(int descriptor) {
  return available() && descriptor == kernel().faults.get() && kernel().usable();
}

bool WatchedPages::add() {
  if (!available() || !kernel().usable()) return false;
  const std::lock_guard guard(kernel().lock);
  if (given_back_) return false;
  uffdio_register all{};
  all.range = {range_.begin, range_.end - range_.begin};
  all.mode = UFFDIO_REGISTER_MODE_WP;
  if (control(kernel().faults.get(), UFFDIO_REGISTER, &all) != 0) return false;
  if (!added_) kernel().registered.push_back(this);
  registered_ranges = kernel().registered.size();
  added_ = true;
  return true;
}

void WatchedPages::unregister() {
  std::erase(kernel().registered, this);
  registered_ranges = kernel().registered.size();
  added_ = false;
  if (!kernel().usable()) return;
  uffdio_range range{range_.begin, range_.end - range_.begin};
  control(kernel().faults.get(), UFFDIO_UNREGISTER, &range);
}

void WatchedPages::remove() {
  if (!added_ || kernel().owner != ::getpid()) return;
  const std::lock_guard guard(kernel().lock);
  if (added_) unregister();
}

int WatchedPages::give_back(std::uintptr_t begin, std::uintptr_t end, int (*then)(void*),
                            void* data) {
  if (registered_ranges == 0 || kernel().owner != ::getpid()) return then(data);
  const std::lock_guard guard(kernel().lock);
  const std::vector<WatchedPages*> registered = kernel().registered;
  for (WatchedPages* each : registered) {
    if (!each->range_.overlaps(begin, end)) continue;
    each->given_back_ = true;
    each->unregister();
  }
  return then(data);
}

/// Of the pages that are, or are to be, protected.
PageRange WatchedPages::span(std::uint64_t index) const {
  if (extent_ == Extent::all) return range_;
  const std::uint64_t pages = (range_.end - range_.begin) / os::page_bytes();
  PageRange part = range_;
  part.begin += index * pages / kSampleSpans * os::page_bytes();
  part.end = std::min<std::uintptr_t>(part.begin + kSpanPages * os::page_bytes(), range_.end);
  return part;
}

template <class Visit>
bool WatchedPages::scan_protected(std::uint64_t flags, std::uint64_t any_of, std::uint64_t wanted,
                                  Visit visit) const {
  for (std::uint64_t i = 0; i < spans(); ++i) {
    const PageRange part = span(i);
    if (!scan(part.begin, part.end, flags, any_of, wanted, visit)) return false;
  }
  return true;
}

bool WatchedPages::protect(Absent absent, Extent extent) {
  if (!added_ || !kernel().usable()) return false;
  absent_ = absent;
  extent_ = extent;
  bytes_ = bytes_inside_ = 0;
  for (std::uint64_t i = 0; i < spans(); ++i) {
    const PageRange part = span(i);
    bytes_ += part.end - part.begin;
    bytes_inside_ += part.inside(part.begin, part.end);
  }
  protected_ = protected_inside_ = 0;
  stored_to_ = stored_inside_ = false;
  bool of_file = false;
  const std::lock_guard guard(kernel().lock);
  std::vector<WatchedPages*> others = kernel().registered;
  std::erase_if(others, [&](const WatchedPages* o) {
    return o == this || !o->range_.overlaps(range_.begin, range_.end);
  });
  std::uint64_t wanted = page_is::kWatched;
  if (absent == Absent::none) wanted |= page_is::kOfFile;
  if (!others.empty()) wanted |= page_is::kWritten;
  const auto count = [&](const os::ScanRegion& region) {
    protected_ += pages_in(region);
    protected_inside_ += range_.inside(region.start, region.end);
    of_file = of_file || (region.categories & page_is::kOfFile) != 0;
    if ((region.categories & page_is::kWritten) == 0) return;
    for (WatchedPages* each : others) {
      if (!each->range_.overlaps(region.start, region.end)) continue;
      each->stored_to_ = true;
      if (each->range_.inside(region.start, region.end) != 0) each->stored_inside_ = true;
    }
  };
  if (!scan_protected(kProtect | kRefuse, countable(absent), wanted, count)) return false;
  if (absent != Absent::none) return true;
  return !of_file && protected_ == bytes_ / os::page_bytes();
}

StoredPages WatchedPages::changed() const {
  if (!added_ || !available()) return {-1, true};
  const std::lock_guard guard(kernel().lock);
  if (stored_inside_) return {1, true};
  std::uint64_t watched = 0, watched_inside = 0, kept = 0, kept_inside = 0;
  std::uint64_t written = 0, written_inside = 0;
  constexpr std::uint64_t kWanted = page_is::kWatched | page_is::kWritten | page_is::kPresent |
                                    page_is::kSwapped | page_is::kZero;
  const bool done = scan_protected(0, 0, kWanted, [&](const os::ScanRegion& region) {
    const std::uint64_t is = region.categories;
    const std::uint64_t inside = range_.inside(region.start, region.end);
    if ((is & page_is::kWatched) != 0) {
      watched += region.end - region.start;
      watched_inside += inside;
    }
    // Some kernels call written what is not there.
    if ((is & (page_is::kPresent | page_is::kSwapped)) == 0) return;
    if ((is & page_is::kWritten) == 0) {
      if ((is & countable(absent_)) == 0) return;
      kept += pages_in(region);
      kept_inside += inside;
    } else if (absent_ != Absent::zeros || (is & page_is::kZero) == 0) {
      written += pages_in(region);  // not a page of zeros that was read
      written_inside += inside;
    }
  });
  if (!done) return {-1, true};
  // Pages that were protected and are not there any more are gone.
  const bool gone = kept != protected_ || watched != bytes_;
  const bool gone_inside = kept_inside != protected_inside_ || watched_inside != bytes_inside_;
  if (written == 0 && (stored_to_ || gone)) written = 1;
  return {static_cast<std::int64_t>(written), written_inside != 0 || gone_inside};
}

}  // namespace hob::validation
