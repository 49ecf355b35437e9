// What is outstanding at the targets of a window, and who completes it. Pure.
#pragma once

#include <atomic>
#include <cstdint>

#include "gets/gets_under_way.hpp"
#include "gets/target_state.hpp"

namespace hob::gets {

/// Flushes and ends of epochs of one window. Not thread safe, but for pass_by().
class Completions {
 public:
  /// A flush that some thread makes.
  struct Token {
    /// The call may be the local one that was asked for. False if it must be the full flush, since
    /// gets are pending: where a library's local one returns before their bytes are there, copies
    /// of the old buffer would stay.
    bool local = false;
    std::uint32_t last_get = 0;    ///< issued before; younger ones may not be completed by the call
    std::uint64_t last_write = 0;  ///< likewise
    std::uint64_t own_flush = 0;   ///< of OwnMarks
    std::uint64_t started = 0;     ///< the owner's clock; 0: not timed
  };

  /// Both outlive the object.
  Completions(TargetTable& targets, const GetsUnderWay& under_way)
      : targets_(targets), under_way_(under_way) {}

  /// Gets pass by that are not seen by their target. Thread safe.
  void pass_by() {
    if (!passed_by_.load(std::memory_order_relaxed))
      passed_by_.store(true, std::memory_order_relaxed);
  }

  /// All that passed by are complete, or will be by a flush of all that begins now. Not with
  /// several threads, where another one may be issued at any time.
  void none_passed_by() { passed_by_.store(false, std::memory_order_relaxed); }

  /// Whether nothing of this process is outstanding at a target.
  bool is_idle(const TargetState& target) const {
    return target.gets == 0 && !target.writing() && target.completing == 0 && completing_all_ == 0;
  }
  /// Whether gets are under way that are to be kept, or some thread makes a flush.
  bool busy() const {
    bool busy = completing_all_ != 0;
    targets_.each([&](const TargetState& target) {
      busy = busy || !target.pending.empty() || target.completing != 0;
    });
    return busy;
  }

  /// A flush of the program, of one target or all. Whether nothing is outstanding there, so that it
  /// would do nothing, and it is called for the sake of hits: a program that flushes for progress
  /// alone still does.
  bool skip(TargetState& target) const {
    if (!target.hits_to_flush() || !is_idle(target)) return false;
    target.flushed_hits = target.hits;
    return true;
  }
  /// `unseen`: writes may be outstanding that were not seen.
  bool skip_all(bool unseen) {
    bool idle = !unseen && !passed_by_.load(std::memory_order_relaxed);
    bool hits = false;
    targets_.each([&](const TargetState& target) {
      idle = idle && is_idle(target);
      hits = hits || target.hits_to_flush();
    });
    if (!idle || !hits) return false;
    targets_.each([](TargetState& target) { target.flushed_hits = target.hits; });
    return true;
  }

  /// Before the library's flush of one target, or of all (null); `local`: it was asked to be a
  /// local one. `last_write`: the number of the last write issued.
  Token begin(TargetState* target, bool local, std::uint64_t last_write) {
    Token token{.local = local, .last_get = under_way_.last_birth(), .last_write = last_write};
    ++completing(target);
    if (target)
      begin_at(*target, token);
    else
      targets_.each([&](TargetState& each) { begin_at(each, token); });
    return token;
  }
  /// After it, before settle().
  void end(TargetState* target) { --completing(target); }
  /// Writes to a target are complete, if the flush was no local one.
  static void settle(TargetState& target, const Token& token) {
    target.left = false;
    if (!token.local && target.settled < token.last_write) target.settled = token.last_write;
  }

  /// Whether a wait for the gets to a target up to the one numbered `last`, which ends now, was for
  /// these alone: none was left to the library beside them, and no other thread waits for them too,
  /// or has issued more since.
  bool waited_alone(const TargetState& target, std::uint32_t last) const {
    if (target.pending.empty()) return true;
    const std::uint32_t youngest = under_way_[target.pending.back()].birth;
    return !target.left && target.completing == 0 && completing_all_ == 0 &&
           static_cast<std::int32_t>(youngest - last) <= 0;
  }

  /// An epoch at a target is over, and all of this process's operations there. `closed`: no other
  /// one is open there.
  static void close(TargetState& target, std::uint64_t last_write, bool closed) {
    target.gets = 0;
    target.left = false;
    target.flushed_hits = target.hits;
    target.settled = last_write;
    target.closed = closed;
  }

 private:
  /// Threads between begin() and end().
  std::uint32_t& completing(TargetState* target) {
    return target ? target->completing : completing_all_;
  }
  static void begin_at(TargetState& target, Token& token) {
    if (!target.pending.empty()) token.local = false;
    target.gets = 0;
    target.flushed_hits = target.hits;
  }

  TargetTable& targets_;
  const GetsUnderWay& under_way_;
  std::atomic<bool> passed_by_{false};  ///< gets that did may be outstanding
  std::uint32_t completing_all_ = 0;    ///< of all targets
};

}  // namespace hob::gets
