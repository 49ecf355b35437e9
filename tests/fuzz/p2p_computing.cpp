#include "p2p_computing.hpp"

#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace p2p {
namespace {

enum Kind { kNone, kSum, kOwnSum, kBroadcast, kAllToAll, kBarrier };
static_assert(kBarrier + 1 == kCollectives);

std::atomic<bool> elsewhere{false};

/// A sum as MPI_SUM's: Hob's thread must not run it.
void add(void* a, void* b, int* count, MPI_Datatype*) {
  char name[16] = "";
  prctl(PR_GET_NAME, name, 0, 0, 0);
  if (std::strncmp(name, "hob", 3) == 0) elsewhere = true;
  for (int i = 0; i < *count; ++i) static_cast<int*>(b)[i] += static_cast<int*>(a)[i];
}

MPI_Op own_sum() {
  static const MPI_Op op = [] {
    MPI_Op made = MPI_OP_NULL;
    MPI_Op_create(add, 1, &made);
    return made;
  }();
  return op;
}

}  // namespace

void compute_sometimes(fuzz::Random& random) {
  if (!features.computing || !random.chance(10)) return;
  const std::chrono::microseconds time(random.chance(80) ? random.below(300) : random.below(3000));
  if (random.chance(50)) return std::this_thread::sleep_for(time);
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) continue;
}

Beside::Beside(const Phase& phase, MPI_Comm comm)
    : kind_(phase.collective), count_(phase.collective_count) {
  if (kind_ == kNone) return;
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
  const int parts = kind_ == kAllToAll ? size_ : 1;
  for (int to = 0; to < parts; ++to)
    for (int i = 0; i < count_; ++i) out_.push_back(element(rank_, to, i));
  in_.assign(out_.size(), -1);
  if (kind_ == kBroadcast && rank_ == 0) in_ = out_;
  if (kind_ == kSum || kind_ == kOwnSum)
    MPI_Iallreduce(out_.data(), in_.data(), count_, MPI_INT, kind_ == kSum ? MPI_SUM : own_sum(),
                   comm, &request_);
  else if (kind_ == kBroadcast)
    MPI_Ibcast(in_.data(), count_, MPI_INT, 0, comm, &request_);
  else if (kind_ == kAllToAll)
    MPI_Ialltoall(out_.data(), count_, MPI_INT, in_.data(), count_, MPI_INT, comm, &request_);
  else
    MPI_Ibarrier(comm, &request_);
}

void Beside::finish(fuzz::Random& random) {
  if (kind_ == kNone) return;
  compute_sometimes(random);
  int complete = 0;
  if (random.chance(50)) MPI_Test(&request_, &complete, MPI_STATUS_IGNORE);
  if (!complete) MPI_Wait(&request_, MPI_STATUS_IGNORE);
  if (elsewhere) throw Failure{"an operation of the program's ran in a thread of Hob's"};
  if (kind_ == kBarrier) return;
  for (std::size_t at = 0; at < in_.size(); ++at) {
    const int i = static_cast<int>(at) % count_, from = static_cast<int>(at) / count_;
    int expected = element(kind_ == kAllToAll ? from : 0, kind_ == kAllToAll ? rank_ : 0, i);
    if (kind_ == kSum || kind_ == kOwnSum) {
      expected = 0;
      for (int each = 0; each < size_; ++each) expected += element(each, 0, i);
    }
    if (in_[at] != expected) throw Failure{"a collective operation has a wrong result"};
  }
}

}  // namespace p2p
