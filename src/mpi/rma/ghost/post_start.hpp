// Post and complete of MPI_Win_post, start, complete and wait, sent between the application ranks
// of ghost windows by messages of Hob's own. (MPICH counts posts without asking whose they are: one
// that comes early, for a later epoch, makes MPI_Win_start wait for ever. Hob's epochs end sooner
// than native ones, so that posts are early often.)
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// One message is one post, or one complete, of one process on one window. Not thread safe.
class PostStartMessages {
 public:
  enum class Kind : std::uint32_t { post, complete };

  /// `rank`: this process in the internal communicator.
  PostStartMessages(MPI_Comm internal, int rank) : internal_(internal), rank_(rank) {}

  /// `window`: a number on which its members agree, and no other window of the job has.
  /// `operations`: of the sender on the receiver's memory, sent to ghosts without wanting an
  /// answer.
  void send(std::uint64_t window, Kind kind, int to, std::uint32_t operations = 0);
  /// Takes in what has arrived.
  void receive();
  /// Uses up one message, if there is one, and adds its operations to `operations`.
  bool take(std::uint64_t window, Kind kind, int from, std::uint32_t& operations);
  /// To other processes, so far.
  std::uint64_t sent() const { return sent_; }

 private:
  MPI_Comm internal_;
  int rank_;
  std::uint64_t sent_ = 0;
  /// The number of operations in each message, in the order of sending.
  std::map<std::tuple<std::uint64_t, Kind, int>, std::deque<std::uint32_t>> arrived_;
};

}  // namespace hob::mpi
