#include "mpi/rma/ghost/post_start.hpp"

#include "ghost/transport.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

struct Token {
  std::uint64_t window;
  PostStartMessages::Kind kind;
  std::uint32_t unused;
};

constexpr int kTag = static_cast<int>(ghost::kTokenTag);

}  // namespace

void PostStartMessages::send(std::uint64_t window, Kind kind, int to) {
  if (to == rank_) {
    ++arrived_[{window, kind, rank_}];
    return;
  }
  ++sent_;
  const Token token{window, kind, 0};
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
    ++arrived_[{token.window, token.kind, status.MPI_SOURCE}];
  }
}

bool PostStartMessages::take(std::uint64_t window, Kind kind, int from) {
  const auto found = arrived_.find({window, kind, from});
  if (found == arrived_.end()) return false;
  if (--found->second == 0) arrived_.erase(found);
  return true;
}

}  // namespace hob::mpi
