// What one rank does: a list of actions made by the generator, and the state they run on.
#pragma once

#include <mpi.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mappings.hpp"

namespace fuzz {

constexpr int kSlots = 640;        ///< user buffers of one rank
constexpr int kSlotBytes = 12288;  ///< size of each

struct LiveWindow {
  MPI_Win win = MPI_WIN_NULL;
  std::uint8_t* memory = nullptr;                ///< own memory
  std::vector<std::uint8_t*> direct;             ///< shared windows: every rank's memory
  std::vector<std::uint8_t*> regions;            ///< dynamic windows: own regions
  std::vector<std::vector<MPI_Aint>> addresses;  ///< dynamic windows: every rank's regions
};

/// What the actions of one rank run on.
struct World {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  int program = 0;
  std::uint64_t program_seed = 0;
  std::vector<LiveWindow> windows;
  std::vector<MPI_Request> requests;
  std::vector<std::uint8_t> buffers;  ///< kSlots x kSlotBytes
  std::vector<MPI_Win> sync_window;   ///< none or one
  std::int64_t* flags = nullptr;
  Mappings mappings;
  std::vector<pid_t> children;  ///< forked, not waited for yet
  std::atomic<std::uint64_t> digest{0};
  std::atomic<int> failures{0};
  std::atomic<std::int64_t> checked_bytes{0};

  std::uint8_t* slot(int index) {
    return buffers.data() + static_cast<std::size_t>(index) * kSlotBytes;
  }
};

struct Action {
  std::string text;  ///< empty unless a listing was asked for
  std::function<void(World&)> run;
};

using Script = std::vector<Action>;

/// Compares a user buffer with what MPI guarantees, and adds it to the digest.
struct Expectation {
  int operation = 0;
  int slot = 0;
  int window = 0;
  int target = 0;
  std::int64_t displacement = 0;  ///< bytes into the target's window
  std::vector<std::uint8_t> bytes;
  std::string what;

  void check(World& world, const std::uint8_t* got) const;
};

}  // namespace fuzz
