// Children that a random program spawns of itself, and the communicators over both worlds.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

struct Birth {
  int children = 1;
  int root = 0;       ///< the rank that spawns
  bool bare = false;  ///< children start without what is preloaded
};

/// How the children of one program are born: the same on every rank.
Birth birth_of(std::uint64_t seed, int parents, bool bare);

/// One spawn, from both sides, until both let go of each other. Collective over MPI_COMM_WORLD.
class Family {
 public:
  /// In a parent: spawns `argv` with `more` behind its arguments.
  Family(const Birth& birth, char** argv, const std::vector<std::string>& more);
  /// In a child.
  explicit Family(MPI_Comm parent);
  ~Family();
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  MPI_Comm between() const { return between_; }  ///< parents on one side, children on the other
  MPI_Comm all() const { return all_; }          ///< the parents first

 private:
  MPI_Comm between_ = MPI_COMM_NULL, all_ = MPI_COMM_NULL;
};

/// MPI_COMM_NULL in a process that nobody spawned.
MPI_Comm parent();

}  // namespace fuzz
