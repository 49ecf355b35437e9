#include "mpi/rma/ghost/post_start.hpp"

#include "ghost/transport.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

struct Token {
  std::uint64_t window;
  PostStartMessages::Kind kind;
  std::uint32_t operations;
};

constexpr int kTag = static_cast<int>(ghost::kTokenTag);

}  // namespace

void PostStartMessages::send(std::uint64_t window, Kind kind, int to, std::uint32_t operations) {
  if (to == rank_) {
    arrived_[{window, kind, rank_}].push_back(operations);
    return;
  }
  ++sent_;
  const Token token{window, kind, operations};
  real::Send(&token, sizeof token, MPI_BYTE, to, kTag, internal_);
}

void PostStartMessages::receive() {
  for (;;) {
    int flag = 0;
    MPI_Status status;
    real::Iprobe(MPI_ANY_SOURCE, kTag, internal_, &flag, &status);
    if (!flag) return;
    Token token;
    real::Recv(&token, sizeof token, MPI_BYTE, status.MPI_SOURCE, kTag, internal_,
               MPI_STATUS_IGNORE);
    arrived_[{token.window, token.kind, status.MPI_SOURCE}].push_back(token.operations);
  }
}

bool PostStartMessages::take(std::uint64_t window, Kind kind, int from, std::uint32_t& operations) {
  const auto found = arrived_.find({window, kind, from});
  if (found == arrived_.end()) return false;
  operations += found->second.front();
  found->second.pop_front();
  if (found->second.empty()) arrived_.erase(found);
  return true;
}

}  // namespace hob::mpi
