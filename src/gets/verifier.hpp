// Which hits are fetched as well and compared (setting `verify`), and what differed. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace hob::gets {

/// Not thread safe.
class Verifier {
 public:
  /// `share` of the hits, in [0, 1].
  explicit Verifier(double share) : share_(share) {}

  bool on() const { return share_ > 0; }

  /// Whether the next hit is one of them: chosen at random, the same in every run.
  bool chosen() { return random_.fraction() < share_; }

  /// A comparison failed. The first 100 are kept with their place; the caller counts all.
  bool room() const { return failures_.size() < kMaxFailures; }
  void add_failure(std::string sentence) { failures_.push_back(std::move(sentence)); }
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  static constexpr std::size_t kMaxFailures = 100;

  double share_;
  Random random_{1};
  std::vector<std::string> failures_;
};

}  // namespace hob::gets
