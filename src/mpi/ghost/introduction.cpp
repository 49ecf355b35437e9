#include "mpi/ghost/introduction.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/node.hpp"
#include "mpi/ghost/job/world.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/libfabric.hpp"
#include "os/memory.hpp"

namespace hob::mpi {
namespace {

int program_of_this_rank() {
  int found = 0;
  int* number = nullptr;
  real::Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
  return found && number ? *number : 0;
}

// Not asked where nothing would follow from it (rma/ghost/native_way.hpp), or where it is known:
// over TCP, the target's process moves the data. Each process may see another network.
bool asks_network() {
  return library::kTraits.keeps_epochs_locally && context().settings.ghost_native == "auto" &&
         !many_threads && !libfabric_uses_tcp();
}

}  // namespace

Introductions introduce(const Node& node, const std::set<int>& usable, const GhostWorld& world) {
  std::string boot, cpus;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  for (const int cpu : usable) cpus += std::to_string(cpu) + ',';
  struct stat space {};
  // What others of the node try to read and write, as long as this process lives.
  static constinit std::uint64_t word_to_try = 0;
  word_to_try = 1 | ticks();
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  const Introduction own{
      .machine = std::hash<std::string>()(boot),
      .cpus = std::hash<std::string>()(cpus),
      .numbering = ::stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0,
      .address = reinterpret_cast<std::uint64_t>(&word_to_try),
      .word = word_to_try,
      .leader = ranks_of_job(node, world).front(),
      .program = program_of_this_rank(),
      .pid = ::getpid(),
      .asks_network = asks_network() ? 1 : 0,
  };
  int size = 1;
  real::Comm_size(world.internal_comm, &size);
  Introductions all(static_cast<std::size_t>(size));
  real::Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE,
                  world.internal_comm);
  return all;
}

std::map<int, std::vector<int>> nodes_of(const Introductions& all) {
  std::map<int, std::vector<int>> nodes;
  for (std::size_t r = 0; r < all.size(); ++r) nodes[all[r].leader].push_back(static_cast<int>(r));
  return nodes;
}

std::vector<int> programs_of_ranks(const Introductions& all) {
  std::vector<int> programs;
  programs.reserve(all.size());
  for (const Introduction& each : all) programs.push_back(each.program);
  const bool one = std::all_of(programs.begin(), programs.end(),
                               [&](int each) { return each == programs.front(); });
  return one ? std::vector<int>{} : programs;
}

std::vector<int> ranks_of_job(const Node& node, const GhostWorld& world) {
  std::vector<int> there(static_cast<std::size_t>(node.size())), ranks(there.size());
  std::iota(there.begin(), there.end(), 0);
  MPI_Group group = MPI_GROUP_NULL;
  real::Comm_group(node.comm(), &group);
  real::Group_translate_ranks(group, node.size(), there.data(), world.internal_group, ranks.data());
  real::Group_free(&group);
  return ranks;
}

// In a container the first one's number may mean another process, which may be this one: the word
// distinguishes them.
bool kernel_moves_memory(const Introductions& all, const GhostWorld& world) {
  const int leader = all[static_cast<std::size_t>(world.rank)].leader;
  const Introduction& first = all[static_cast<std::size_t>(leader)];
  std::uint64_t seen = 0;
  return os::read_from(first.pid, first.address, &seen, sizeof seen) && seen == first.word &&
         os::write_to(first.pid, first.address, &seen, sizeof seen);
}

}  // namespace hob::mpi
