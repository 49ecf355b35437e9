#include "mpi/rma/ghost/tokens.hpp"

#include "ghost/transport.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

struct Message {
  std::uint64_t window;
  Tokens::Kind kind;
  std::uint32_t unused;
};

constexpr int tag = static_cast<int>(ghost::token_tag);

}  // namespace

void Tokens::send(std::uint64_t window, Kind kind, int to) {
  if (to == rank_) {
    ++here_[{window, kind, rank_}];
    return;
  }
  ++sent_;
  const Message message{window, kind, 0};
  real::Send(&message, sizeof message, MPI_BYTE, to, tag, wire_);
}

void Tokens::receive() {
  for (;;) {
    int flag = 0;
    MPI_Status status;
    real::Iprobe(MPI_ANY_SOURCE, tag, wire_, &flag, &status);
    if (!flag) return;
    Message message;
    real::Recv(&message, sizeof message, MPI_BYTE, status.MPI_SOURCE, tag, wire_,
               MPI_STATUS_IGNORE);
    ++here_[{message.window, message.kind, status.MPI_SOURCE}];
  }
}

bool Tokens::take(std::uint64_t window, Kind kind, int from) {
  const auto found = here_.find({window, kind, from});
  if (found == here_.end()) return false;
  if (--found->second == 0) here_.erase(found);
  return true;
}

}  // namespace hob::mpi
