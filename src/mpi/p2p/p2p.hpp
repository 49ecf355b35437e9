// The receive side of point-to-point communication, taken over from the MPI library where its
// queues get long: docs/developers/takeover.md.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/progress/progress.hpp"

namespace hob::mpi::p2p {

/// Receives of one communicator that need nothing but the library: nothing is held or queued there,
/// and none of them is to be watched or timed. The long way (p2p.cpp) grants some and books them
/// later; none while threads of the program may be here together.
struct Express {
  /// Receives of so many elements take so long that the long way costs nothing, and are timed
  /// sooner.
  static constexpr MPI_Count kLong = 65536;

  MPI_Comm comm{};
  std::uint32_t nonblocking = 0;  ///< so many more
  std::uint32_t blocking = 0;     ///< so many more

  bool start(MPI_Count count, int source, MPI_Comm on) {
    if (on != comm || nonblocking == 0 || source == MPI_PROC_NULL || count >= kLong) return false;
    --nonblocking;
    return true;
  }
  bool receive(MPI_Count count, int source, MPI_Comm on) {
    if (on != comm || blocking == 0 || source == MPI_PROC_NULL || count >= kLong) return false;
    --blocking;
    return true;
  }
};
inline Express express;

/// Before MPI starts.
void prepare();

/// After MPI has started: reads the settings.
void start();

/// Before MPI ends, when nothing is held any more: adds what is worth a sentence to the report.
void finish();

/// The calls of the program. Sources, tags, communicators, statuses and errors as in MPI.
struct Wanted {
  int source;
  int tag;
  MPI_Comm comm;
};
struct Target {
  void* buffer;
  MPI_Count count;
  MPI_Datatype type;
};

int receive(const Target& target, const Wanted& wanted, MPI_Status* status);
int start_receive(const Target& target, const Wanted& wanted, MPI_Request* request);
int make_persistent(const Target& target, const Wanted& wanted, MPI_Request* request);
int probe(const Wanted& wanted, MPI_Status* status);
int test_probe(const Wanted& wanted, int* flag, MPI_Status* status);
int matched_probe(const Wanted& wanted, MPI_Message* message, MPI_Status* status);
int test_matched_probe(const Wanted& wanted, int* flag, MPI_Message* message, MPI_Status* status);

/// Messages that Hob has drawn and that nobody has received. Written under a lock.
inline std::atomic<std::uint64_t> queued{0};

/// The same calls where Hob stands aside, while there are such messages: from attribute callbacks
/// of the program, within Hob's own calls or MPI_Finalize. What Hob has comes first; all else is
/// the library's.
namespace aside {
int receive(const Target& target, const Wanted& wanted, MPI_Status* status);
int start_receive(const Target& target, const Wanted& wanted, MPI_Request* request);
int probe(const Wanted& wanted, MPI_Status* status);
int test_probe(const Wanted& wanted, int* flag, MPI_Status* status);
int matched_probe(const Wanted& wanted, MPI_Message* message, MPI_Status* status);
int test_matched_probe(const Wanted& wanted, int* flag, MPI_Message* message, MPI_Status* status);
}  // namespace aside

/// Whether a receive here may go straight to the library, which may block in it.
bool simply_native(MPI_Comm comm);

/// Gives the receives that Hob holds for this communicator to the library.
void hand_over(MPI_Comm comm);

/// The same, and the communicator's handle is about to go. Whether Hob must hear when it is gone().
bool about_to_go(MPI_Comm comm);
void gone(MPI_Comm comm);

/// The same, after the communicator got hints on which the library may rely from now on.
void hints_changed(MPI_Comm comm);

/// The program is about to make one communicator of two groups of processes.
void worlds_may_meet();

/// Whose messages come on a communicator: of an intercommunicator, the remote group. To be freed.
MPI_Group senders_of(MPI_Comm comm);

/// Whether Hob ever draws messages from the library.
bool may_draw();

}  // namespace hob::mpi::p2p
