// What a random two-sided program does: the same plan on every rank, made from the seed.
#pragma once

#include <mpi.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "random.hpp"

#if MPI_VERSION >= 4
#define P2P_HAS_MPI4 1
#else
#define P2P_HAS_MPI4 0
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define P2P_HAS_STATUS_OF_MANY 1  // MPI_Request_get_status_any and its like
#else
#define P2P_HAS_STATUS_OF_MANY 0
#endif

namespace p2p {

/// All processes of a program: MPI_COMM_WORLD, or the two worlds of one that spawns.
extern MPI_Comm everyone;
extern int rank, size;  ///< of it
extern int parents;     ///< how many of them are no spawned ones; 0 where nobody is spawned

constexpr int never_sent = 30000;  // a tag that no message has
constexpr int kCollectives = 6;    // kinds of them, none included

/// What programs may do. All but what an MPI library gets wrong by itself: p2p.cmake.
struct Features {
  bool sendrecv = true;          ///< MPI_Sendrecv and _replace
  bool isendrecv = true;         ///< the same, nonblocking (MPI 4)
  bool isendrecv_types = true;   ///< with datatypes that are freed before it is complete
  bool isendrecv_status = true;  ///< whose status says what came
  bool free_send = true;         ///< MPI_Request_free of active sends
  bool free_receive =
      true;  ///< of active receives, whose buffers are looked at until they are full
  bool free_persistent = true;  ///< the same of persistent receives
  bool persistent_send = true;
  bool startall = true;
  bool nobody = true;    ///< MPI_PROC_NULL
  bool truncate = true;  ///< messages longer than their receives, under MPI_ERRORS_RETURN
  bool truncate_persistent = true;  ///< also by persistent receives
  bool truncate_late = true;        ///< also where the message came first
  bool inter = true;                ///< intercommunicators
  bool partitioned = true;
  bool partitioned_mixed = true;  ///< completed together with other requests
  bool worlds = true;             ///< with spawn, also each world's own communicator
  bool status_of_many = true;     ///< MPI_Request_get_status_any, _all and _some (MPI 4.1)
  /// One or two children that the ranks spawn take part in all programs, or in one each. Asked for
  /// with --with.
  bool spawn = false;
  bool respawn = false;
  /// Where everything happens: after main, with MPI_Finalize in it.
  bool atexit = false;      ///< in an exit handler
  bool destructor = false;  ///< in a static object's destructor
  bool tls = false;         ///< in the destructor of a thread-local object of the main thread
  bool bare = false;        ///< children start without what is preloaded
  bool computing = false;   ///< nonblocking collective operations, and pauses outside MPI; --with

  /// Null if there is none of this name.
  bool* find(const std::string& name);
};
inline Features features;

struct Failure {
  std::string what;
};

/// Parents and children are two sides, or the even and the odd ranks where nobody is spawned.
inline int side_of(int who) { return parents ? who >= parents : who % 2; }

/// A communicator of a program: of everyone, between the two sides, or of one side each.
struct Communicator {
  explicit Communicator(MPI_Comm comm);

  enum class Reach { all, across, within };
  MPI_Comm handle;
  Reach reach = Reach::all;
  std::vector<int> rank_of;  ///< of each rank of everyone, as those see it who send to it

  bool connects(int from, int to) const {
    return reach == Reach::all || (side_of(from) != side_of(to)) == (reach == Reach::across);
  }
  /// The rank among all of a sender to this process; -1 if there is none of this rank.
  int sender(int source) const;
};

enum class Style { exact, by_tag, by_source, wild, stream };
enum class SendMode { standard, synchronous, buffered, ready };
enum class ReceiveWay {
  irecv,
  persistent,
  recv,
  probe,
  mprobe,
  improbe,
  imrecv,
  sendrecv,
  isendrecv,
};

struct Message {
  int id, from, to, comm, tag, bytes;
  SendMode mode;
  bool blocking;
};

struct Phase {
  int kind;  // 0: as it comes, 1: barrier between receives and sends, 2: between sends and receives
  std::vector<Message> messages;
  std::map<std::pair<int, int>, Style> styles;  // (destination, communicator)
  std::map<std::pair<int, int>, bool> receiver_first;
  int partitioned = 0;  // bytes of the smallest common piece of a partitioned transfer; 0: none
  int partitions[2]{};  // of the sender and of the receiver
  int truncated = 0;    // messages of which some are too long; 0: none
  bool truncated_early = false;  // their receives are posted first
  int collective = 0;            // beside the messages (p2p_computing.cpp); 0: none
  int collective_count = 0;      // its elements
  int distance = 0;  // between sender and receiver of partitioned and truncated messages
};

/// Makes the phases of one thread's part of a program.
class Planner {
 public:
  /// Communicators from `shared_from` on are shared with other threads, so that tags distinguish
  /// what is whose.
  Planner(std::uint64_t seed, const std::vector<Communicator>& comms, int shared_from, int tag_base)
      : random_{seed}, comms_(comms), shared_from_(shared_from), tag_base_(tag_base) {}

  Phase make_phase();

 private:
  int sender_to(int to, int comm);

  fuzz::Random random_;
  const std::vector<Communicator>& comms_;
  int shared_from_, tag_base_;
  int next_id_ = 1;
};

char byte_of(int id, int position);

}  // namespace p2p
