// Communication patterns of many processes, reduced to what each process's queues see: when it
// posts its receives and when their messages come. Times are microseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "match/depth_meter.hpp"

namespace hob::bench {

/// Lengths of the queues of all processes of a run.
class QueueStudy {
 public:
  /// A receive and its message: when the one is posted and when the other arrives.
  struct Transfer {
    double posted;
    double arrives;
  };

  /// One process's transfers of one communication phase; at the end all are done. A receive whose
  /// message is there already takes it from the unexpected ones.
  void phase(const std::vector<Transfer>& transfers);

  /// Times that the queue had this length: a sample after each addition and each removal.
  const std::vector<std::uint64_t>& posted_lengths() const { return posted_; }
  const std::vector<std::uint64_t>& unexpected_lengths() const { return unexpected_; }
  /// Sum and number of the depths at which a plain list finds posted receives.
  std::uint64_t depth_sum() const { return depth_sum_; }
  std::uint64_t matches() const { return matches_; }

 private:
  struct Event {
    double time;
    std::uint32_t transfer;
    bool arrival;
  };

  static void count(std::vector<std::uint64_t>& lengths, std::uint64_t length);

  std::vector<Event> events_;
  std::vector<match::DepthMeter::Ticket> tickets_;
  std::vector<char> here_;
  match::DepthMeter meter_;
  std::vector<std::uint64_t> posted_;
  std::vector<std::uint64_t> unexpected_;
  std::uint64_t depth_sum_ = 0;
  std::uint64_t matches_ = 0;
};

/// What the machine that is simulated does.
struct Network {
  double overhead = 0.2;    ///< of each call that posts a receive or sends
  double latency = 1.5;     ///< of a message, at least
  double spread = 1.0;      ///< mean of what a message takes longer (exponential)
  double imbalance = 0.05;  ///< standard deviation of computing times, relative
  double noise = 1e-4;      ///< how often computing is interrupted by the system
  double interruption = 1000;
};

/// Adaptive mesh refinement: an octree of blocks around a spherical front that moves; blocks in
/// Morton order, equally many to each process; a message for each pair of blocks that share a face
/// and not a process. All receives of a step are posted first, then all messages sent.
void amr(std::size_t processes, int steps, const Network& network, std::mt19937_64& random,
         QueueStudy& study);

/// Wavefronts over a two-dimensional grid of processes, from all corners in turn, in blocks of
/// planes: a process receives from two sides, computes, sends to the other two.
void sweep3d(std::size_t processes, int blocks, const Network& network, std::mt19937_64& random,
             QueueStudy& study);

/// Faces of a three-dimensional grid of processes: six receives posted, six messages sent, waited.
void halo3d(std::size_t processes, int steps, const Network& network, std::mt19937_64& random,
            QueueStudy& study);

}  // namespace hob::bench
