// What is known of an array of requests, and the array that the program passes again and again, of
// which that is kept from call to call. Private to the request layer.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/requests/known.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi::requests {

/// One of Hob's in the program's array.
struct OwnRequest {
  int place;
  Operation* operation;
};

/// The program's array, sorted out: Hob's operations here, the library's requests there. The memory
/// is used again: waiting allocates nothing once there was a call with as many requests.
struct ArrayContent {
  std::vector<MPI_Request> seen;     ///< what is in the array
  std::vector<Watch> watches;        ///< with several threads: of these
  std::vector<MPI_Request> natives;  ///< the library's
  std::vector<int> places;           ///< of `natives`
  std::size_t active = 0;            ///< of Hob's
  std::size_t idle = 0;              ///< of Hob's, persistent, not started
  std::vector<OwnRequest> own;       ///< the active ones; none of an array that is kept
  std::vector<int> idle_places;      ///< of the idle ones; likewise
  std::vector<MPI_Status> statuses;  ///< room for the library's
  ArrayContent* next_free = nullptr;

  void clear();
};

/// A program that waits for any of thousands of receives calls as often as there are receives, and
/// libraries look at one in 2 ns. Here the array is compared with what it was, only what is new is
/// looked up, and only operations that have signalled are asked whether they are ready. Only while
/// the program has one thread.
class KeptArray {
 public:
  /// The one array that is kept, and all that have signalled. Never destroyed, as the registry.
  static KeptArray& only();

  /// With fewer, sorting them out anew is as fast.
  static constexpr int kFewest = 8;

  /// The array as it is in this call. False if it must be sorted out anew: it has operations that
  /// are not event-driven, or this is a call from within a call.
  bool begin(int count, const MPI_Request* requests);
  /// The call is over. `returned`: and no error handler of the program's has thrown an exception.
  void end(bool returned);
  ArrayContent& content() { return content_; }

  void signal(Operation& operation);
  void end_signal(Operation& operation);

  /// A persistent operation of Hob's, which may be in the array, is active now, or no longer.
  void changed(const Operation& operation, bool active_now);

  /// As those of RequestArray.
  template <class Act>
  void each_ready(Act act);

  /// The request of this place is complete.
  void vacate(std::size_t place);

 private:
  /// What a place of the array holds: one of these, or the number of a request of the library's.
  enum Kind : int { nothing = -1, active = -2, idle = -3, polled = -4 };

  void start_anew(int count, const MPI_Request* requests);
  void update(std::size_t place);
  std::size_t& count_of(int kind);
  bool is_here(const Operation& operation) const;

  ArrayContent content_;  ///< MPI_REQUEST_NULL for those of the library's that are gone
  const MPI_Request* requests_ = nullptr;
  std::vector<int> kinds_;
  std::size_t gone_ = 0;       ///< of those of the library's
  std::size_t polled_ = 0;     ///< of Hob's, that are not event-driven
  std::uint64_t number_ = 1;   ///< of this array, in Operation::kept_place
  std::uint64_t changes_ = 0;  ///< as in Registry
  bool in_use_ = false;

  /// Those that have signalled and have not ended, in that order, and how often one has ended.
  boost::intrusive::list<
      Operation,
      boost::intrusive::member_hook<Operation, boost::intrusive::list_member_hook<>,
                                    &Operation::signalled>,
      boost::intrusive::constant_time_size<false>>
      signalled_;
  std::uint64_t ended_ = 0;
};

template <class Act>
void KeptArray::each_ready(Act act) {
  std::uint64_t ended = ended_;
  for (auto next = signalled_.begin(); next != signalled_.end();) {
    Operation& operation = *next++;
    if (!is_here(operation)) continue;
    const bool ready = operation.ready();
    if (HOB_UNLIKELY(ended_ != ended)) {  // by what the library called back
      ended = ended_;
      next = signalled_.begin();
      continue;
    }
    if (ready && !act(OwnRequest{operation.kept_place.place, &operation})) return;
    ended = ended_;
  }
}

}  // namespace hob::mpi::requests
