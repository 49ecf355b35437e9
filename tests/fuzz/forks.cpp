// Children that a rank forks between two operations, and that do no MPI: they read and write their
// copy of the rank's memory and leave by _exit, while the rank goes on.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "generate.hpp"

namespace fuzz {

namespace {

void child_said(World& world, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (world.failures++ < 3)
    std::printf("MISMATCH program %d rank %d: a forked child ended with status %d\n", world.program,
                world.rank, status);
}

/// In the child: the memory is what it was, and becomes the child's own.
int in_child(const std::vector<std::uint8_t>& expected, std::uint8_t* window, World& world) {
  int wrong = 0;
  if (window != nullptr) {
    wrong = std::memcmp(window, expected.data(), expected.size()) != 0 ? 1 : 0;
    std::memset(window, 0x5A, expected.size());
  }
  std::memset(world.buffers.data(), 0x5A, world.buffers.size() / 8);
  unsigned sum = 0;
  for (std::size_t i = 0; i < world.buffers.size(); i += 4096) sum += world.buffers[i];
  return sum == ~0U ? 2 : wrong;
}

}  // namespace

/// Memory of MPI_Win_create is the program's own: the child has a copy of it. What MPI allocates
/// may be shared with the child.
void Generator::fork_child(int rank, int id) {
  const Window& window = *windows_[static_cast<std::size_t>(id)];
  const bool lock = window.regime == Regime::kLock;
  const Shown& shown = window.part(rank);
  std::vector<std::uint8_t> expected;
  int start = 0;
  if (window.kind == WindowKind::kCreate && others_over(id).empty() && shown.size > 0 &&
      (lock || window.regime == Regime::kLockAll)) {
    Memory& memory = window.memory(rank);
    const int length = 1 + random_.below(std::min(200, shown.size));
    start = random_.below(shown.size - length + 1);
    Blocks blocks;
    for (int b = start / kBlock; b <= (start + length - 1) / kBlock; ++b) blocks.push_back(b);
    if (may_read(memory, blocks, rank)) {
      note_read(memory, blocks, rank);
      expected.assign(memory.bytes.begin() + start, memory.bytes.begin() + start + length);
    }
  }
  const bool waits_at_once = random_.chance(40);
  emit(
      rank,
      [=](World& world) {
        LiveWindow& live = world.windows[static_cast<std::size_t>(id)];
        std::uint8_t* looked_at = expected.empty() ? nullptr : live.memory + start;
        if (looked_at != nullptr && lock) MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, live.win);
        if (looked_at != nullptr && !lock) MPI_Win_sync(live.win);
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) _exit(in_child(expected, looked_at, world));
        if (looked_at != nullptr && lock) MPI_Win_unlock(rank, live.win);
        int status = 0;
        if (child < 0) return;
        if (!waits_at_once) {
          world.children.push_back(child);
          return;
        }
        waitpid(child, &status, 0);
        child_said(world, status);
      },
      "fork a child that looks at %zu bytes of w%d from %d%s", expected.size(), id, start,
      waits_at_once ? ", and wait for it" : "");
}

void Generator::await_children() {
  for (int r = 0; r < size_; ++r)
    emit(
        r,
        [](World& world) {
          for (const pid_t child : world.children) {
            int status = 0;
            waitpid(child, &status, 0);
            child_said(world, status);
          }
          world.children.clear();
        },
        "wait for the children");
}

}  // namespace fuzz
