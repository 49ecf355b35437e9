#include "mpi/ghost/divide.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <set>

#include "base/clock.hpp"
#include "base/machine.hpp"
#include "ghost/placement.hpp"
#include "ghost/wakeup.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/node.hpp"
#include "mpi/core/shared_memory.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/ghost/attributes.hpp"
#include "mpi/ghost/departure.hpp"
#include "mpi/ghost/network.hpp"
#include "mpi/ghost/service.hpp"
#include "mpi/ghost/variables.hpp"
#include "mpi/ghost/world.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/yielding.hpp"
#include "os/affinity.hpp"
#include "os/memory.hpp"

namespace hob::mpi {
namespace {

constexpr std::uint64_t kControlBytes = 1 << 20;  // statuses, at the start of the arena
/// Of the arena: less serves no program.
constexpr std::uint64_t kLeastArena = 16 * kControlBytes;

// Ends the whole job before the program has started, with one message and status 2.
[[noreturn]] void refuse(const std::string& why) {
  int rank = 0;
  real::Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::fprintf(stderr, "hob: %s\n", why.c_str());
    std::fflush(stderr);
  }
  real::Barrier(MPI_COMM_WORLD);
  finalize_library();
  exit_as_ghost(2);
}

// Whether the system lets processes of the node read and write each other's memory: tried, since it
// depends on much. Ghosts then serve memory that the program allocated itself, too.
bool kernel_moves_memory(const Node& node) {
  // Only the first process has it: in a container its number may mean another one, which this may
  // be.
  static std::uint64_t word = 0;
  struct {
    std::uint64_t address;
    std::uint64_t word;
    std::int64_t pid;
  } first{reinterpret_cast<std::uint64_t>(&word), 1 | ticks(), ::getpid()};
  if (node.rank() == 0) word = first.word;
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  real::Bcast(&first, sizeof first, MPI_BYTE, 0, node.comm());
  std::uint64_t seen = 0;
  const auto pid = static_cast<pid_t>(first.pid);
  int good = os::read_from(pid, first.address, &seen, sizeof seen) && seen == first.word &&
             os::write_to(pid, first.address, &seen, sizeof seen);
  real::Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, node.comm());
  if (good == 0) ::prctl(PR_SET_PTRACER, 0);  // then nobody needs it
  return good != 0;
}

// Before anything is divided: whether the settings leave a rank for the program everywhere.
void check_numbers(MPI_Comm all, int node_size, int ghosts) {
  int fewest = node_size;
  real::Allreduce(MPI_IN_PLACE, &fewest, 1, MPI_INT, MPI_MIN, all);
  if (fewest <= ghosts) {
    refuse(fmt::format(
        "{} ghost{} per node (HOB_GHOSTS) leave no rank for the program where a node has {} "
        "rank{}: start more ranks per node, or fewer ghosts",
        ghosts, ghosts == 1 ? "" : "s", fewest, fewest == 1 ? "" : "s"));
  }
  if (sizeof(NodeStatus) + static_cast<std::uint64_t>(ghosts) * sizeof(GhostStatus) > kControlBytes)
    refuse(fmt::format("{} ghosts per node (HOB_GHOSTS) are too many", ghosts));
}

// Nodes that are one machine (pretended ones, or containers) may have enough hardware threads each,
// and too few together: where all may use the same ones, or where all its processors do not do.
// Collective.
void look_at_machine(const std::set<int>& usable, GhostWorld& world) {
  struct Where {
    std::uint64_t machine = 0;
    std::uint64_t cpus = 0;
  } own;
  std::string boot, cpus;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  for (const int cpu : usable) cpus += std::to_string(cpu) + ',';
  own.machine = std::hash<std::string>()(boot);
  own.cpus = std::hash<std::string>()(cpus);
  int size = 1;
  real::Comm_size(world.internal_comm, &size);
  std::vector<Where> all(static_cast<std::size_t>(size));
  real::Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE,
                  world.internal_comm);
  int here = 0, alike = 0;
  for (const Where& each : all) {
    if (each.machine != own.machine) continue;
    ++here;
    if (each.cpus == own.cpus) ++alike;
  }
  const auto share = [&](int processes, int threads) {
    if (world.oversubscribed || processes <= world.processes || processes <= threads) return;
    world.oversubscribed = true;
    world.processes = processes;
    world.hardware_threads = threads;
  };
  share(alike, world.hardware_threads);
  share(here, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

// Which of the job's programs each rank runs (MPI_APPNUM), of all ranks; empty where it is one.
std::vector<int> programs_of_ranks(MPI_Comm all) {
  int own = 0, found = 0, size = 1;
  int* number = nullptr;
  real::Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
  if (found && number) own = *number;
  real::Comm_size(all, &size);
  std::vector<int> programs(static_cast<std::size_t>(size));
  real::Allgather(&own, 1, MPI_INT, programs.data(), 1, MPI_INT, all);
  const bool one = std::all_of(programs.begin(), programs.end(),
                               [&](int each) { return each == programs.front(); });
  return one ? std::vector<int>{} : programs;
}

// The ranks of the job that a node has, by their ranks in the node. Collective.
std::vector<int> ranks_of_job(const Node& node, int own) {
  std::vector<int> ranks(static_cast<std::size_t>(node.size()));
  real::Allgather(&own, 1, MPI_INT, ranks.data(), 1, MPI_INT, node.comm());
  return ranks;
}

// Whether the processes of this node have to share hardware threads with one another: then true;
// or, as GhostWorld says, with those of others. `allowed`: CPUs by rank. Collective.
bool count_cores(const Node& node, const std::vector<std::vector<int>>& allowed,
                 GhostWorld& world) {
  std::set<int> usable;
  for (const auto& each : allowed) usable.insert(each.begin(), each.end());
  world.processes = node.size();
  world.hardware_threads = static_cast<int>(usable.size());
  const bool alone = world.processes > world.hardware_threads;
  world.oversubscribed = alone;
  look_at_machine(usable, world);
  return alone;
}

// Who becomes a ghost, where it runs and whom it serves. One process decides for its node: others
// may see another machine.
ghost::Placement plan(const Node& node, const std::vector<std::vector<int>>& allowed, int ghosts,
                      GhostWorld& world) {
  const auto ranks = static_cast<std::size_t>(node.size());
  const auto count = static_cast<std::size_t>(ghosts);
  ghost::Placement placed;
  const std::vector<int> programs = programs_of_ranks(world.internal_comm);
  const std::vector<bool> kept = ghost::kept_ranks(ranks_of_job(node, world.rank), programs);
  int good = static_cast<int>(std::count(kept.begin(), kept.end(), false)) >= ghosts;
  real::Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, world.internal_comm);
  if (good == 0)
    refuse(
        "the ghosts of a node (HOB_GHOSTS) would leave no rank of one of the job's programs: "
        "start more ranks of it, or fewer ghosts");
  if (node.rank() == 0) placed = ghost::place(Machine::here().domains, allowed, ghosts);
  if (node.rank() == 0 && !programs.empty()) ghost::spare(kept, placed);
  placed.ghosts.resize(count);
  placed.domains.resize(count);
  placed.home.resize(ranks);
  placed.cpus.resize(count);
  const auto share = [&](void* data, std::size_t numbers) {
    real::Bcast(data, static_cast<int>(numbers), MPI_INT, 0, node.comm());
  };
  static_assert(sizeof(unsigned) == sizeof(int));
  share(placed.ghosts.data(), count);
  share(placed.domains.data(), count);
  share(placed.home.data(), ranks);
  for (auto& cpus : placed.cpus) {
    int numbers = static_cast<int>(cpus.size());
    share(&numbers, 1);
    cpus.resize(static_cast<std::size_t>(numbers));
    share(cpus.data(), cpus.size());
  }
  return placed;
}

// Whether a number means the same process to all processes of the node: containers may number
// theirs themselves. Collective.
bool numbered_alike(const Node& node) {
  struct stat space {};
  const std::uint64_t own = ::stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(node.size()));
  real::Allgather(&own, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, node.comm());
  return std::all_of(all.begin(), all.end(), [&](std::uint64_t each) { return each == own; });
}

bool are_seen(const std::vector<int>& pids) {
  return std::all_of(pids.begin(), pids.end(),
                     [](int peer) { return ::kill(peer, 0) == 0 || errno == EPERM; });
}

// Everybody learns who everybody is.
void agree(const Node& node, const ghost::Placement& placed, GhostWorld& world) {
  int leader = world.rank;
  real::Bcast(&leader, 1, MPI_INT, 0, node.comm());
  ProcessPlace own;
  own.node = leader;  // becomes a number below
  if (ghost::is_ghost(placed, node.rank()))
    own.ghost = static_cast<int>(
        std::find(placed.ghosts.begin(), placed.ghosts.end(), node.rank()) - placed.ghosts.begin());
  own.home = static_cast<int>(placed.home[static_cast<std::size_t>(node.rank())]);
  int size = 1;
  real::Comm_size(world.internal_comm, &size);
  world.ranks.resize(static_cast<std::size_t>(size));
  real::Allgather(&own, sizeof own, MPI_BYTE, world.ranks.data(), sizeof own, MPI_BYTE,
                  world.internal_comm);

  std::vector<int> leaders;
  for (const ProcessPlace& each : world.ranks)
    if (std::find(leaders.begin(), leaders.end(), each.node) == leaders.end())
      leaders.push_back(each.node);
  world.ghosts.assign(leaders.size(), std::vector<int>(placed.ghosts.size()));
  int application_ranks = 0;
  for (std::size_t r = 0; r < world.ranks.size(); ++r) {
    ProcessPlace& each = world.ranks[r];
    each.node =
        static_cast<int>(std::find(leaders.begin(), leaders.end(), each.node) - leaders.begin());
    if (each.ghost < 0)
      each.application_rank = application_ranks++;
    else
      world.ghosts[static_cast<std::size_t>(each.node)][static_cast<std::size_t>(each.ghost)] =
          static_cast<int>(r);
  }
  world.own_node = world.own().node;

  const int pid = ::getpid();
  std::vector<int> pids(static_cast<std::size_t>(node.size()));
  real::Allgather(&pid, 1, MPI_INT, pids.data(), 1, MPI_INT, node.comm());
  for (int r = 0; r < node.size(); ++r)
    if (!ghost::is_ghost(placed, r)) world.pids.push_back(pids[static_cast<std::size_t>(r)]);
  world.numbered_alike = numbered_alike(node);
  world.sees_peers = world.numbered_alike && are_seen(pids);
}

// The memory that the node shares, with the statuses in it.
void map(const Node& node, GhostWorld& world) {
  const std::uint64_t page = os::page_bytes();
  const auto memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page;
  world.arena_bytes =
      std::max(tuning::ghost::kTimesMemory * memory, tuning::ghost::kSmallestFullArena);
  std::string why_not;
  world.arena = share_memory(node, world.arena_bytes, kLeastArena, why_not);
  int good = world.arena != nullptr ? 1 : 0;
  real::Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, world.internal_comm);
  if (good == 0)
    refuse("the processes of a node cannot share memory, which ghosts need" +
           (why_not.empty() ? "" : ": " + why_not));
  world.kernel_moves = kernel_moves_memory(node);
  world.node_status = reinterpret_cast<NodeStatus*>(world.arena);
  auto* statuses = reinterpret_cast<GhostStatus*>(world.arena + sizeof(NodeStatus));
  for (std::size_t g = 0; g < world.own_ghosts().size(); ++g)
    world.statuses.push_back(statuses + g);
}

// In a ghost: takes its place.
OwnGhost assign_ghost(const ghost::Placement& placed, GhostWorld& world) {
  const auto number = static_cast<std::size_t>(world.own().ghost);
  os::bind_to(placed.cpus[number]);
  GhostStatus& status = *new (world.statuses[number]) GhostStatus{};
  status.rank = world.rank;
  status.pid = ::getpid();
  status.domain = placed.domains[number];
  for (std::size_t r = 0; r < placed.home.size(); ++r)
    if (!ghost::is_ghost(placed, static_cast<int>(r)) && placed.home[r] == number)
      ++status.application_ranks;
  int pipe[2] = {-1, -1};
  if (::pipe2(pipe, O_NONBLOCK | O_CLOEXEC) != 0) pipe[0] = pipe[1] = -1;
  status.wakeup_fd = pipe[1];
  status.wakeup_inode = ghost::pipe_inode(pipe[1]);
  return {status, pipe[0], static_cast<unsigned>(world.pids.size())};
}

// In an application rank: takes its slice of the arena. Returns where it begins.
std::uint64_t assign_application_rank(const Node& node, const ghost::Placement& placed,
                                      GhostWorld& world) {
  std::uint64_t before = 0;
  for (int r = 0; r < node.rank(); ++r) before += !ghost::is_ghost(placed, r);
  const std::uint64_t page = os::page_bytes();
  const std::uint64_t share = (world.arena_bytes - kControlBytes) / world.pids.size() / page * page;
  const std::uint64_t begin = kControlBytes + before * share;
  world.slices = std::make_unique<ghost::Slices>(begin, begin + share);
  world.slice_end = begin + share;
  return begin;
}

// In an application rank: the launcher's variables say what MPI says.
void translate(const Node& node, const ghost::Placement& placed, const GhostWorld& world) {
  Place before{world.rank, static_cast<int>(world.ranks.size()), node.rank(), node.size()};
  Place after = before;
  after.rank = world.own().application_rank;
  after.size =
      static_cast<int>(std::count_if(world.ranks.begin(), world.ranks.end(),
                                     [](const ProcessPlace& each) { return each.ghost < 0; }));
  for (int r = 0; r < node.size(); ++r)
    if (ghost::is_ghost(placed, r)) {
      --after.local_size;
      if (r < node.rank()) --after.local_rank;
    }
  translate_variables(before, after);
}

// In an application rank whose machine has more processes than hardware threads; `alone`: its node
// has. Elsewhere those who take the core may belong to another node, and wait for nothing here.
void share_cores(const GhostWorld& world, bool alone) {
  yielding::start(alone);
  note(fmt::format(
      "Ghosts share cores with the program: {} processes of a machine have {} hardware threads.",
      world.processes, world.hardware_threads));
}

}  // namespace

MPI_Comm divide_world() {
  const auto& settings = context().settings;
  const int ghosts = static_cast<int>(settings.ghosts);
  MPI_Comm parent = MPI_COMM_NULL;
  real::Comm_get_parent(&parent);
  // A spawned world was asked for with a number of ranks that its parent counts on.
  if (ghosts == 0 || parent != MPI_COMM_NULL) return MPI_COMM_NULL;

  auto* world = new GhostWorld;  // never destroyed: windows may end in the program's destructors
  real::Comm_dup(MPI_COMM_WORLD, &world->internal_comm);
  real::Comm_set_errhandler(world->internal_comm, MPI_ERRORS_RETURN);
  real::Comm_group(world->internal_comm, &world->internal_group);
  real::Comm_rank(world->internal_comm, &world->rank);
  world->cliques = settings.ghost_cliques > 1;
  MPI_Comm program = MPI_COMM_NULL;
  std::optional<OwnGhost> own_ghost;
  bool node_is_crowded = false;
  {
    const Node node(world->internal_comm, static_cast<int>(settings.ghost_cliques));
    check_numbers(world->internal_comm, node.size(), ghosts);
    const std::vector<std::vector<int>> allowed = node.allowed_cpus();
    node_is_crowded = count_cores(node, allowed, *world);
    const ghost::Placement placed = plan(node, allowed, ghosts, *world);
    agree(node, placed, *world);
    map(node, *world);
    const bool in_program = world->own().ghost < 0;
    real::Comm_split(MPI_COMM_WORLD, in_program ? 0 : MPI_UNDEFINED, world->rank, &program);
    std::uint64_t begin = 0;
    if (in_program) {
      begin = assign_application_rank(node, placed, *world);
      translate(node, placed, *world);
    } else {
      own_ghost.emplace(assign_ghost(placed, *world));
    }
    world->slice_begins.resize(world->ranks.size());
    real::Allgather(&begin, 1, MPI_UINT64_T, world->slice_begins.data(), 1, MPI_UINT64_T,
                    world->internal_comm);
    real::Barrier(node.comm());  // the statuses are there
  }
  if (library::kTraits.keeps_epochs_locally && settings.ghost_native == "auto")
    world->network_moves = network_moves_data(*world);
  set_launched_world(world);
  if (own_ghost) live_as_ghost(*world, *own_ghost);
  real::Comm_set_name(program, "MPI_COMM_WORLD");
  delete_attributes_at_finalize();
  report_early_exit();
  if (world->oversubscribed) share_cores(*world, node_is_crowded);
  return program;
}

}  // namespace hob::mpi
