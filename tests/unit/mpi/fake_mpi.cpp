#include "fake_mpi.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <string_view>

#include "mpi/pmpi/memory.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/pmpi/state.hpp"

namespace fake {
namespace {

struct Failure {
  int error, times, skip;
};

struct State {
  std::recursive_mutex lock;
  std::map<std::string, std::uint64_t> calls;
  std::vector<std::string> order;
  std::map<std::string, Failure> failures;
  std::map<std::string, std::function<void()>> during;
};

State& state() {
  static auto* const all = new State;
  return *all;
}

std::map<std::string, void*>& functions() {
  static auto* const all = new std::map<std::string, void*>;
  return *all;
}

// Allocations of the calling thread until one fails; negative: none does.
thread_local long allocations_left = -1;
thread_local bool allocation_failed = false;
// Not one fails then, but all from that one on, and small ones come from the reserve.
thread_local bool system_is_out_of_memory = false;

}  // namespace

std::uint64_t calls(const std::string& name) {
  const std::lock_guard guard(state().lock);
  return state().calls[name];
}

const std::vector<std::string>& order() { return state().order; }

void fail(const std::string& name, int error, int times, int skip) {
  const std::lock_guard guard(state().lock);
  state().failures[name] = {error, times, skip};
}

void during(const std::string& name, std::function<void()> happens) {
  const std::lock_guard guard(state().lock);
  state().during[name] = std::move(happens);
}

void reset() {
  hold_requests(0);
  lose_early_messages(false);
  others_say({});
  on_send({});
  const std::lock_guard guard(state().lock);
  state().calls.clear();
  state().order.clear();
  state().failures.clear();
  state().during.clear();
}

int with_each_allocation_failing(const std::function<void()>& attempt) {
  for (int n = 0;; ++n) {
    allocations_left = n;
    allocation_failed = false;
    attempt();
    allocations_left = -1;
    if (!allocation_failed) return n;
  }
}

int with_the_system_out_of_memory(const std::function<void()>& attempt) {
  system_is_out_of_memory = true;
  const int allocations = with_each_allocation_failing(attempt);
  system_is_out_of_memory = false;
  return allocations;
}

namespace detail {

Function::Function(const char* name, void* address) { functions()[name] = address; }

Sparing::Sparing() : left_(allocations_left) { allocations_left = -1; }
Sparing::~Sparing() { allocations_left = left_; }

/// A call that may not return before other processes have done something.
bool may_block(std::string_view name) {
  for (const std::string_view prefix : {"Win_lock", "Win_unlock", "Win_flush", "Win_fence",
                                        "Win_complete", "Win_wait", "Wait", "Barrier"})
    if (name.starts_with(prefix)) return true;
  return name == "Recv" || name == "Probe" || name == "Mprobe";
}

int called(const char* name) {
  // Who waits for the lock may be whom this call waits for.
  if (hob::mpi::many_threads && hob::mpi::depth >= hob::mpi::kExclusive && may_block(name)) {
    std::fprintf(stderr, "MPI_%s may block, and a lock of Hob's is held\n", name);
    std::abort();
  }
  std::function<void()> happens;
  int error = MPI_SUCCESS;
  {
    const std::lock_guard guard(state().lock);
    ++state().calls[name];
    state().order.emplace_back(name);
    if (const auto it = state().during.find(name); it != state().during.end()) happens = it->second;
    if (const auto it = state().failures.find(name); it != state().failures.end()) {
      Failure& failure = it->second;
      if (failure.skip > 0)
        --failure.skip;
      else if (failure.times > 0 && failure.times-- > 0)
        error = failure.error;
    }
  }
  if (happens) happens();
  return error;
}

}  // namespace detail
}  // namespace fake

// In place of src/mpi/pmpi/resolve.cpp.
namespace hob::mpi::real {

void* find(const char* name) noexcept {
  const auto it = fake::functions().find(name);
  return it == fake::functions().end() ? nullptr : it->second;
}

void* find_or_abort(const char* name) noexcept {
  if (void* function = find(name)) return function;
  std::fprintf(stderr, "the fake MPI library has no %s\n", name);
  std::abort();
}

}  // namespace hob::mpi::real

// Not inlined: with -O1, GCC inlines the one and not the other, and warns of a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (fake::allocations_left == 0) {
    fake::allocation_failed = true;
    if (!fake::system_is_out_of_memory)
      fake::allocations_left = -1;
    else if (void* memory = hob::mpi::allocate_from_reserve(size, alignof(std::max_align_t)))
      return memory;
    throw hob::mpi::OutOfMemory();
  }
  if (fake::allocations_left > 0) --fake::allocations_left;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { hob::mpi::release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  hob::mpi::release(memory);
}
// The other forms call these in the C++ library, but not in that of the address sanitizer.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept try {
  return operator new(size);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t& nothrow) noexcept {
  return operator new(size, nothrow);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept { hob::mpi::release(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  hob::mpi::release(memory);
}
