// A queue at a given depth, and one match after the other on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "match/engine.hpp"

namespace hob::bench {

enum class Queue { prq, umq };

/// Where the matching entry is, and what else is queued.
enum class Pattern {
  tail,       ///< behind `depth` entries of the same peer that nobody wants
  tail_wild,  ///< the same; a tenth of the receives (PRQ: the queued, UMQ: the searching) wild
  random,     ///< anywhere among `depth` entries of 128 peers, each wanted once, then queued again
  random_wild,
};

std::string pattern_name(Pattern pattern);

/// A match is: search, remove, and queue an entry again; so the depth stays the same. The entries
/// lie in memory in the order that a pool has after much use, not in order of address.
class Workload {
 public:
  Workload(const match::Config& config, Queue queue, Pattern pattern, std::size_t depth);

  /// Does `matches` matches and returns what they took, in ns, without what making up their
  /// envelopes took. Ends the program if one does not give what it must.
  double run(std::size_t matches);

  /// The two halves of a match (search and remove; queue again), for timing one alone. With tail
  /// patterns, call refill() once before the first search().
  void search();
  void refill();

  match::Engine& engine() { return *engine_; }

 private:
  struct Step {
    match::Envelope receive;
    match::Envelope message;
  };

  /// Entry number `i` of those that the matches go to. Computed, not stored: a table of all would
  /// compete with the engine for the caches.
  template <Queue queue, Pattern pattern>
  static Step step(std::size_t i);
  std::size_t next();

  template <Queue queue>
  void add(const Step& step);
  template <Queue queue>
  bool take(const Step& step);
  template <Queue queue, Pattern pattern>
  double run_as(std::size_t matches);
  template <class Use>
  void with_types(Use&& use);
  Step any_step(std::size_t i);
  void fill(const std::vector<Step>& entries, bool keep);

  std::unique_ptr<match::Engine> engine_;
  Queue queue_;
  Pattern pattern_;
  std::size_t depth_;
  std::uint64_t random_ = 1;
  std::size_t at_ = 0;  // entry of the next search() and refill()
  // Those of some matches: more than the clock costs, and less than much of the first cache.
  std::array<Step, 256> steps_;
};

}  // namespace hob::bench
