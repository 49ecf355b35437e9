// A stand-in for the MPI library, for unit tests of the glue: no other process, no network, and
// every call is counted, can be made to fail, and can be made to take as long as a test likes.
//
// The test binary consists of the whole glue (the objects of libhob_mpich), the functions of
// fake_*.cpp in place of a library, and gtest. Tests call MPI_X, as a program does, or parts of the
// glue; what these call in turn is real::X, which finds the fake's function. A function that the
// fake lacks ends the test with its name: add it with FAKE below.
//
//   - This process is rank 0 of world_size. The other ranks do nothing: collectives are complete at
//     once, as if all others had said the same. Their window memory is memory(win, rank).
//   - Gets and puts move their bytes when they are completed (flush, unlock, fence, Wait), in
//   order;
//     so a test sees what a glue does that looks too early.
//   - A request is complete after as many tests as hold_requests() said; a Wait completes it.
//   - Messages come from arrive().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "mpi/pmpi/mpi.hpp"

namespace fake {

constexpr int kWorldSize = 4;

/// How often the library's function was called since reset(), e.g. calls("Get").
std::uint64_t calls(const std::string& name);
/// The names of all calls since reset(), in order.
const std::vector<std::string>& order();
/// Forgets counts, order, errors and what was set by the functions below. Windows and types stay.
void reset();

/// Windows say from now on that their memory model is the unified one, or that it is not.
void unified_memory(bool yes);

/// Calls of MPI_Reduce_local, ever, with data that are not aligned to 16 bytes.
std::uint64_t misaligned();

/// The next `times` calls of this function return `error` and do nothing, after `skip` good ones.
void fail(const std::string& name, int error, int times = 1, int skip = 0);
/// Runs inside each call of this function, before it does anything: what other processes, threads
/// or callbacks of the program do meanwhile.
void during(const std::string& name, std::function<void()> happens);

/// Changes the result of each MPI_Allreduce: what the others say beside this process.
void others_say(std::function<void(void* result)> change);

/// This process's node has so many ranks, of which no test asks for more than their number. At the
/// beginning, every rank is a node of its own.
void ranks_of_node(int ranks);

/// Requests made from now on are complete after this many tests (0: from the start).
void hold_requests(int tests);

/// As MPICH over UCX: a receive from MPI_ANY_SOURCE that is posted after its message came never
/// completes. Off after reset().
void lose_early_messages(bool on);

/// Memory on pages of its own: what shares one with a window counts as the window's.
template <class T>
struct OwnPages {
  using value_type = T;
  OwnPages() = default;
  template <class U>
  explicit OwnPages(const OwnPages<U>&) {}
  static constexpr std::size_t kPage = 4096;
  T* allocate(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + kPage - 1) / kPage * kPage;
    if (void* const pages = std::aligned_alloc(kPage, bytes)) return static_cast<T*>(pages);
    throw std::bad_alloc();
  }
  void deallocate(T* pages, std::size_t) { std::free(pages); }
  bool operator==(const OwnPages&) const { return true; }
};
using WindowMemory = std::vector<std::byte, OwnPages<std::byte>>;

/// What `rank` exposes in this window.
WindowMemory& memory(MPI_Win win, int rank);

/// A message for this process.
void arrive(int source, int tag, MPI_Comm comm, const void* bytes, std::size_t size);

/// Given each message that this process sends, as it is sent, by MPI_Send or MPI_Isend. Forgotten
/// by reset().
using Sent =
    std::function<void(int to, int tag, MPI_Comm comm, const std::byte* bytes, std::size_t size)>;
void on_send(Sent sent);

/// A group of these ranks of MPI_COMM_WORLD, freed by MPI_Group_free.
MPI_Group group_of(std::vector<int> ranks);

/// Bytes that the longest get asked for since this was called last.
std::uint64_t take_longest_get();

/// The library has a control variable of this name and value from now on.
void control_variable(const std::string& name, int value);
int control_variable(const std::string& name);
/// Handles of control variables that are not freed, and starts of MPI's interface to tools that are
/// not finished.
int open_tools();

/// `count` blocks of `length` elements, `stride` elements apart; freed by MPI_Type_free.
MPI_Datatype vector_type(int count, int length, int stride, MPI_Datatype inner);

/// Handles that the program or Hob has not given back: to see that nothing leaks.
std::size_t open_requests();

/// Runs `attempt` again and again with the first, the second, ... allocation failing, until one run
/// makes fewer; returns how many. `attempt` must leave things as they were.
int with_each_allocation_failing(const std::function<void()>& attempt);

/// Likewise, but from that allocation on all of them fail, as in a process at its limit, and Hob
/// has its reserve (pmpi/memory.hpp).
int with_the_system_out_of_memory(const std::function<void()>& attempt);

// What the functions of fake_*.cpp are made with.
namespace detail {
struct Function {
  Function(const char* name, void* address);
};
/// While it lives, no allocation of this thread fails: the fake's own are none of the glue's.
class Sparing {
 public:
  Sparing();
  ~Sparing();
  Sparing(const Sparing&) = delete;
  Sparing& operator=(const Sparing&) = delete;

 private:
  long left_;
};
/// Counts the call and lets `during` happen; an error to return, or MPI_SUCCESS.
int called(const char* name);
}  // namespace detail

}  // namespace fake

/// FAKE(Get_rank, MPI_Comm comm, int* rank) { ...; return MPI_SUCCESS; }
#define FAKE(name, ...)                                                               \
  int body_##name(__VA_ARGS__);                                                       \
  template <class... Arguments>                                                       \
  int entry_##name(Arguments... arguments) {                                          \
    const fake::detail::Sparing sparing;                                              \
    const int error = fake::detail::called(#name);                                    \
    return error != MPI_SUCCESS ? error : body_##name(arguments...);                  \
  }                                                                                   \
  template <class... Arguments>                                                       \
  auto entry_of_##name(int (*)(Arguments...)) {                                       \
    return &entry_##name<Arguments...>;                                               \
  }                                                                                   \
  const fake::detail::Function function_##name(                                       \
      "PMPI_" #name, reinterpret_cast<void*>(entry_of_##name(hob::mpi::real::name))); \
  int body_##name(__VA_ARGS__)
