#include "validation/soft_dirty.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "os/memory.hpp"

namespace hob::validation {
namespace {

// Bits of an entry of /proc/PID/pagemap.
constexpr std::uint64_t kSoftDirty = std::uint64_t{1} << 55;
constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61;   // or of memory that is shared
constexpr std::uint64_t kPresent = std::uint64_t{3} << 62;  // in memory, or swapped out

std::uint64_t faults_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt);
}

/// Whether a store to a page of its own shows, and only a store.
bool shows_a_store(SoftDirty& tracker) {
  const std::uintptr_t page = os::page_bytes();
  void* const memory =
      ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* const word = static_cast<volatile int*>(memory);
  *word = 1;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  SoftDirty::Range range;
  range.begin = begin;
  range.end = begin + page;
  bool shows = tracker.track(range, 0) && tracker.pages_written(range).count == 0;
  *word = 2;
  shows = shows && tracker.pages_written(range).count == 1;
  tracker.forget(range);
  ::munmap(memory, page);
  return shows;
}

}  // namespace

SoftDirty::SoftDirty()
    : pagemap_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)),
      clear_refs_(::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC)),
      owner_(::getpid()) {
  void* const page =
      ::mmap(nullptr, os::page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) mark_ = static_cast<volatile int*>(page);
}

/// A program may close all descriptors that it knows nothing of, and open others.
bool SoftDirty::usable() const {
  return owner_ == ::getpid() && mark_ != nullptr && pagemap_.get() >= 0 && clear_refs_.get() >= 0;
}

/// The process stores to its own page after each clearing: without the bit, another program
/// cleared.
bool SoftDirty::cleared_by_others() const {
  std::uint64_t entry = 0;
  const auto at = reinterpret_cast<std::uintptr_t>(mark_) / os::page_bytes() * sizeof entry;
  return ::pread(pagemap_.get(), &entry, sizeof entry, static_cast<off_t>(at)) != sizeof entry ||
         (entry & kSoftDirty) == 0;
}

SoftDirty& SoftDirty::process() {
  static auto* const one = new SoftDirty;  // windows may outlive static objects
  return *one;
}

bool SoftDirty::available() {
  static const bool shows = shows_a_store(process());
  return shows && process().owner_ == ::getpid();
}

/// Calls visit() with the entry of each page. False if they cannot be read.
template <class Visit>
bool SoftDirty::each_page(const Range& range, Visit visit) const {
  const int pagemap = pagemap_.get();
  std::array<std::uint64_t, 512> entries;
  const std::uintptr_t page = os::page_bytes();
  for (std::uintptr_t at = range.begin; at < range.end;) {
    const std::size_t pages = std::min<std::size_t>((range.end - at) / page, entries.size());
    const std::size_t bytes = pages * sizeof entries[0];
    const auto offset = static_cast<off_t>(at / page * sizeof entries[0]);
    if (::pread(pagemap, entries.data(), bytes, offset) != static_cast<ssize_t>(bytes))
      return false;
    for (std::size_t i = 0; i < pages; ++i) visit(entries[i]);
    at += pages * page;
  }
  return true;
}

bool SoftDirty::clear() {
  if (!usable()) return false;
  for (Range* range : tracked_) range->written = pages_written(*range);
  if (::write(clear_refs_.get(), "4", 1) != 1) return false;
  *mark_ = 1;
  faults_ = faults_so_far();
  return true;
}

bool SoftDirty::track(Range& range, std::uint64_t moment) {
  forget(range);
  if (moment == 0 || moment != moment_) {
    moment_ = 0;
    if (!clear()) return false;
    moment_ = moment;
  }
  range.present.clear();
  bool whole = true;
  const bool read = each_page(range, [&](std::uint64_t entry) {
    range.present.push_back((entry & kPresent) != 0);
    whole = whole && (entry & kPresent) != 0 && (entry & kOfFile) == 0;
  });
  if (!read || (range.whole && !whole)) return false;
  tracked_.push_back(&range);
  range.watched = true;
  range.written = {};
  return true;
}

void SoftDirty::forget(Range& range) {
  std::erase(tracked_, &range);
  range.watched = false;
}

StoredPages SoftDirty::pages_written(const Range& range) const {
  if (range.written.inside) return range.written;
  if (!usable()) return {-1, true};
  if (cleared_by_others()) return {1, true};
  StoredPages written = range.written;
  std::size_t page = 0;
  const bool read = each_page(range, [&](std::uint64_t entry) {
    const bool given_back = range.present[page] && (entry & kPresent) == 0;
    const std::uintptr_t at = range.begin + page++ * os::page_bytes();
    if ((entry & kSoftDirty) == 0 && !given_back) return;
    ++written.count;
    written.inside = written.inside || range.inside(at, at + os::page_bytes()) != 0;
  });
  return read ? written : StoredPages{-1, true};
}

std::uint64_t SoftDirty::take_faults() {
  const std::uint64_t now = faults_so_far();
  const std::uint64_t since = now - faults_;
  faults_ = now;
  return since;
}

}  // namespace hob::validation
