#include "mappings.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fuzz {

namespace {

constexpr int kAccess = PROT_READ | PROT_WRITE;

[[noreturn]] void refused(const char* what) {
  std::perror(what);
  std::exit(2);
}

std::uint8_t* mapped(void* at, std::size_t bytes, int protection, int flags, int file,
                     off_t offset = 0) {
  void* const result = mmap(at, bytes, protection, flags, file, offset);
  if (result == MAP_FAILED) refused("mmap");
  return static_cast<std::uint8_t*>(result);
}

int file_of(std::size_t bytes) {
  const int file = memfd_create("rma_fuzz", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) refused("memfd_create");
  return file;
}

}  // namespace

std::size_t tail_bytes(Tail tail) {
  switch (tail) {
    case Tail::kReserved:
      return std::size_t{64} << 10;
    case Tail::kUntouched:
      return std::size_t{256} << 20;
    default:
      return 0;
  }
}

std::uint8_t* map_pages(Mappings& all, Page kind, std::size_t bytes, std::size_t hole,
                        std::size_t hole_bytes, Tail tail) {
  Mapping made{bytes, tail_bytes(tail), tail, -1};
  // Nothing may be read beyond the end: a page that nobody has is always there.
  std::uint8_t* const memory = mapped(nullptr, bytes + made.tail + kPage, PROT_NONE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  const bool in_file = kind == Page::kFile || kind == Page::kPrivateFile;
  if (in_file) made.file = file_of(bytes);
  const int shared = kind == Page::kShared || kind == Page::kFile ? MAP_SHARED : MAP_PRIVATE;
  const auto used = [&](std::size_t from, std::size_t to) {
    if (from != to)
      mapped(memory + from, to - from, kAccess, MAP_FIXED | shared | (in_file ? 0 : MAP_ANONYMOUS),
             made.file, in_file ? static_cast<off_t>(from) : 0);
  };
  used(0, hole);
  used(hole + hole_bytes, bytes);
  // Shared: a page of it takes memory as soon as somebody reads it.
  if (tail == Tail::kUntouched)
    mapped(memory + bytes, made.tail, kAccess,
           MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  all[memory] = made;
  return memory;
}

namespace {

/// Pages that take memory.
int pages_with_memory(std::uint8_t* begin, std::size_t bytes) {
  // Apart from what lies before, so that it has an entry of its own.
  if (mprotect(begin, bytes, PROT_READ) != 0) return 0;
  std::FILE* const maps = std::fopen("/proc/self/smaps", "re");
  if (!maps) return 0;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  std::array<char, 4200> line;
  bool inside = false;
  long kilobytes = 0;
  while (std::fgets(line.data(), static_cast<int>(line.size()), maps)) {
    unsigned long from = 0, to = 0;
    long resident = 0;
    if (std::sscanf(line.data(), "%lx-%lx ", &from, &to) == 2)
      inside = from >= first && to <= first + bytes;
    else if (inside && std::sscanf(line.data(), "Rss: %ld kB", &resident) == 1)
      kilobytes += resident;
  }
  std::fclose(maps);
  return static_cast<int>(kilobytes * 1024 / static_cast<long>(kPage));
}

}  // namespace

int release_memory(Mappings& all, std::uint8_t* memory) {
  const auto found = all.find(memory);
  if (found == all.end()) {
    std::free(memory);
    return 0;
  }
  const Mapping& its = found->second;
  const int touched =
      its.kind == Tail::kUntouched ? pages_with_memory(memory + its.bytes, its.tail) : 0;
  munmap(memory, its.bytes + its.tail + kPage);
  if (its.file >= 0) close(its.file);
  all.erase(found);
  return touched;
}

void change_pages(const Mappings& all, std::uint8_t* memory, std::size_t offset, std::size_t bytes,
                  const std::uint8_t* data, Change change) {
  const Mapping& its = all.at(memory);
  std::uint8_t* const pages = memory + offset;
  switch (change) {
    case Change::kMoved: {
      std::uint8_t* const other = mapped(nullptr, bytes, kAccess, MAP_PRIVATE | MAP_ANONYMOUS, -1);
      std::memcpy(other, data, bytes);
      if (mremap(other, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, pages) == MAP_FAILED)
        refused("mremap");
      break;
    }
    case Change::kMapped:
    case Change::kShared:
      mapped(pages, bytes, kAccess,
             MAP_FIXED | MAP_ANONYMOUS | (change == Change::kShared ? MAP_SHARED : MAP_PRIVATE),
             -1);
      std::memcpy(pages, data, bytes);
      break;
    case Change::kDropped:
      if (madvise(pages, bytes, MADV_DONTNEED) != 0) refused("madvise");
      break;
    case Change::kPunched:
      if (fallocate(its.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0)
        refused("fallocate");
      break;
    case Change::kWritten:
      if (pwrite(its.file, data, bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes))
        refused("pwrite");
      break;
    case Change::kRead: {
      const int file = file_of(bytes);
      if (pwrite(file, data, bytes, 0) != static_cast<ssize_t>(bytes) ||
          pread(file, pages, bytes, 0) != static_cast<ssize_t>(bytes))
        refused("pread");
      close(file);
      break;
    }
    case Change::kProtected:
      if (mprotect(pages, bytes, PROT_READ) != 0 || mprotect(pages, bytes, kAccess) != 0)
        refused("mprotect");
      std::memcpy(pages, data, bytes);
      break;
  }
}

Page after(Change change, Page before) {
  switch (change) {
    case Change::kMoved:
    case Change::kMapped:
      return Page::kPrivate;
    case Change::kShared:
      return Page::kShared;
    default:
      return before;
  }
}

}  // namespace fuzz
