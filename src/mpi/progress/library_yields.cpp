#include "mpi/progress/library_yields.hpp"

#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "os/scheduling.hpp"
#include "pay/yield_predictor.hpp"

namespace hob::mpi::library_yields {
namespace {

/// Where an object's functions are.
struct Range {
  std::uintptr_t begin = 0, end = 0;
  bool has(std::uintptr_t address) const { return address - begin < end - begin; }
};

/// Of the object that has this function.
Range range_of(std::uintptr_t function) {
  struct Search {
    std::uintptr_t function;
    Range found;
  } search{function, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = object->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
          const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
          const Range range{begin, begin + part.p_memsz};
          if (!range.has(wanted.function)) continue;
          wanted.found = range;
          return 1;
        }
        return 0;
      },
      &search);
  return search.found;
}

/// Of one thread, but for `callers`.
struct Yields {
  Range callers;  ///< none: all yields are made
  pthread_t thread{};
  unsigned turns = 0;
  std::uint64_t left_out = 0;
  YieldPredictor predictor{{.sparse = tuning::yielding::kPollsPerYield}};
};

Yields& yields() {
  static Yields all;
  return all;
}

/// Whether one that this address asks for is to be made. Called wherever the process yields.
bool is_made(std::uintptr_t caller) {
  Yields& own = yields();
  if (!own.callers.has(caller) || ::pthread_equal(::pthread_self(), own.thread) == 0) return true;
  const unsigned turn = own.turns++;
  if (own.predictor.taken() && turn % tuning::yielding::kYieldsPerLook != 0) return true;
  if (!own.predictor.due(turn)) {
    ++own.left_out;
    return false;
  }
  const std::uint64_t before = tick_nanoseconds();
  ::syscall(SYS_sched_yield);
  own.predictor.yielded(before, tick_nanoseconds(), os::turns_lost);
  return false;
}

}  // namespace

void start() {
  Yields& own = yields();
  own.thread = ::pthread_self();
  own.callers = range_of(reinterpret_cast<std::uintptr_t>(real::find("PMPI_Wait")));
}

void stop() { yields().callers = {}; }

std::uint64_t left_out() { return yields().left_out; }

}  // namespace hob::mpi::library_yields

extern "C" [[gnu::visibility("default")]] int sched_yield() noexcept {
  const auto caller = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  if (!hob::mpi::library_yields::is_made(caller)) return 0;
  return static_cast<int>(::syscall(SYS_sched_yield));
}
