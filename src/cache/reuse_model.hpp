#pragma once

// Learns, while running, how soon keys are used again, from the intervals between their uses, their
// size, and the time since their last use (their age). The measure is the uses to be expected for
// each get for which a key is kept, if it is kept for as long as is best (Gittins' index): what is
// used in bursts is valuable right after a use and worthless soon after; what is used in a loop
// becomes ever more valuable until it is used. The idea is LHD's (Beckmann, Chen, Cidon 2018: hit
// density); the classes, and the prior by size, are our own.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "pay/backoff.hpp"

namespace hob::cache {

class ReuseModel {
 public:
  /// What is known of a key's uses.
  struct History {
    float mean = 0;               ///< of the last few intervals between uses, in gets
    std::uint16_t intervals = 0;  ///< of which it is the mean; 0: the key was used once
    std::uint16_t last = 0;       ///< the last interval, by powers of two
  };

  ReuseModel() {
    touched_.fill(false);
    std::fill_n(touched_.begin(), kSteps, true);
    update();
    // Nothing was observed: classes differ by the expected interval alone.
    for (std::uint32_t c = kSteps; c < kClasses; ++c) density_[c] = density_[c % kSteps];
  }

  /// A key was used again after `age` gets: changes its history.
  static void used_after(History& history, std::uint64_t age) {
    constexpr std::array<float, kMostIntervals + 1> share = {1,        1,        1.0f / 2,
                                                             1.0f / 3, 1.0f / 4, 1.0f / 5};
    if (history.intervals < kMostIntervals) ++history.intervals;
    history.mean += (static_cast<float>(age) - history.mean) * share[history.intervals];
    history.last = static_cast<std::uint16_t>(log_of(age));
  }

  /// Learns from a key of that size and history that was used again after `age` gets. A caller who
  /// reports one such use in n only, chosen at random, gives n as `weight`.
  void learn_use(const History& before, std::uint64_t size, std::uint64_t age, float weight = 1) {
    observe(before, size, age, weight, weight);
  }

  /// Learns from a key that was lost sight of `age` gets after its last use.
  void learn_loss(const History& history, std::uint64_t size, std::uint64_t age) {
    observe(history, size, age, 1, 0);
  }

  /// Uses to be expected for each get that a key is kept whose last use was `age` gets ago.
  float density(const History& history, std::uint64_t size, std::uint64_t age) const {
    const float interval = expected(history, size);
    const std::uint32_t step = step_of(interval);
    // Within a class, in proportion to the expected interval.
    return density_[class_of(history, step)][age_of(age)] * centre_of(step) / interval;
  }

 private:
  static constexpr std::uint32_t kSizes = 40;  ///< by powers of two
  static constexpr std::uint32_t kLasts =
      5;  ///< how the last interval compares with the expected one
  static constexpr std::uint32_t kSteps = 22;  ///< the expected interval by powers of two
  static constexpr std::uint32_t kClasses = kLasts * kSteps;
  static constexpr std::uint32_t kAges = 26;          ///< by powers of two
  static constexpr std::uint16_t kMostIntervals = 5;  ///< that History::mean looks back
  static constexpr float kPriorWeight = 0.3f;  ///< of what is usual for the size, in intervals
  static constexpr float kPooledWeight = 4;    ///< of all sizes in what is usual for one, in uses
  static constexpr float kPseudo = 4;  ///< observations that the assumption made beforehand counts
  static constexpr float kEnough = 2048;  ///< observations of a class before older ones count half

  using Table = std::array<std::array<float, kAges>, kClasses>;

  /// How soon keys of a size that were used once are used again: time / uses gets.
  struct Usual {
    float time = 1000;
    float uses = 1;
    float interval = 1000;  ///< time / uses, drawn towards that of all sizes
  };

  static std::uint32_t log_of(std::uint64_t value) {
    return static_cast<std::uint32_t>(std::bit_width(value));
  }
  static std::uint32_t size_of(std::uint64_t size) { return std::min(log_of(size), kSizes - 1); }
  static std::uint32_t step_of(float interval) {
    return std::min(log_of(static_cast<std::uint64_t>(interval)), kSteps - 1);
  }
  /// Used once; or the last interval was much shorter, shorter, about as long, longer than
  /// expected.
  static std::uint32_t class_of(const History& history, std::uint32_t step) {
    if (history.intervals == 0) return step;
    const std::uint32_t last = history.last;
    const std::uint32_t relation = last + 3 < step    ? 1
                                   : last + 1 < step  ? 2
                                   : last <= step + 1 ? 3
                                                      : 4;
    return relation * kSteps + step;
  }
  static float centre_of(std::uint32_t step) { return std::ldexp(0.75f, static_cast<int>(step)); }
  static std::uint32_t age_of(std::uint64_t age) { return std::min(log_of(age), kAges - 1); }

  /// Ages [2^(a-1), 2^a) are in bar a.
  static float begin_of(std::uint32_t a) {
    return a == 0 ? 0 : std::ldexp(1.0f, static_cast<int>(a) - 1);
  }
  static float width_of(std::uint32_t a) { return a == 0 ? 1 : begin_of(a); }

  /// The interval to expect: from those observed, and from those usual for the size.
  float expected(const History& history, std::uint64_t size) const {
    const auto k = static_cast<float>(history.intervals);
    const float usual = usual_[size_of(size)].interval;
    return std::max(1.0f, (k * history.mean + kPriorWeight * usual) / (k + kPriorWeight));
  }

  void observe(const History& history, std::uint64_t size, std::uint64_t age, float weight,
               float uses) {
    if (history.intervals == 0) {
      Usual& u = usual_[size_of(size)];
      u.time += weight * static_cast<float>(age);
      u.uses += uses;
      if (u.uses > 1024 || u.time > 1e12f) {
        u.time /= 2;
        u.uses /= 2;
      }
      draw(u);
    }
    const std::uint32_t c = class_of(history, step_of(expected(history, size)));
    const std::uint32_t a = age_of(age);
    ends_[c][a] += weight;
    hits_[c][a] += uses;
    touched_[c] = true;
    if (--until_update_ > 0) return;
    update();
    period_.lengthen();
    until_update_ = period_.now();
  }

  /// The interval that is usual for a size, drawn towards that of all sizes.
  void draw(Usual& u) const {
    u.interval = (u.time + kPooledWeight * pooled_) / (u.uses + kPooledWeight);
  }

  void update() {
    float time = 0;
    float uses = 0;
    for (const Usual& u : usual_) {
      time += u.time;
      uses += u.uses;
    }
    pooled_ = time / uses;
    for (Usual& u : usual_) draw(u);
    for (std::uint32_t c = 0; c < kClasses; ++c)
      if (touched_[c]) update(c);
    touched_.fill(false);
  }

  void update(std::uint32_t c) {
    std::array<float, kAges> hits;
    std::array<float, kAges> time;             // spent at that age by all keys of the class
    const float mean = centre_of(c % kSteps);  // assumed beforehand: uses at random
    float alive = 0;
    float passed = std::exp(-(begin_of(kAges - 1) + width_of(kAges - 1)) / mean);
    for (std::uint32_t a = kAges; a-- > 0;) {
      const float reached = std::exp(-begin_of(a) / mean);
      hits[a] = hits_[c][a] + kPseudo * (reached - passed);
      time[a] =
          (alive + ends_[c][a] / 2) * width_of(a) + kPseudo * mean * (reached - passed) + 1e-20f;
      alive += ends_[c][a];
      passed = reached;
    }
    for (std::uint32_t from = 0; from < kAges; ++from) {
      float best = 0;
      float h = 0;
      float t = 0;
      for (std::uint32_t a = from; a < kAges; ++a) {
        h += hits[a];
        t += time[a];
        best = std::max(best, h / t);
      }
      density_[c][from] = best;
    }
    if (alive < kEnough) return;
    for (std::uint32_t a = 0; a < kAges; ++a) {
      hits_[c][a] *= 0.5f;
      ends_[c][a] *= 0.5f;
    }
  }

  Table hits_{};
  Table ends_{};
  Table density_{};
  std::array<Usual, kSizes> usual_{};
  float pooled_ = 1000;
  std::array<bool, kClasses> touched_;  ///< since the last update
  pay::Backoff<std::int32_t> period_{{.first = 256, .longest = 8192}};
  std::int32_t until_update_ = 256;
};

}  // namespace hob::cache
