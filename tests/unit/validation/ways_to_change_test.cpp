// Every way by which Linux lets bytes of a window's memory change, as far as it is known: each is
// seen, or memory that can be changed so is not kept. A way is tried in a process of its own, on
// anonymous memory, on a private mapping of a file and on memory that others may map.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "validation/children.hpp"
#include "validation/store_tracker.hpp"
#include "validation/unseen_stores.hpp"

namespace hob::validation {
namespace {

constexpr std::size_t kPage = 4096, kPages = 16, kBytes = kPages * kPage;
constexpr std::size_t kTouched = 12 * kPage;  ///< the rest of anonymous memory is not there yet

enum class Kind {
  anonymous,
  file,         ///< mapped privately, and shown as it is
  copied_file,  ///< the process has stored to all pages since
  shared,
  edges,  ///< anonymous, a window a page, each with other data that are stored to all the time
};

constexpr std::string_view kHandler = "the program's page-fault handler";

/// Memory of a window. A way changes some of its bytes.
struct Place {
  Kind kind = Kind::anonymous;
  char* base = nullptr;
  int file = -1;     ///< that is mapped, but for anonymous memory
  int source = -1;   ///< another file, full of 's'
  int direct = -1;   ///< the same, opened with O_DIRECT by prepare()
  long context = 0;  ///< of asynchronous reads
  int talk[2] = {-1, -1};
};

/// A way: what is done before the memory is watched, and after. Each returns false where this
/// system does not let it.
struct Way {
  std::string_view name;
  std::function<bool(Place&)> before;
  std::function<bool(Place&)> change;
};

bool nothing(Place&) { return true; }

int file_of(char filling) {
  std::string name = "ways_to_change.XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file < 0) return -1;
  ::unlink(name.c_str());
  const std::vector<char> bytes(kBytes, filling);
  return ::pwrite(file, bytes.data(), kBytes, 0) == static_cast<ssize_t>(kBytes) ? file : -1;
}

bool map(Place& place) {
  place.source = file_of('s');
  if (place.source < 0) return false;
  const bool of_file = place.kind == Kind::file || place.kind == Kind::copied_file;
  if (of_file) place.file = file_of('f');
  if (place.kind == Kind::shared) {
    place.file = static_cast<int>(::syscall(SYS_memfd_create, "ways", 0));
    if (::ftruncate(place.file, kBytes) != 0) return false;
  }
  // In the middle of a larger range, so that neighbours may be mapped.
  char* const all = static_cast<char*>(
      ::mmap(nullptr, 3 * kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  const int flags = place.kind == Kind::shared ? MAP_SHARED
                    : of_file                  ? MAP_PRIVATE
                                               : MAP_PRIVATE | MAP_ANONYMOUS;
  place.base = static_cast<char*>(
      ::mmap(all + kBytes, kBytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, place.file, 0));
  if (place.base == MAP_FAILED) return false;
  const bool anonymous = place.kind == Kind::anonymous || place.kind == Kind::edges;
  if (place.kind != Kind::file) std::memset(place.base, 'a', anonymous ? kTouched : kBytes);
  return true;
}

// --- What processes and threads do -------------------------------------------------------------

/// Its status; 0 where nobody is notified.
int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

bool in_child(const std::function<void(pid_t parent)>& act) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    act(parent);
    ::_exit(0);
  }
  wait_for(child);
  return true;
}

/// As in_child(), and the child is not forked with the functions of the C library.
bool in_raw_child(const std::function<void()>& act) {
  const auto child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    act();
    ::syscall(SYS_exit_group, 0);
  }
  wait_for(child);
  return true;
}

bool by_poke(Place& place) {
  return in_child([&](pid_t parent) {
    if (::ptrace(PTRACE_ATTACH, parent, nullptr, nullptr) != 0) ::_exit(1);
    int status = 0;
    ::waitpid(parent, &status, 0);
    ::ptrace(PTRACE_POKEDATA, parent, place.base + kPage, reinterpret_cast<void*>(0x7070));
    ::ptrace(PTRACE_DETACH, parent, nullptr, nullptr);
  });
}

bool by_write_of_another(Place& place) {
  return in_child([&](pid_t parent) {
    char byte = 'x';
    iovec here{&byte, 1}, there{place.base + kPage, 1};
    (void)!::process_vm_writev(parent, &here, 1, &there, 1, 0);
  });
}

bool by_memory_file(Place& place, pid_t process) {
  const std::string name = "/proc/" + std::to_string(process) + "/mem";
  const int file = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
  const bool done =
      file >= 0 &&
      ::pwrite(file, "x", 1,
               static_cast<off_t>(reinterpret_cast<std::uintptr_t>(place.base) + kPage)) == 1;
  ::close(file);
  return done;
}

// --- System calls that store --------------------------------------------------------------------

bool by_read(Place& place) { return ::pread(place.source, place.base, 10, 0) == 10; }

bool by_readv(Place& place) {
  iovec parts[] = {{place.base + 13 * kPage, 5}};
  return ::preadv(place.source, parts, 1, 0) == 5;
}

bool by_recv(Place& place) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
  return ::send(ends[0], "x", 1, 0) == 1 && ::recv(ends[1], place.base, 1, 0) == 1;
}

bool by_vmsplice(Place& place) {
  int ends[2];
  if (::pipe(ends) != 0 || ::write(ends[1], "x", 1) != 1) return false;
  iovec part{place.base, 1};
  return ::vmsplice(ends[0], &part, 1, 0) == 1;
}

/// The page is given to a pipe, and read from there: nothing changes.
bool by_gift(Place& place) {
  int ends[2];
  if (::pipe(ends) != 0) return false;
  iovec part{place.base, kPage};
  return ::vmsplice(ends[1], &part, 1, SPLICE_F_GIFT) == static_cast<ssize_t>(kPage) &&
         ::splice(ends[0], nullptr, place.source, nullptr, kPage, SPLICE_F_MOVE) > 0 &&
         ::pwrite(place.source, "x", 1, 0) == 1;
}

// --- Reads that go on, and pinned pages ---------------------------------------------------------

bool open_direct(Place& place) {
  const std::string name = "/proc/self/fd/" + std::to_string(place.source);
  place.direct = ::open(name.c_str(), O_RDONLY | O_DIRECT);
  return place.direct >= 0;
}

bool begin_direct_read(Place& place) {
  aio_context_t context = 0;
  if (!open_direct(place) || ::syscall(SYS_io_setup, 4, &context) != 0) return false;
  place.context = static_cast<long>(context);
  return true;
}

bool end_direct_read(Place& place) {
  iocb one{};
  one.aio_lio_opcode = IOCB_CMD_PREAD;
  one.aio_fildes = static_cast<std::uint32_t>(place.direct);
  one.aio_buf = reinterpret_cast<std::uintptr_t>(place.base);
  one.aio_nbytes = kPage;
  iocb* all[] = {&one};
  io_event result{};
  if (::syscall(SYS_io_submit, place.context, 1, all) != 1) return false;
  return ::syscall(SYS_io_getevents, place.context, 1, 1, &result, nullptr) == 1 && result.res > 0;
}

bool by_direct_read(Place& place) {
  return ::pread(place.direct, place.base, kPage, 0) == static_cast<ssize_t>(kPage);
}

/// A ring with room for one read at a time.
class Ring {
 public:
  bool open() {
    io_uring_params about{};
    ring_ = static_cast<int>(::syscall(SYS_io_uring_setup, 2, &about));
    if (ring_ < 0) return false;
    sq_ = map(about.sq_off.array + about.sq_entries * 4, IORING_OFF_SQ_RING);
    cq_ = map(about.cq_off.cqes + about.cq_entries * sizeof(io_uring_cqe), IORING_OFF_CQ_RING);
    entries_ = reinterpret_cast<io_uring_sqe*>(
        map(about.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    tail_ = reinterpret_cast<unsigned*>(sq_ + about.sq_off.tail);
    array_ = reinterpret_cast<unsigned*>(sq_ + about.sq_off.array);
    return true;
  }
  bool pin(void* base, std::size_t bytes) const {
    iovec part{base, bytes};
    return ::syscall(SYS_io_uring_register, ring_, IORING_REGISTER_BUFFERS, &part, 1) == 0;
  }
  bool read(int file, void* base, std::size_t bytes, bool pinned) {
    io_uring_sqe& entry = entries_[0] = {};
    entry.opcode = pinned ? IORING_OP_READ_FIXED : IORING_OP_READ;
    entry.fd = file;
    entry.addr = reinterpret_cast<std::uintptr_t>(base);
    entry.len = static_cast<std::uint32_t>(bytes);
    array_[0] = 0;
    __atomic_store_n(tail_, *tail_ + 1, __ATOMIC_RELEASE);
    return ::syscall(SYS_io_uring_enter, ring_, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) == 1;
  }
  void close() const { ::close(ring_); }

 private:
  char* map(std::size_t bytes, off_t offset) const {
    return static_cast<char*>(
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring_, offset));
  }
  int ring_ = -1;
  char *sq_ = nullptr, *cq_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
  unsigned *tail_ = nullptr, *array_ = nullptr;
};
Ring ring;

// --- Mappings ----------------------------------------------------------------------------------

bool maps_over(Place& place, int flags, int file) {
  return ::mmap(place.base + kPage, 4 * kPage, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file,
                0) != MAP_FAILED;
}

char* elsewhere(char filling) {
  auto* const memory = static_cast<char*>(
      ::mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(memory, filling, 4 * kPage);
  return memory;
}

bool moves_over(Place& place) {
  return ::mremap(elsewhere('m'), 4 * kPage, 4 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED,
                  place.base + kPage) != MAP_FAILED;
}

bool moves_away_and_back(Place& place) {
  char* const room = elsewhere('r');
  char* const part = place.base + 2 * kPage;
  if (::mremap(part, 4 * kPage, 4 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, room) == MAP_FAILED)
    return false;
  room[0] = 'x';
  return ::mremap(room, 4 * kPage, 4 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, part) != MAP_FAILED;
}

bool unmaps_and_maps(Place& place) {
  return ::munmap(place.base + kPage, kPage) == 0 &&
         maps_over(place, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

bool attaches_over(Place& place) {
  const int segment = ::shmget(IPC_PRIVATE, 4 * kPage, 0600);
  if (segment < 0) return false;
  const void* const there = ::shmat(segment, place.base + 4 * kPage, SHM_REMAP);
  ::shmctl(segment, IPC_RMID, nullptr);
  return reinterpret_cast<std::intptr_t>(there) != -1;
}

bool advises(Place& place, int advice) {
  return ::madvise(place.base + kPage, 4 * kPage, advice) == 0;
}

bool punches_a_hole(Place& place) {
  return place.file >= 0 &&
         ::fallocate(place.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kPage, kPage) == 0;
}

bool cuts_and_extends(Place& place) {
  return place.file >= 0 && ::ftruncate(place.file, 4 * kPage) == 0 &&
         ::ftruncate(place.file, kBytes) == 0;
}

bool writes_to_the_file(Place& place) {
  if (place.kind == Kind::shared) return false;  // only the MPI library has its file
  return place.file >= 0 && ::pwrite(place.file, "x", 1, 0) == 1;
}

bool stores_by_another_mapping(Place& place) {
  if (place.file < 0 || place.kind == Kind::shared) return false;  // likewise
  void* const other = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, place.file, 0);
  if (other == MAP_FAILED) return false;
  static_cast<volatile char*>(other)[0] = 'x';
  return true;
}

// --- The program's own page-fault handler -------------------------------------------------------

int fault_handler(void* base, std::size_t bytes, std::uint64_t mode) {
  const int file = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1));
  uffdio_api api{};
  api.api = UFFD_API;
  if (file < 0 || ::ioctl(file, UFFDIO_API, &api) != 0) return -1;
  uffdio_register all{};
  all.range = {reinterpret_cast<std::uintptr_t>(base), bytes};
  all.mode = mode;
  struct Call {
    int file;
    uffdio_register* all;
  } call{file, &all};
  // As Hob's ioctl() does.
  const int result = WatchedPages::give_back(
      all.range.start, all.range.start + bytes,
      [](void* data) {
        const auto& c = *static_cast<Call*>(data);
        return ::ioctl(c.file, UFFDIO_REGISTER, c.all);
      },
      &call);
  return result == 0 ? file : -1;
}

bool handles_a_fault(Place& place) {
  const int file = fault_handler(place.base, kBytes, UFFDIO_REGISTER_MODE_MISSING);
  if (file < 0 || !advises(place, MADV_DONTNEED)) return false;
  const std::vector<char> page(kPage, 'u');
  uffdio_copy copy{};
  copy.dst = reinterpret_cast<std::uintptr_t>(place.base) + 4 * kPage;
  copy.src = reinterpret_cast<std::uintptr_t>(page.data());
  copy.len = kPage;
  uffdio_zeropage zeros{};
  zeros.range = {reinterpret_cast<std::uintptr_t>(place.base) + kPage, 3 * kPage};
  return ::ioctl(file, UFFDIO_COPY, &copy) == 0 && ::ioctl(file, UFFDIO_ZEROPAGE, &zeros) == 0;
}

bool pages_move_out(Place& place) {
  struct Move {
    std::uint64_t dst, src, len, mode;
    std::int64_t moved;
  } move{};
  auto* const room = static_cast<char*>(
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const int file = fault_handler(room, kPage, UFFDIO_REGISTER_MODE_MISSING);
  move.dst = reinterpret_cast<std::uintptr_t>(room);
  move.src = reinterpret_cast<std::uintptr_t>(place.base);
  move.len = kPage;
  move.mode = 2;  // holes are allowed
  return file >= 0 && ::ioctl(file, _IOWR(UFFDIO, 0x05, Move), &move) == 0;
}

bool closes_all_and_stores(Place& place) {
  for (int file = 3; file < 100; ++file) ::close(file);
  const int other = ::open("/dev/null", O_RDWR);
  place.base[0] = 'x';
  return other >= 0;
}

std::vector<Way> ways() {
  const auto store = [](std::size_t at) {
    return [at](Place& place) {
      static_cast<volatile char*>(place.base)[at] = 'x';
      return true;
    };
  };
  const auto advice = [](int what) { return [what](Place& p) { return advises(p, what); }; };
  return {
      {"a store", nothing, store(5 * kPage)},
      {"a store to a page that was never touched", nothing, store(14 * kPage)},
      {"a store to a page that was read as zeros", nothing,
       [](Place& p) {
         static_cast<void>(static_cast<volatile char*>(p.base)[14 * kPage]);
         p.base[14 * kPage] = 'x';
         return true;
       }},
      {"a store of another thread", nothing,
       [](Place& p) {
         std::thread([&] { p.base[3 * kPage] = 'x'; }).join();
         return true;
       }},
      {"a store behind mprotect", nothing,
       [](Place& p) {
         if (::mprotect(p.base, kBytes, PROT_READ) != 0) return false;
         if (::mprotect(p.base, kBytes, PROT_READ | PROT_WRITE) != 0) return false;
         p.base[0] = 'x';
         return true;
       }},
      {"a store after fork", nothing,
       [](Place& p) {
         if (!in_child([](pid_t) {})) return false;
         p.base[0] = 'x';
         return true;
       }},
      {"a child's store", nothing,
       [](Place& p) { return in_child([&](pid_t) { p.base[0] = 'x'; }); }},
      {"a store of a child that was not made by fork()", nothing,
       [](Place& p) { return in_raw_child([&] { p.base[0] = 'x'; }); }},
      {"a child's store, SIGCHLD ignored", nothing,
       [](Place& p) {
         ::signal(SIGCHLD, SIG_IGN);
         return in_child([&](pid_t) { p.base[0] = 'x'; });
       }},
      {"a store of a child that lives on",
       [](Place& p) {
         if (::socketpair(AF_UNIX, SOCK_STREAM, 0, p.talk) != 0) return false;
         if (::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) != 0) return ::close(p.talk[1]) == 0;
         ::close(p.talk[0]);
         ::alarm(20);
         char byte = 0;
         (void)!::read(p.talk[1], &byte, 1);
         p.base[0] = 'x';
         (void)!::write(p.talk[1], "x", 1);
         (void)!::read(p.talk[1], &byte, 1);  // until the other end is gone
         ::_exit(0);
       },
       [](Place& p) {
         char byte = 0;
         return ::write(p.talk[0], "x", 1) == 1 && ::read(p.talk[0], &byte, 1) == 1;
       }},
      {"process_vm_writev of another process", nothing, by_write_of_another},
      {"a debugger's poke", nothing, by_poke},
      {"/proc/self/mem", nothing, [](Place& p) { return by_memory_file(p, ::getpid()); }},
      {"/proc/PID/mem of another process", nothing,
       [](Place& p) { return in_child([&](pid_t parent) { by_memory_file(p, parent); }); }},
      {"read", nothing, by_read},
      {"readv", nothing, by_readv},
      {"recv", nothing, by_recv},
      {"getrandom", nothing, [](Place& p) { return ::getrandom(p.base + kPage, 64, 0) == 64; }},
      {"vmsplice out of a pipe", nothing, by_vmsplice},
      {"vmsplice as a gift", nothing, by_gift},
      {"read with O_DIRECT", open_direct, by_direct_read},
      {"read with O_DIRECT, opened later", nothing,
       [](Place& p) { return open_direct(p) && by_direct_read(p); }},
      {"asynchronous read with O_DIRECT", begin_direct_read, end_direct_read},
      {"a ring's read", [](Place&) { return ring.open(); },
       [](Place& p) { return ring.read(p.source, p.base, 100, false); }},
      {"a ring's read into pinned pages",
       [](Place& p) { return ring.open() && ring.pin(p.base, kBytes); },
       [](Place& p) { return ring.read(p.source, p.base, 100, true); }},
      {"a ring's read into pages that were pinned later", nothing,
       [](Place& p) {
         return ring.open() && ring.pin(p.base, kBytes) && ring.read(p.source, p.base, 100, true);
       }},
      {"anonymous memory mapped over it", nothing,
       [](Place& p) { return maps_over(p, MAP_PRIVATE | MAP_ANONYMOUS, -1); }},
      {"a file mapped over it", nothing,
       [](Place& p) { return maps_over(p, MAP_PRIVATE, p.source); }},
      {"a file mapped over what was never touched", nothing,
       [](Place& p) {
         return ::mmap(p.base + kTouched, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                       p.source, 0) != MAP_FAILED;
       }},
      {"a file mapped where nothing was", nothing,
       [](Place& p) {
         return ::munmap(p.base + kTouched, kPage) == 0 &&
                ::mmap(p.base + kTouched, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                       p.source, 0) != MAP_FAILED;
       }},
      {"a file mapped over it, shared", nothing,
       [](Place& p) { return maps_over(p, MAP_SHARED, p.source); }},
      {"memory moved over it", nothing, moves_over},
      {"memory moved away and back", nothing, moves_away_and_back},
      {"memory unmapped and mapped anew", nothing, unmaps_and_maps},
      {"a segment attached over it", nothing, attaches_over},
      {"MADV_DONTNEED", nothing, advice(MADV_DONTNEED)},
      {"MADV_DONTNEED, and read", nothing,
       [](Place& p) {
         const bool done = advises(p, MADV_DONTNEED);
         static_cast<void>(static_cast<volatile char*>(p.base)[kPage]);
         return done;
       }},
      {"MADV_FREE", nothing, advice(MADV_FREE)},
      {"MADV_REMOVE", nothing, advice(MADV_REMOVE)},
      {"MADV_PAGEOUT", nothing, advice(21)},
      {"MADV_POPULATE_WRITE", nothing, advice(23)},
      {"MADV_COLLAPSE", nothing, advice(25)},
      {"MADV_MERGEABLE", nothing, advice(MADV_MERGEABLE)},
      {"a hole punched into the file", nothing, punches_a_hole},
      {"the file cut off and extended", nothing, cuts_and_extends},
      {"a write to the file", nothing, writes_to_the_file},
      {"a store through another mapping of the file", nothing, stores_by_another_mapping},
      {kHandler, nothing, handles_a_fault},
      {"pages moved out by a page-fault handler", nothing, pages_move_out},
      {"all descriptors closed, and a store", nothing, closes_all_and_stores},
  };
}

enum class Outcome : int { seen, refused, unchanged_kept, unchanged, missed, not_here, failed };

/// What Hob would do with copies of the memory of a window, as src/mpi/rma/own_stores.cpp does.
class Copies {
 public:
  Copies(char* base, std::size_t bytes, Owner owner)
      : base_(base), bytes_(bytes), tracker_(base, bytes, Tracking::write_protection, owner) {}

  void begin() {
    kept_ = tracker_.track() && (!tracker_.watches_pages() || who_stores_unseen(false).empty());
  }
  void take() {
    kept_ = kept_ && !tracker_.written();
    refused_ = !kept_;
    old_.assign(base_, base_ + bytes_);
  }
  Outcome outcome() {
    kept_ = kept_ && !(tracker_.shared() && children_may_store());
    kept_ = kept_ && !tracker_.written();
    if (std::memcmp(old_.data(), base_, bytes_) == 0)
      return kept_ ? Outcome::unchanged_kept : Outcome::unchanged;
    return kept_ ? Outcome::missed : refused_ ? Outcome::refused : Outcome::seen;
  }

 private:
  char* base_;
  std::size_t bytes_;
  StoreTracker tracker_;
  bool kept_ = false, refused_ = false;
  std::vector<char> old_;
};

Outcome try_way(const Way& way, Kind kind) {
  constexpr std::size_t kOther = 8;  // bytes of other data on a page
  Place place;
  place.kind = kind;
  if (!map(place)) return Outcome::failed;
  const Owner owner = kind == Kind::shared ? Owner::library : Owner::process;
  std::deque<Copies> windows;
  if (kind == Kind::edges)
    for (std::size_t at = 0; at < kBytes; at += kPage)
      windows.emplace_back(place.base + at, kPage - kOther, owner);
  else
    windows.emplace_back(place.base, kBytes, owner);
  children_may_store();
  if (!way.before(place)) return Outcome::not_here;
  for (Copies& window : windows) window.begin();
  if (kind == Kind::edges)
    for (std::size_t at = kPage; at <= kTouched; at += kPage) ++place.base[at - kOther];
  for (Copies& window : windows) window.take();
  if (!way.change(place)) return Outcome::not_here;
  Outcome result = Outcome::unchanged_kept;
  for (Copies& window : windows) {
    const Outcome of_window = window.outcome();
    if (of_window == Outcome::missed) return of_window;
    if (result == Outcome::unchanged_kept || of_window == Outcome::seen) result = of_window;
  }
  return result;
}

Outcome in_process(const Way& way, Kind kind) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(static_cast<int>(try_way(way, kind)));
  }
  const int status = wait_for(child);
  return WIFEXITED(status) ? static_cast<Outcome>(WEXITSTATUS(status)) : Outcome::failed;
}

class WaysToChange : public testing::TestWithParam<Kind> {};

TEST_P(WaysToChange, AreSeenOrTheMemoryIsNotKept) {
  static const char* const names[] = {
      "seen",     "not kept",          "nothing changes", "nothing changes",
      "NOT SEEN", "not possible here", "failed"};
  // In a process of its own: descriptors of Hob's are the process's that opened them.
  const pid_t asked = ::fork();
  if (asked == 0) ::_exit(StoreTracker::available(Tracking::write_protection) ? 0 : 1);
  if (wait_for(asked) != 0) GTEST_SKIP() << "this kernel cannot track stores so";
  int seen = 0;
  for (const Way& way : ways()) {
    const Outcome outcome = in_process(way, GetParam());
    std::printf("  %-55s %s\n", way.name.data(), names[static_cast<int>(outcome)]);
    EXPECT_NE(outcome, Outcome::missed) << way.name;
    EXPECT_NE(outcome, Outcome::failed) << way.name;
    seen += outcome == Outcome::seen ? 1 : 0;
    if (way.name == kHandler && GetParam() == Kind::anonymous) {
      EXPECT_EQ(outcome, Outcome::seen) << "it comes before Hob's";
    }
  }
  const Way none{"nothing at all", nothing, nothing};
  if (GetParam() == Kind::file) {
    EXPECT_EQ(in_process(none, GetParam()), Outcome::unchanged);
  } else {
    EXPECT_EQ(in_process(none, GetParam()), Outcome::unchanged_kept) << "else nothing ever is";
    EXPECT_GE(seen, 15);
  }
}

std::string name_of(const testing::TestParamInfo<Kind>& kind) {
  static const char* const names[] = {"Anonymous", "OfAFile", "CopiedFromAFile", "MappedByOthers",
                                      "BesideOtherData"};
  return names[static_cast<int>(kind.param)];
}

INSTANTIATE_TEST_SUITE_P(Memory, WaysToChange,
                         testing::Values(Kind::anonymous, Kind::file, Kind::copied_file,
                                         Kind::shared, Kind::edges),
                         name_of);

}  // namespace
}  // namespace hob::validation
