#include "overlap/judge.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace hob::overlap {
namespace {

/// A trial is decided when so many of each kind were seen: waits differ from each other by a few
/// times their length, so fewer show nothing.
constexpr double kPhasesOfEach = 8;

/// Help pays if it makes waits shorter by this factor.
constexpr double kPays = 0.97;

/// Where its own waits show nothing, help goes on if it moved something in so many phases. It ends
/// if these are longer by so many standard errors of the difference: waits have long tails.
constexpr double kMovedShare = 0.125;
constexpr double kBeyondChance = 3;

/// Of a rest, so many phases together are compared with the trial before it, and waits that are
/// longer by this factor are a reason to try again, at a multiple of so many phases.
constexpr double kRestPhases = 16;
constexpr double kLongerWaits = 1.5;
constexpr std::uint64_t kEarlyTrial = 64;

/// Bits that depend on all bits of `x` (the last steps of splitmix64).
std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::uint64_t next_multiple(std::uint64_t of, std::uint64_t from) { return (from / of + 1) * of; }

}  // namespace

Judge::Judge(bool always, std::uint64_t seed) : always_(always), seed_(seed) {}

void Judge::Waits::add(const Phase& phase) {
  phases += 1;
  moved += phase.moved;
  const auto wait = static_cast<double>(phase.waited_ns);
  ns += wait;
  waited.add(wait);
  whole.add(static_cast<double>(phase.outside_ns + phase.waited_ns));
}

/// The longest quarter is left out: in some phases others had the processor.
Judge::Mean Judge::mean_of(std::span<const double> lengths) {
  std::array<double, Waits::kKept> sorted{};
  const auto begin = sorted.begin();
  std::sort(begin, std::copy(lengths.begin(), lengths.end(), begin));
  const std::size_t count = lengths.size() - lengths.size() / 4;
  double sum = 0, squares = 0;
  for (const double length : std::span(sorted).first(count)) {
    sum += length;
    squares += length * length;
  }
  const auto number = static_cast<double>(count);
  const double mean = sum / number;
  return {mean, std::max(0.0, squares / number - mean * mean) / (number - 1)};
}

bool Judge::is_skipped(std::uint64_t phase) const {
  return (scramble(scramble(seed_) + phase) & (alone_one_in_.now() - 1)) == 0;
}

bool Judge::begin(bool may_help) {
  ++begun_;
  helps_ = always_ || (may_help && !resting() && !is_skipped(begun_));
  return helps_;
}

void Judge::end(const Phase& phase) {
  if (phase.outside_ns == 0) return;
  (helps_ ? helped_ : alone_) += 1;
  if (always_) return;
  if (resting()) return watch_rest(phase);
  (helps_ ? with_ : without_).add(phase);
  if (with_.phases >= kPhasesOfEach && without_.phases >= kPhasesOfEach) decide();
}

bool Judge::phases_got_longer() const {
  const Mean with = mean_of(with_.whole.kept()), without = mean_of(without_.whole.kept());
  return with.ns - without.ns > kBeyondChance * std::sqrt(with.error + without.error);
}

bool Judge::pays(const Mean& with, const Mean& without) const {
  // What waiting saves, computing may have paid: where no core is free, both are the same one.
  if (phases_got_longer()) return false;
  return with.ns <= kPays * without.ns || with_.moved >= kMovedShare * with_.phases;
}

void Judge::decide() {
  const Mean with = mean_of(with_.waited.kept()), without = mean_of(without_.waited.kept());
  const bool paid = pays(with, without);
  // What chance seems to take in one trial it seems to give in another: only all together count.
  const double shorter = without.ns - with.ns;
  saved_ns_ += with_.phases * (paid ? shorter : std::min(0.0, shorter));
  saved_squares_ += with_.phases * with_.phases * (without.error + with.error);
  if (paid) {
    rests_.reset();
    early_until_ = 0;
    alone_one_in_.lengthen();
  } else {
    alone_one_in_.reset();
    rest();
  }
  with_ = without_ = {};
}

void Judge::rest() {
  tried_ns_ = (with_.ns + without_.ns) / (with_.phases + without_.phases);
  resting_ = {};
  if (begun_ + 1 < early_until_) {
    rest_ends_ = early_until_;
    return;
  }
  early_until_ = 0;
  const std::uint64_t rest = rests_.next();
  rest_ends_ = next_multiple(rest, begun_ + rest / 2);
}

void Judge::watch_rest(const Phase& phase) {
  resting_.add(phase);
  if (early_until_ != 0 || resting_.phases < kRestPhases) return;
  const bool longer = resting_.mean() > kLongerWaits * tried_ns_;
  resting_ = {};
  const std::uint64_t early = next_multiple(kEarlyTrial, begun_);
  if (!longer || early >= rest_ends_) return;
  early_until_ = rest_ends_;
  rest_ends_ = early;
}

pay::SavedRange Judge::saved() const {
  const double error = std::sqrt(saved_squares_);
  const auto at_least_nothing = [](double ns) { return std::max(0.0, ns); };
  return {at_least_nothing(saved_ns_ - error), at_least_nothing(saved_ns_),
          at_least_nothing(saved_ns_ + error), saved_squares_ > 0};
}

}  // namespace hob::overlap
