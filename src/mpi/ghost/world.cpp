#include "mpi/ghost/world.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "ghost/bell.hpp"
#include "ghost/placement.hpp"
#include "ghost/target.hpp"
#include "ghost/wire.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/memory_fence.hpp"
#include "mpi/core/shared_memory.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {
namespace {

GhostWorld* the_world = nullptr;
bool finished = false;  // the program has come to MPI_Finalize

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t control_bytes = 1 << 20;  // boards, at the start of the arena

void bind_to(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Ends the whole job before the program has started, with one message.
[[noreturn]] void refuse(const std::string& why) {
  int rank = 0;
  real::Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::fprintf(stderr, "hob: %s\n", why.c_str());
    std::fflush(stderr);
  }
  real::Barrier(MPI_COMM_WORLD);
  real::Finalize();
  _exit(2);
}

const void* object_of(const void* address) {
  Dl_info about{};
  return dladdr(address, &about) != 0 ? about.dli_fbase : nullptr;
}

// Called on the way out: whether it is the MPI library that leaves, and not the program. After a
// fatal error, it has said why.
bool library_leaves() {
  struct {
    const void* library = object_of(real::find("PMPI_Init"));
    const void* program = object_of(reinterpret_cast<const void*>(::getauxval(AT_ENTRY)));
    bool found = false;
  } search;
  _Unwind_Backtrace(
      [](_Unwind_Context* frame, void* argument) {
        auto& mine = *static_cast<decltype(search)*>(argument);
        const void* where = object_of(reinterpret_cast<const void*>(_Unwind_GetIP(frame) - 1));
        mine.found = where != nullptr && where == mine.library;
        return mine.found || where == mine.program ? _URC_END_OF_STACK : _URC_NO_REASON;
      },
      &search);
  return search.found;
}

pid_t watched_process = 0;  // not its children, which inherit the handler

// Ghosts wait for every rank's goodbye. A launcher ends the job where one leaves without
// MPI_Finalize, but not all say why.
void left_early() {
  if (finished || ::getpid() != watched_process || depth != 0) return;  // depth: MPI_Abort
  if (library_leaves()) return;
  std::fprintf(stderr, "hob: rank %d left without MPI_Finalize; the job ends here\n",
               the_world->ranks[static_cast<std::size_t>(the_world->rank)].user);
  std::fflush(stderr);
}

// The processes that can share memory, as the MPI library sees it, or parts of them where nodes are
// pretended for tests.
MPI_Comm node_of(MPI_Comm wire, int cliques) {
  MPI_Comm node = MPI_COMM_NULL;
  real::Comm_split_type(wire, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  if (cliques <= 1) return node;
  int rank = 0;
  int size = 1;
  real::Comm_rank(node, &rank);
  real::Comm_size(node, &size);
  MPI_Comm part = MPI_COMM_NULL;
  real::Comm_split(node, rank * cliques / size, rank, &part);
  real::Comm_free(&node);
  return part;
}

// Maps memory that all processes of the node share. It has no name that could outlive them.
std::byte* share_memory(MPI_Comm node, std::uint64_t& bytes) {
  int rank = 0;
  real::Comm_rank(node, &rank);
  // Address space and file are sparse: only what is touched takes memory.
  const auto memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page;
  std::uint64_t wanted = std::max<std::uint64_t>(4 * memory, std::uint64_t{64} << 30) & ~(page - 1);
  int fd = -1;
  bytes = 0;
  if (rank == 0) {
    fd = ::memfd_create("hob", MFD_CLOEXEC);
    while (fd >= 0 && wanted >= control_bytes * 16) {
      if (::ftruncate(fd, static_cast<off_t>(wanted)) == 0) {
        void* probe =
            ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (probe != MAP_FAILED) {
          ::munmap(probe, wanted);
          bytes = wanted;
          break;
        }
      }
      wanted = (wanted / 2) & ~(page - 1);
    }
  }
  return map_together(node, fd, bytes);
}

// One process of a node decides for all of them.
ghost::Placement decide(MPI_Comm node, int size, int rank, int ghosts) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  std::vector<cpu_set_t> all(static_cast<std::size_t>(size));
  real::Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, node);
  // For each rank: ghost number or -1, its home, its domain, and its CPUs as a set.
  struct Row {
    int ghost;
    int home;
    int domain;
    cpu_set_t cpus;
  };
  std::vector<Row> rows(static_cast<std::size_t>(size));
  if (rank == 0) {
    std::vector<std::vector<int>> allowed(static_cast<std::size_t>(size));
    for (std::size_t r = 0; r < allowed.size(); ++r) {
      for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &all[r])) allowed[r].push_back(cpu);
      }
    }
    const auto placed = ghost::place(ghost::Topology::of_this_machine(), allowed, ghosts);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      rows[r].ghost = -1;
      rows[r].home = static_cast<int>(placed.home[r]);
      CPU_ZERO(&rows[r].cpus);
    }
    for (std::size_t g = 0; g < placed.ghosts.size(); ++g) {
      Row& row = rows[static_cast<std::size_t>(placed.ghosts[g])];
      row.ghost = static_cast<int>(g);
      row.domain = placed.domains[g];
      for (const int cpu : placed.cpus[g]) CPU_SET(cpu, &row.cpus);
    }
  }
  real::Bcast(rows.data(), static_cast<int>(rows.size() * sizeof(Row)), MPI_BYTE, 0, node);
  ghost::Placement result;
  result.home.resize(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    result.home[r] = static_cast<unsigned>(rows[r].home);
    if (rows[r].ghost < 0) continue;
    result.ghosts.push_back(static_cast<int>(r));
    result.domains.push_back(rows[r].domain);
    result.cpus.emplace_back();
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &rows[r].cpus)) result.cpus.back().push_back(cpu);
    }
  }
  return result;
}

// Whether the system lets processes of the node read and write each other's memory: tried, since it
// depends on much. Ghosts then serve memory that the program allocated itself, too.
bool kernel_moves_memory(MPI_Comm node) {
  static std::uint64_t word = 42;
  struct {
    std::uint64_t address;
    std::int64_t pid;
  } first{reinterpret_cast<std::uint64_t>(&word), ::getpid()};
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  real::Bcast(&first, sizeof first, MPI_BYTE, 0, node);
  std::uint64_t seen = 0;
  iovec here{&seen, sizeof seen};
  iovec there{reinterpret_cast<void*>(first.address), sizeof seen};
  const auto pid = static_cast<pid_t>(first.pid);
  int good = ::process_vm_readv(pid, &here, 1, &there, 1, 0) == sizeof seen && seen == 42 &&
             ::process_vm_writev(pid, &here, 1, &there, 1, 0) == sizeof seen;
  real::Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, node);
  return good != 0;
}

bool more_processes_than_cores(MPI_Comm node, int size) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  constexpr std::size_t words = sizeof(cpu_set_t) / sizeof(unsigned long);
  unsigned long bits[words];
  std::memcpy(bits, &mine, sizeof mine);
  real::Allreduce(MPI_IN_PLACE, bits, static_cast<int>(words), MPI_UNSIGNED_LONG, MPI_BOR, node);
  int cores = 0;
  for (const unsigned long word : bits) cores += __builtin_popcountl(word);
  return size > cores;
}

}  // namespace

GhostWorld* ghost_world() { return the_world; }

MPI_Comm divide_world() {
  const auto& settings = context().settings;
  const int ghosts = static_cast<int>(settings.ghosts);
  MPI_Comm parent = MPI_COMM_NULL;
  real::Comm_get_parent(&parent);
  // A spawned world was asked for with a number of ranks that its parent counts on.
  if (ghosts == 0 || parent != MPI_COMM_NULL) return MPI_COMM_NULL;

  auto world = std::make_unique<GhostWorld>();
  real::Comm_dup(MPI_COMM_WORLD, &world->wire);
  real::Comm_group(world->wire, &world->wire_group);
  real::Comm_rank(world->wire, &world->rank);
  int wire_size = 1;
  real::Comm_size(world->wire, &wire_size);
  const int cliques = static_cast<int>(settings.ghost_cliques);
  world->cliques = cliques > 1;
  MPI_Comm node = node_of(world->wire, cliques);
  int rank = 0;
  int size = 1;
  real::Comm_rank(node, &rank);
  real::Comm_size(node, &size);

  int fewest = size;
  real::Allreduce(MPI_IN_PLACE, &fewest, 1, MPI_INT, MPI_MIN, world->wire);
  if (fewest <= ghosts) {
    refuse(fmt::format(
        "{} ghost{} per node (HOB_GHOSTS) leave no rank for the program where a node has {} "
        "rank{}: start more ranks per node, or fewer ghosts",
        ghosts, ghosts == 1 ? "" : "s", fewest, fewest == 1 ? "" : "s"));
  }
  if (static_cast<std::uint64_t>(ghosts) * sizeof(GhostBoard) > control_bytes) {
    refuse(fmt::format("{} ghosts per node (HOB_GHOSTS) are too many", ghosts));
  }
  const ghost::Placement placed = decide(node, size, rank, ghosts);
  std::vector<int> pids(static_cast<std::size_t>(size));
  const int pid = ::getpid();
  real::Allgather(&pid, 1, MPI_INT, pids.data(), 1, MPI_INT, node);
  for (int r = 0; r < size; ++r) {
    if (!std::count(placed.ghosts.begin(), placed.ghosts.end(), r))
      world->pids.push_back(pids[static_cast<std::size_t>(r)]);
  }
  world->crowded = more_processes_than_cores(node, size);
  world->arena = share_memory(node, world->arena_bytes);
  world->kernel_moves = kernel_moves_memory(node);
  int good = world->arena != nullptr ? 1 : 0;
  real::Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, world->wire);
  if (good == 0)
    refuse("the processes of a node cannot share memory (memfd_create), which ghosts need");

  // Who is who.
  const auto found = std::find(placed.ghosts.begin(), placed.ghosts.end(), rank);
  WireRank own;
  int leader = world->rank;
  real::Bcast(&leader, 1, MPI_INT, 0, node);
  own.node = leader;
  own.ghost = found == placed.ghosts.end() ? -1 : static_cast<int>(found - placed.ghosts.begin());
  own.home = static_cast<int>(placed.home[static_cast<std::size_t>(rank)]);
  world->ranks.resize(static_cast<std::size_t>(wire_size));
  real::Allgather(&own, sizeof own, MPI_BYTE, world->ranks.data(), sizeof own, MPI_BYTE,
                  world->wire);
  std::vector<int> leaders;
  int users = 0;
  for (const WireRank& each : world->ranks) {
    if (std::find(leaders.begin(), leaders.end(), each.node) == leaders.end())
      leaders.push_back(each.node);
  }
  world->ghosts.resize(leaders.size());
  for (std::size_t r = 0; r < world->ranks.size(); ++r) {
    WireRank& each = world->ranks[r];
    each.node =
        static_cast<int>(std::find(leaders.begin(), leaders.end(), each.node) - leaders.begin());
    if (each.ghost < 0) {
      each.user = users++;
      continue;
    }
    auto& list = world->ghosts[static_cast<std::size_t>(each.node)];
    list.resize(static_cast<std::size_t>(ghosts));
    list[static_cast<std::size_t>(each.ghost)] = static_cast<int>(r);
  }
  world->own_node = world->ranks[static_cast<std::size_t>(world->rank)].node;
  for (int g = 0; g < ghosts; ++g) {
    world->boards.push_back(reinterpret_cast<GhostBoard*>(world->arena) + g);
  }

  MPI_Comm program = MPI_COMM_NULL;
  real::Comm_split(MPI_COMM_WORLD, own.ghost < 0 ? 0 : MPI_UNDEFINED, world->rank, &program);
  real::Comm_set_errhandler(world->wire, MPI_ERRORS_RETURN);
  if (own.ghost >= 0) {
    bind_to(placed.cpus[static_cast<std::size_t>(own.ghost)]);
    GhostBoard& board = *new (world->boards[static_cast<std::size_t>(own.ghost)]) GhostBoard{};
    board.rank = world->rank;
    board.pid = ::getpid();
    board.domain = placed.domains[static_cast<std::size_t>(own.ghost)];
    for (std::size_t r = 0; r < placed.home.size(); ++r) {
      const bool user =
          !std::count(placed.ghosts.begin(), placed.ghosts.end(), static_cast<int>(r));
      if (user && static_cast<int>(placed.home[r]) == own.ghost) ++board.users;
    }
    int bell[2] = {-1, -1};
    if (::pipe2(bell, O_NONBLOCK | O_CLOEXEC) != 0) bell[0] = bell[1] = -1;
    board.bell = bell[1];
    board.closed.store(static_cast<std::uint32_t>(bell[0] + 1));  // for serve(), which clears it
  } else {
    const auto own_user =
        static_cast<std::uint64_t>(rank - std::count_if(placed.ghosts.begin(), placed.ghosts.end(),
                                                        [&](int g) { return g < rank; }));
    const auto node_users = static_cast<std::uint64_t>(size - ghosts);
    const std::uint64_t share = (world->arena_bytes - control_bytes) / node_users & ~(page - 1);
    const std::uint64_t begin = control_bytes + own_user * share;
    world->slices = std::make_unique<ghost::Slices>(begin, begin + share);
    real::Comm_set_name(program, "MPI_COMM_WORLD");
  }
  real::Barrier(node);
  real::Comm_free(&node);
  the_world = world.release();
  if (own.ghost < 0) {
    watched_process = ::getpid();
    std::atexit(left_early);
    return program;
  }

  // What the program had buffered for its output before MPI_Init is its other ranks' to print.
  if (const int nowhere = ::open("/dev/null", O_WRONLY); nowhere >= 0)
    ::dup2(nowhere, STDOUT_FILENO);
  serve(*the_world, *the_world->boards[static_cast<std::size_t>(own.ghost)],
        static_cast<unsigned>(size - ghosts));
  leave_ghosts();
  real::Finalize();
  std::exit(0);  // not _exit: MPICH takes its leave of the launcher in a handler
}

void ring(GhostBoard& board) {
  memory_fence();
  if (board.asleep.load(std::memory_order_relaxed) == 0) return;
  const int fd = ghost::reach_bell(board.pid, board.bell);
  if (fd < 0) return;  // it wakes by itself before long
  [[maybe_unused]] const ssize_t written = ::write(fd, "", 1);
  ::close(fd);
}

void dismiss_ghosts() {
  if (the_world == nullptr) return;
  finished = true;
  real::Barrier(context().comm);
  std::byte message[sizeof(ghost::MessageHeader) + sizeof(ghost::Record)];
  const ghost::MessageHeader header{0, 1};
  ghost::Record record{};
  record.kind = ghost::Kind::bye;
  std::memcpy(message, &header, sizeof header);
  std::memcpy(message + sizeof header, &record, sizeof record);
  for (const int ghost : the_world->own_ghosts()) {
    real::Send(message, sizeof message, MPI_BYTE, ghost, ghost::request_tag, the_world->wire);
  }
  for (GhostBoard* board : the_world->boards) {
    while (board->closed.load(std::memory_order_acquire) == 0) {
      ring(*board);
      int flag = 0;
      real::Iprobe(0, 0, the_world->wire, &flag,
                   MPI_STATUS_IGNORE);  // what was sent may need a push
      timespec nap{0, 50'000};
      ::nanosleep(&nap, nullptr);
    }
  }
}

void leave_ghosts() {
  if (the_world == nullptr) return;
  real::Group_free(&the_world->wire_group);
  real::Comm_free(&the_world->wire);
}

}  // namespace hob::mpi
