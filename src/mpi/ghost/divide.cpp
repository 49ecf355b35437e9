#include "mpi/ghost/divide.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <set>

#include "ghost/placement.hpp"
#include "ghost/wakeup.hpp"
#include "mpi/core/broadcast.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/node.hpp"
#include "mpi/core/shared_memory.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/ghost/attributes.hpp"
#include "mpi/ghost/departure.hpp"
#include "mpi/ghost/introduction.hpp"
#include "mpi/ghost/job/world.hpp"
#include "mpi/ghost/network.hpp"
#include "mpi/ghost/service.hpp"
#include "mpi/ghost/variables.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/yielding.hpp"
#include "os/affinity.hpp"
#include "os/memory.hpp"
#include "os/numa.hpp"

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
  yielding::end();
  real::Barrier(MPI_COMM_WORLD);
  finalize_library();
  exit_as_ghost(2);
}

// Before anything is divided: whether the settings leave a rank for the program everywhere.
void check_numbers(const Introductions& all, int ghosts) {
  std::size_t fewest = all.size();
  for (const auto& [leader, ranks] : nodes_of(all)) fewest = std::min(fewest, ranks.size());
  if (fewest <= static_cast<std::size_t>(ghosts)) {
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
void look_at_machine(const Introductions& all, GhostWorld& world) {
  const Introduction& own = all[static_cast<std::size_t>(world.rank)];
  int here = 0, alike = 0;
  for (const Introduction& each : all) {
    if (each.machine != own.machine) continue;
    ++here;
    if (each.cpus == own.cpus) ++alike;
  }
  world.shares_machine = here > world.processes;
  const auto share = [&](int processes, int threads) {
    if (world.oversubscribed || processes <= world.processes || processes <= threads) return;
    world.oversubscribed = true;
    world.processes = processes;
    world.hardware_threads = threads;
  };
  share(alike, world.hardware_threads);
  share(here, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

// Whether the processes of this node have to share hardware threads with one another: then true;
// or, as GhostWorld says, with those of others.
bool count_cores(const Node& node, const std::set<int>& usable, const Introductions& all,
                 GhostWorld& world) {
  world.processes = node.size();
  world.hardware_threads = static_cast<int>(usable.size());
  const bool alone = world.processes > world.hardware_threads;
  world.oversubscribed = alone;
  look_at_machine(all, world);
  return alone;
}

// Whether the ghosts of each node leave a rank of each of the job's programs.
void check_programs(const Introductions& all, const std::vector<int>& programs, int ghosts) {
  for (const auto& [leader, ranks] : nodes_of(all)) {
    const std::vector<bool> kept = ghost::kept_ranks(ranks, programs);
    if (std::count(kept.begin(), kept.end(), false) < ghosts)
      refuse(
          "the ghosts of a node (HOB_GHOSTS) would leave no rank of one of the job's programs: "
          "start more ranks of it, or fewer ghosts");
  }
}

// Who becomes a ghost, where it runs and whom it serves. One process decides for its node: others
// may see another machine. Collective.
ghost::Placement plan(const Node& node, const std::vector<std::vector<int>>& allowed, int ghosts,
                      const std::vector<int>& programs, const GhostWorld& world) {
  const auto ranks = static_cast<std::size_t>(node.size());
  const auto count = static_cast<std::size_t>(ghosts);
  ghost::Placement placed;
  if (node.rank() == 0) {
    placed = ghost::place(os::numa_domains(), allowed, ghosts);
    if (!programs.empty())
      ghost::spare(ghost::kept_ranks(ranks_of_job(node, world), programs), placed);
  }
  placed.ghosts.resize(count);
  placed.domains.resize(count);
  placed.home.resize(ranks);
  placed.cpus.resize(count);
  // Their numbers first.
  std::vector<int> numbers;
  for (std::size_t g = 0; g < count; ++g)
    numbers.insert(numbers.end(),
                   {placed.ghosts[g], placed.domains[g], static_cast<int>(placed.cpus[g].size())});
  for (const unsigned home : placed.home) numbers.push_back(static_cast<int>(home));
  broadcast(numbers.data(), numbers.size() * sizeof(int), node.comm());
  const int* next = numbers.data();
  for (std::size_t g = 0; g < count; ++g) {
    placed.ghosts[g] = *next++;
    placed.domains[g] = *next++;
    placed.cpus[g].resize(static_cast<std::size_t>(*next++));
  }
  for (unsigned& home : placed.home) home = static_cast<unsigned>(*next++);
  for (auto& cpus : placed.cpus)
    if (!cpus.empty()) broadcast(cpus.data(), cpus.size() * sizeof(int), node.comm());
  return placed;
}

bool are_seen(const std::vector<int>& pids) {
  return std::all_of(pids.begin(), pids.end(),
                     [](int peer) { return ::kill(peer, 0) == 0 || errno == EPERM; });
}

/// What a process does in the job, and what it shows the others.
struct Part {
  std::int32_t ghost;           ///< as ProcessPlace
  std::int32_t home;            ///< as ProcessPlace
  std::uint64_t slice_begin;    ///< as GhostWorld
  std::uint32_t moves_memory;   ///< of its node's first process
  std::uint32_t shares_memory;  ///< with all of its node
};

// Everybody learns who everybody is. Collective. Whether all nodes share memory.
bool agree(const Part& own, const Introductions& all, GhostWorld& world) {
  std::vector<Part> parts(all.size());
  real::Allgather(&own, sizeof own, MPI_BYTE, parts.data(), sizeof own, MPI_BYTE,
                  world.internal_comm);
  std::vector<int> leaders;
  for (const Introduction& each : all)
    if (std::find(leaders.begin(), leaders.end(), each.leader) == leaders.end())
      leaders.push_back(each.leader);
  world.ghosts.assign(leaders.size(), std::vector<int>(context().settings.ghosts));
  int application_ranks = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    ProcessPlace each;
    each.node = static_cast<int>(std::find(leaders.begin(), leaders.end(), all[r].leader) -
                                 leaders.begin());
    each.ghost = parts[r].ghost;
    each.home = parts[r].home;
    if (each.ghost < 0)
      each.application_rank = application_ranks++;
    else
      world.ghosts[static_cast<std::size_t>(each.node)][static_cast<std::size_t>(each.ghost)] =
          static_cast<int>(r);
    world.ranks.push_back(each);
    world.slice_begins.push_back(parts[r].slice_begin);
  }
  world.own_node = world.own().node;
  // Ghosts then serve memory that the program allocated itself, too.
  world.kernel_moves = true;
  for (std::size_t r = 0; r < all.size(); ++r)
    if (world.ranks[r].node == world.own_node && parts[r].moves_memory == 0)
      world.kernel_moves = false;
  if (!world.kernel_moves) ::prctl(PR_SET_PTRACER, 0);  // then no ghost needs it
  return std::all_of(parts.begin(), parts.end(),
                     [](const Part& each) { return each.shares_memory != 0; });
}

// The processes of this node. A number may not mean the same process to all of them.
void look_at_peers(const Introductions& all, GhostWorld& world) {
  const Introduction& own = all[static_cast<std::size_t>(world.rank)];
  std::vector<int> pids;
  world.numbered_alike = true;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].leader != own.leader) continue;
    pids.push_back(all[r].pid);
    if (world.ranks[r].ghost < 0) world.pids.push_back(all[r].pid);
    world.numbered_alike = world.numbered_alike && all[r].numbering == own.numbering;
  }
  world.sees_peers = world.numbered_alike && are_seen(pids);
}

// The memory that the node shares. Collective. Null, and why, if it cannot.
std::byte* share_arena(const Node& node, std::uint64_t& bytes, std::string& why_not) {
  const auto memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * os::page_bytes();
  bytes = std::max(tuning::ghost::kTimesMemory * memory, tuning::ghost::kSmallestFullArena);
  return share_memory(node, bytes, kLeastArena, why_not);
}

// The statuses are in it.
void find_statuses(GhostWorld& world) {
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

// What this process does, and, as an application rank, its slice of the arena.
Part take_part(const Node& node, const ghost::Placement& placed, const Introductions& all,
               GhostWorld& world) {
  Part own{.ghost = -1,
           .home = static_cast<int>(placed.home[static_cast<std::size_t>(node.rank())]),
           .slice_begin = 0,
           .moves_memory = kernel_moves_memory(all, world) ? 1U : 0U,
           .shares_memory = world.arena != nullptr ? 1U : 0U};
  if (ghost::is_ghost(placed, node.rank())) {
    own.ghost = static_cast<int>(
        std::find(placed.ghosts.begin(), placed.ghosts.end(), node.rank()) - placed.ghosts.begin());
    return own;
  }
  if (world.arena == nullptr) return own;
  std::uint64_t before = 0;
  for (int r = 0; r < node.rank(); ++r) before += !ghost::is_ghost(placed, r);
  const std::uint64_t page = os::page_bytes();
  const std::uint64_t ranks = static_cast<std::uint64_t>(node.size()) - placed.ghosts.size();
  const std::uint64_t share = (world.arena_bytes - kControlBytes) / ranks / page * page;
  own.slice_begin = kControlBytes + before * share;
  world.slices = std::make_unique<ghost::Slices>(own.slice_begin, own.slice_begin + share);
  world.slice_end = own.slice_begin + share;
  return own;
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
// has. Elsewhere those who take the core may belong to another node, and do not wait here.
void share_cores(const GhostWorld& world, bool alone) {
  yielding::change(alone);
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
  bool node_is_crowded = false, all_ask = false;
  // Until it is known whether processes share cores: then each of these calls, in which all wait
  // for all, would take a time slice.
  yielding::start(true);
  {
    const Node node(world->internal_comm, static_cast<int>(settings.ghost_cliques));
    const std::vector<std::vector<int>> allowed = node.allowed_cpus();
    std::set<int> usable;
    for (const auto& each : allowed) usable.insert(each.begin(), each.end());
    const Introductions introductions = introduce(node, usable, *world);
    check_numbers(introductions, ghosts);
    node_is_crowded = count_cores(node, usable, introductions, *world);
    const std::vector<int> programs = programs_of_ranks(introductions);
    check_programs(introductions, programs, ghosts);
    const ghost::Placement placed = plan(node, allowed, ghosts, programs, *world);
    std::string why_not;
    world->arena = share_arena(node, world->arena_bytes, why_not);
    if (!agree(take_part(node, placed, introductions, *world), introductions, *world))
      refuse("the processes of a node cannot share memory, which ghosts need" +
             (why_not.empty() ? "" : ": " + why_not));
    look_at_peers(introductions, *world);
    find_statuses(*world);
    const bool in_program = world->own().ghost < 0;
    if (in_program)
      translate(node, placed, *world);
    else
      own_ghost.emplace(assign_ghost(placed, *world));
    // No rank leaves this before all have come, hence before all statuses are there.
    real::Comm_split(MPI_COMM_WORLD, in_program ? 0 : MPI_UNDEFINED, world->rank, &program);
    all_ask = std::all_of(introductions.begin(), introductions.end(),
                          [](const Introduction& each) { return each.asks_network != 0; });
  }
  if (all_ask) world->network_moves = network_moves_data(*world);
  if (own_ghost || !world->oversubscribed) yielding::end();
  set_launched_world(world);
  if (own_ghost) live_as_ghost(*world, *own_ghost);
  real::Comm_set_name(program, "MPI_COMM_WORLD");
  delete_attributes_at_finalize();
  report_early_exit();
  if (world->oversubscribed) share_cores(*world, node_is_crowded);
  return program;
}

}  // namespace hob::mpi
