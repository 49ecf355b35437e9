// An array of requests that the program passes again and again, to MPI_Waitany and its relatives.
// Private to the request layer.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/requests/array.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi::requests {

/// What MixedRequests is, kept from call to call: a program that waits for any of thousands of
/// receives calls as often as there are receives, and libraries look at one in 2 ns. Here the array
/// is compared with what it was, only what is new is looked up, and only operations that have
/// signalled are asked whether they are ready. Only while the program has one thread.
class Followed {
 public:
  /// The one array that is followed, and all that have signalled. Never destroyed, as the registry.
  static Followed& only();

  /// With fewer, MixedRequests is as fast.
  static constexpr int kFewest = 8;

  /// The array as it is in this call. False if it must be sorted out by MixedRequests: it has
  /// operations that are not event-driven, or this is a call from within a call.
  bool begin(int count, MPI_Request* requests);
  /// The call is over. `returned`: and no error handler of the program's has thrown an exception.
  void end(bool returned);

  void signal(Operation& operation);
  void end_signal(Operation& operation);

  /// A persistent operation of Hob's, which may be in the array, is active now, or no longer.
  void changed(const Operation& operation, bool active_now);

  /// As those of MixedRequests.
  bool any_own() const { return active_ + idle_ != 0; }
  bool any_active() const { return active_ != 0; }
  template <class Act>
  void each_ready(Act act);
  int finish(const OwnRequest& own, MPI_Status* status);
  int natives() const { return static_cast<int>(natives_.size()); }
  MPI_Request* native() { return natives_.data(); }
  int place(int native) const { return places_[static_cast<std::size_t>(native)]; }
  void completed(int native);

 private:
  /// What a place of the array holds: one of these, or the number of a request of the library's.
  enum Kind : int { nothing = -1, active = -2, idle = -3, polled = -4 };

  void start_anew(int count, MPI_Request* requests);
  void update(std::size_t place);
  void vacate(std::size_t place);
  std::size_t& count_of(int kind);
  bool is_here(const Operation& operation) const;

  MPI_Request* requests_ = nullptr;
  std::vector<MPI_Request> seen_;  ///< what is in the array
  std::vector<int> kinds_;
  std::vector<MPI_Request> natives_;  ///< MPI_REQUEST_NULL for those that are gone
  std::vector<int> places_;           ///< of natives_
  std::size_t gone_ = 0;              ///< of natives_
  std::size_t active_ = 0;            ///< event-driven operations,
  std::size_t idle_ = 0;              ///< these, but persistent ones that are not started,
  std::size_t polled_ = 0;            ///< others of Hob's
  std::uint64_t number_ = 1;          ///< of this array, in Operation::followed
  std::uint64_t changes_ = 0;         ///< as in Registry
  std::uint64_t last_watch_ = 0;      ///< before the call
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
void Followed::each_ready(Act act) {
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
    if (ready && !act(OwnRequest{operation.followed.place, &operation})) return;
    ended = ended_;
  }
}

}  // namespace hob::mpi::requests
