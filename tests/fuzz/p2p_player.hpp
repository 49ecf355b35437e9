// Carries out one thread's part of a program and checks it.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "p2p_pending.hpp"
#include "p2p_plan.hpp"

namespace p2p {

class Player {
 public:
  Player(std::uint64_t seed, std::vector<Communicator> comms, int shared_from, int tag_base)
      : own_{seed ^ static_cast<std::uint64_t>(rank + 1) * 0x1234567},
        comms_(std::move(comms)),
        tag_base_(tag_base),
        planner_(seed, comms_, shared_from, tag_base) {}
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// Throws Failure at the first thing that is not as MPI says.
  void play(int phases) {
    for (int p = 0; p < phases; ++p) run(planner_.make_phase());
  }

  std::uint64_t hash() const { return hash_; }
  long messages() const { return messages_; }

 private:
  using Bytes = std::vector<char>;

  std::vector<Receive> make_receives(const Phase& phase);
  void run(const Phase& phase);

  // One of the plan's messages or receives, or one of each in one call.
  void start(const Message& m);
  void send_blocking(const Message& m);
  void post(Receive& r);
  void take(Receive& r);
  void take_probed(Receive& r);
  void exchange(const Message& m, Receive& r);
  bool replace(const Message& m, Receive& r);
  void start_exchange(const Message& m, Receive& r);

  // What is to be started together.
  bool joins(const Receive& r) const;
  void flush();

  // What changes nothing.
  void barrier();
  void poke();
  void nobody();

  Bytes& content_of(const Message& m);
  MPI_Comm comm_of(int comm) const { return comms_[static_cast<std::size_t>(comm)].handle; }
  int rank_in(int comm, int world) const {
    return comms_[static_cast<std::size_t>(comm)].rank_of[static_cast<std::size_t>(world)];
  }

  void check(const Phase& phase, const std::vector<Receive>& receives);
  void compare(const Receive& r, const Message& m);
  void await(const Receive& r, const Message& m);

  fuzz::Random own_;  // this rank's; the plan's is the same on every rank
  std::vector<Communicator> comms_;
  int tag_base_;
  Planner planner_;
  std::vector<Pending> pending_;
  std::vector<std::unique_ptr<Bytes>> contents_;
  std::vector<MPI_Request> batch_;
  std::vector<const Receive*> batched_;
  bool batch_has_send_ = false;
  int completion_ = 0;  // how the last requests were completed
  long messages_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace p2p
