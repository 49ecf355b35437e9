#include "os/mapped.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <memory>

#include "os/memory.hpp"
#include "os/own_descriptor.hpp"
#include "os/page_scan.hpp"

namespace hob::os {
namespace {

// PROCMAP_QUERY of Linux 6.11 and later, which newer headers than those that Hob is compiled with
// have.
struct MappingQuery {  // struct procmap_query
  std::uint64_t size, query_flags, query_addr;
  std::uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
  std::uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
  std::uint64_t vma_name_addr, build_id_addr;
};

constexpr unsigned long kQueryMapping = _IOWR('f', 17, MappingQuery);

/// What mappings are: PROCMAP_QUERY_VMA_...
namespace mapping_is {
constexpr std::uint64_t kReadable = 1U << 0U, kShared = 1U << 3U;
}

OwnDescriptor open_own(const char* path) {
  return OwnDescriptor(::open(path, O_RDONLY | O_CLOEXEC));
}

/// Both files, open since they were needed first: opening them takes longer than what is asked.
/// After fork() they would speak of the parent's memory.
struct ProcFiles {
  int owner = ::getpid();
  OwnDescriptor maps = open_own("/proc/self/maps");
  OwnDescriptor pagemap = open_own("/proc/self/pagemap");
};

/// What the last call that needed the files left for the next one. Of this process.
std::atomic<ProcFiles*> spare{nullptr};

/// The files for one call of one thread. The next call finds them here; of several threads, one
/// leaves them.
class BorrowedFiles {
 public:
  BorrowedFiles() : files_(spare.exchange(nullptr, std::memory_order_acquire)) {
    if (files_ && files_->owner == ::getpid() && look()) return;
    files_.reset();  // first: new descriptors of the same files may have the old numbers
    files_ = std::make_unique<ProcFiles>();
    look();
  }
  ~BorrowedFiles() { files_.reset(spare.exchange(files_.release(), std::memory_order_acq_rel)); }
  BorrowedFiles(const BorrowedFiles&) = delete;
  BorrowedFiles& operator=(const BorrowedFiles&) = delete;

  int maps() const { return maps_; }
  int pagemap() const { return pagemap_; }

 private:
  /// Once in a call: it takes system calls.
  bool look() {
    maps_ = files_->maps.get();
    pagemap_ = files_->pagemap.get();
    return maps_ >= 0 && pagemap_ >= 0;
  }

  std::unique_ptr<ProcFiles> files_;
  int maps_ = -1, pagemap_ = -1;
};

/// The entries of /proc/self/pagemap.
class PageMap {
 public:
  explicit PageMap(int file) : file_(file) {}

  /// Whether all pages of [begin, end) are in memory, or, if that is allowed, never were. Ends at
  /// the first one that is not.
  bool are_there(std::uintptr_t begin, std::uintptr_t end, bool or_untouched) {
    begin = begin / page_bytes() * page_bytes();
    end = (end - 1) / page_bytes() * page_bytes() + page_bytes();
    const long others = find_others(begin, end, or_untouched);
    return others >= 0 ? others == 0 : read(begin, end, or_untouched);
  }

 private:
  /// Asks the kernel for the first page that does not count: some nanoseconds a page. Negative
  /// where it cannot (before Linux 6.7).
  long find_others(std::uintptr_t begin, std::uintptr_t end, bool or_untouched) const {
    ScanRegion found{};
    ScanArguments scan{};
    scan.size = sizeof scan;
    scan.start = begin;
    scan.end = end;
    scan.vec = reinterpret_cast<std::uintptr_t>(&found);
    scan.vec_len = scan.max_pages = 1;
    scan.category_mask = scan.return_mask = or_untouched ? page_is::kSwapped : page_is::kPresent;
    if (!or_untouched) scan.category_inverted = page_is::kPresent;
    return ::ioctl(file_, kScanPages, &scan);
  }

  /// Reads an entry for each page.
  bool read(std::uintptr_t begin, std::uintptr_t end, bool or_untouched) {
    for (std::uint64_t page = begin / page_bytes(); page < end / page_bytes();) {
      const auto some = static_cast<std::ptrdiff_t>(
          std::min<std::uint64_t>(end / page_bytes() - page, entries_.size()));
      const std::size_t length = static_cast<std::size_t>(some) * sizeof entries_[0];
      const auto offset = static_cast<off_t>(page * sizeof entries_[0]);
      const bool good =
          ::pread(file_, entries_.data(), length, offset) == static_cast<ssize_t>(length) &&
          std::all_of(entries_.begin(), entries_.begin() + some, [&](std::uint64_t entry) {
            return (entry & kInMemory) != 0 || (or_untouched && (entry & kSwappedOrMarked) == 0);
          });
      if (!good) return false;
      page += static_cast<std::uint64_t>(some);
    }
    return true;
  }

  static constexpr std::uint64_t kInMemory = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kSwappedOrMarked = std::uint64_t{1} << 62;

  int file_;
  std::array<std::uint64_t, 2048> entries_;
};

/// What /proc/self/maps says of an address. The kernel is asked for one mapping where it can be
/// (Linux 6.11): the text has a line for each mapping below it, which takes half a millisecond in a
/// program of many libraries.
class Lookup {
 public:
  /// `maps`: an open descriptor of it; -1: by text.
  explicit Lookup(int maps) : maps_(maps) {}
  ~Lookup() {
    if (text_) std::fclose(text_);
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  /// The mapping of an address; false where there is none. Addresses are asked for in order. The
  /// name is valid until the next call.
  bool find(std::uintptr_t address, Mapping& mapping) {
    if (maps_ >= 0) {
      const int failed = ask(address, mapping);
      if (failed == 0) return true;
      if (failed == ENOENT) return false;
      maps_ = -1;
    }
    if (!text_) text_ = std::fopen("/proc/self/maps", "re");
    return text_ && read(address, mapping);
  }

 private:
  /// 0, or the error.
  int ask(std::uintptr_t address, Mapping& mapping) {
    MappingQuery query{};
    query.size = sizeof query;
    query.query_addr = address;
    query.vma_name_addr = reinterpret_cast<std::uintptr_t>(line_.data());
    query.vma_name_size = static_cast<std::uint32_t>(line_.size());
    if (::ioctl(maps_, kQueryMapping, &query) != 0) return errno;
    mapping.begin = query.vma_start;
    mapping.end = query.vma_end;
    mapping.file = query.inode;
    mapping.readable = (query.vma_flags & mapping_is::kReadable) != 0;
    mapping.shared = (query.vma_flags & mapping_is::kShared) != 0;
    mapping.name = query.vma_name_size > 0 ? std::string_view(line_.data()) : std::string_view();
    return 0;
  }

  bool read(std::uintptr_t address, Mapping& mapping) {
    while (std::fgets(line_.data(), static_cast<int>(line_.size()), text_)) {
      char flags[5] = {};
      int name = 0;
      if (std::sscanf(line_.data(), "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %" SCNu64 " %n",
                      &mapping.begin, &mapping.end, flags, &mapping.file, &name) != 4)
        continue;
      if (mapping.end <= address) continue;
      if (mapping.begin > address) return false;
      mapping.readable = flags[0] == 'r';
      mapping.shared = flags[3] != 'p';
      mapping.name = line_.data() + name;
      return true;
    }
    return false;
  }

  int maps_;
  std::FILE* text_ = nullptr;
  std::array<char, 4200> line_;
};

bool each_mapping(const BorrowedFiles& files, std::uintptr_t begin, std::uintptr_t end,
                  const std::function<bool(const Mapping&)>& visit, MapsBy by) {
  Lookup lookup(by == MapsBy::query ? files.maps() : -1);
  for (std::uintptr_t covered = begin; covered < end;) {
    Mapping mapping;
    if (!lookup.find(covered, mapping)) return false;
    const std::uintptr_t next = mapping.end;
    mapping.begin = covered;
    if (!visit(mapping)) return false;
    covered = next;
  }
  return true;
}

}  // namespace

bool each_mapping(std::uintptr_t begin, std::uintptr_t end,
                  const std::function<bool(const Mapping&)>& visit, MapsBy by) {
  return each_mapping(BorrowedFiles(), begin, end, visit, by);
}

bool is_shared(const void* address) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  bool shared = false;
  each_mapping(begin, begin + 1, [&](const Mapping& mapping) {
    shared = mapping.shared;
    return false;
  });
  return shared;
}

bool is_readable(const void* base, std::uint64_t bytes, Untouched allowed) {
  if (bytes == 0) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const std::uintptr_t end = begin + bytes;
  const BorrowedFiles files;
  PageMap pages(files.pagemap());
  const auto is_there = [&](const Mapping& mapping) {
    const bool ordinary = !mapping.shared && mapping.file == 0;
    const bool may_be_untouched =
        allowed == Untouched::any || (allowed == Untouched::ordinary && ordinary);
    return mapping.readable &&
           pages.are_there(mapping.begin, std::min(mapping.end, end), may_be_untouched);
  };
  return each_mapping(files, begin, end, is_there, MapsBy::query);
}

std::uint64_t memory_of_machine() {
  static const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L));
  return pages * page_bytes();
}

}  // namespace hob::os
