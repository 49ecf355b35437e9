#include "mpi/core/node.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <numeric>

#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

using Word = unsigned long;
constexpr std::size_t kWordBits = sizeof(Word) * CHAR_BIT;
constexpr std::size_t kFirstWords = 1024 / kWordBits;  // cpu_set_t
constexpr std::size_t kMostWords = (1U << 20) / kWordBits;

cpu_set_t* as_set(std::vector<Word>& words) { return reinterpret_cast<cpu_set_t*>(words.data()); }

}  // namespace

Node::Node(MPI_Comm all, int cliques) {
  if (real::Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm_) != MPI_SUCCESS) {
    comm_ = MPI_COMM_NULL;
    return;
  }
  real::Comm_rank(comm_, &rank_);
  real::Comm_size(comm_, &size_);
  if (cliques <= 1) return;
  MPI_Comm part = MPI_COMM_NULL;
  real::Comm_split(comm_, rank_ * cliques / size_, rank_, &part);
  real::Comm_free(&comm_);
  comm_ = part;
  real::Comm_rank(comm_, &rank_);
  real::Comm_size(comm_, &size_);
}

Node::~Node() {
  if (known()) real::Comm_free(&comm_);
}

std::vector<std::vector<int>> Node::allowed_cpus() const {
  const std::vector<int> own = own_cpus();
  const auto ranks = static_cast<std::size_t>(size_);
  const int count = static_cast<int>(own.size());
  std::vector<int> counts(ranks);
  real::Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm());
  std::vector<int> starts(ranks, 0);
  std::partial_sum(counts.begin(), counts.end() - 1, starts.begin() + 1);
  std::vector<int> all(static_cast<std::size_t>(starts.back() + counts.back()));
  real::Allgatherv(own.data(), count, MPI_INT, all.data(), counts.data(), starts.data(), MPI_INT,
                   comm());
  std::vector<std::vector<int>> allowed(ranks);
  for (std::size_t r = 0; r < ranks; ++r)
    allowed[r].assign(all.begin() + starts[r], all.begin() + starts[r] + counts[r]);
  return allowed;
}

std::vector<int> own_cpus() {
  std::vector<int> cpus;
  // The system refuses sets that are smaller than its own.
  for (std::size_t words = kFirstWords; words <= kMostWords; words *= 2) {
    std::vector<Word> bits(words);
    const std::size_t bytes = words * sizeof(Word);
    if (::sched_getaffinity(0, bytes, as_set(bits)) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    for (std::size_t cpu = 0; cpu < words * kWordBits; ++cpu)
      if ((bits[cpu / kWordBits] >> cpu % kWordBits & 1) != 0)
        cpus.push_back(static_cast<int>(cpu));
    break;
  }
  return cpus;
}

void bind_to(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const auto last = static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end()));
  std::vector<Word> bits(std::max(kFirstWords, last / kWordBits + 1));
  for (const int cpu : cpus)
    bits[static_cast<std::size_t>(cpu) / kWordBits] |= Word{1}
                                                       << static_cast<std::size_t>(cpu) % kWordBits;
  ::sched_setaffinity(0, bits.size() * sizeof(Word), as_set(bits));
}

}  // namespace hob::mpi
