#include "mpi/progress/library_yields.hpp"

#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/pmpi/state.hpp"
#include "mpi/progress/yielding.hpp"
#include "pay/other_threads.hpp"
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
  bool makes_all = true;  ///< others take the core, or a lock
  std::uint64_t left_out = 0;
  YieldPredictor predictor{{.sparse = tuning::yielding::kPollsPerYield}};
  // With many threads in MPI.
  pay::OtherThreads others;
  std::uint64_t next_look = 0;  ///< ns
};

Yields& yields() {
  static Yields all;
  return all;
}

int give_core_away() { return static_cast<int>(::syscall(SYS_sched_yield)); }

/// While other threads run, they may wait for a lock of the library's: it is free during a yield.
bool makes_room(Yields& own, std::uint64_t now) {
  if (!many_threads) return false;
  if (now >= own.next_look) {
    own.next_look = now + tuning::yielding::kOthersLookNs;
    own.others.look(now, process_nanoseconds(), thread_nanoseconds());
  }
  return own.others.run(now);
}

/// The library yields, in the thread whose yields are judged.
void judge(Yields& own) {
  const unsigned turn = own.turns++;
  if (own.makes_all && turn % tuning::yielding::kYieldsPerLook != 0) {
    give_core_away();
  } else if (own.makes_all || own.predictor.due(turn)) {
    const std::uint64_t back = yielding::give_core_away(own.predictor, tick_nanoseconds());
    own.makes_all = own.predictor.taken() || makes_room(own, back);
  } else {
    ++own.left_out;
  }
}

}  // namespace

void start() {
  const Context& process = context();
  const bool shares_cores = process.crowded || process.settings.ghosts > 0;
  if (shares_cores || process.settings.yields != "auto") return;
  const Range library = range_of(reinterpret_cast<std::uintptr_t>(real::find("PMPI_Wait")));
  // Where both are one object, Hob's own yields would be judged, too.
  if (library.has(reinterpret_cast<std::uintptr_t>(&start))) return;
  Yields& own = yields();
  own.thread = ::pthread_self();
  own.callers = library;
}

void stop() { yields().callers = {}; }

std::uint64_t left_out() { return yields().left_out; }

/// What sched_yield does for this caller, wherever in the process it is.
static int yield_for(std::uintptr_t caller) {
  Yields& own = yields();
  const bool is_judged =
      own.callers.has(caller) && ::pthread_equal(::pthread_self(), own.thread) != 0;
  if (!is_judged) return give_core_away();
  judge(own);
  return 0;
}

}  // namespace hob::mpi::library_yields

extern "C" [[gnu::visibility("default")]] int sched_yield() noexcept {
  return hob::mpi::library_yields::yield_for(
      reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}
