#include "mpi/rma/backend/numbers_of_ranks.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "mpi/core/node.hpp"
#include "mpi/core/shared_memory.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

PerRank numbers_of_ranks(std::span<const std::uint64_t> each, MPI_Comm comm) {
  PerRank numbers(each);
  const auto list = numbers.long_list();
  if (list.empty()) return numbers;
  const Node node(comm);
  if (node.size() == 1) return numbers;
  const std::uint64_t wanted = list.size_bytes();
  std::uint64_t bytes = wanted;
  std::string why_not;
  std::byte* const memory = share_memory(node, bytes, wanted, why_not);
  if (memory == nullptr) return numbers;
  auto* const shared = reinterpret_cast<std::uint64_t*>(memory);
  if (node.rank() == 0) std::copy(list.begin(), list.end(), shared);
  real::Barrier(node.comm());
  numbers.keep_in(std::shared_ptr<const std::uint64_t>(
      shared, [bytes](std::uint64_t* mapped) { ::munmap(mapped, bytes); }));
  return numbers;
}

PerRank gather_numbers(std::uint64_t own, MPI_Comm comm) {
  int size = 0;
  real::Comm_size(comm, &size);
  std::vector<std::uint64_t> each(static_cast<std::size_t>(size));
  real::Allgather(&own, 1, MPI_UINT64_T, each.data(), 1, MPI_UINT64_T, comm);
  return numbers_of_ranks(each, comm);
}

}  // namespace hob::mpi
