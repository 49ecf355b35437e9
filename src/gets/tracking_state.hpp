// When what a process does with one window must be seen, and what went unseen. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/published.hpp"

namespace hob::gets {

/// A window is tracked from the first get on that may be kept: from then on the process's writes
/// and acquires are seen. Where nothing is kept, tracking is off. Not thread safe, but for
/// is_off_for_good().
class TrackingState {
 public:
  /// Calls in a row that a cache gains nothing by (own writes, gets of the own rank and of targets
  /// as fast as a hit), after which tracking of a window ends; doubled each time, up to the second,
  /// since copies are lost.
  static constexpr std::uint32_t kPatience = 768, kLongestPatience = 65'536;

  bool is_on() const { return state_.get() == State::on; }
  /// For good: whatever a get of this window costs, it is not a network.
  bool is_off_for_good() const { return state_.get() == State::off_for_good; }
  /// Collective calls in a row in which no member asked for copies, and before which nothing was
  /// read, after which tracking of a window ends.
  static constexpr std::uint32_t kUnread = 12;

  /// Writes may be outstanding that were not seen.
  bool was_off() const { return was_off_; }

  /// From now on everything is seen; `wrote`: writes were issued before.
  void turn_on(bool wrote) {
    state_.set(State::on);
    was_off_ = true;
    unseen_writes_ = wrote;
    useless_ = unread_ = 0;
  }
  /// From now on nothing is.
  void turn_off() {
    state_.set(State::off);
    was_off_ = notified_unseen_ = true;
    patience_ = std::min(2 * patience_, kLongestPatience);
  }
  void turn_off_for_good() {
    turn_off();
    state_.set(State::off_for_good);
  }

  /// Calls that a cache gains nothing by. Whether tracking should end.
  bool useless(std::uint32_t calls = 1) {
    useless_ += calls;
    return useless_ >= patience_ && is_on();
  }
  /// A get that may be served or kept.
  void useful() { useless_ = 0; }

  /// Such a collective call. Whether tracking should end.
  bool unread(bool read) {
    unread_ = read ? 0 : unread_ + 1;
    return unread_ >= kUnread && is_on();
  }

  /// Some writes really may be outstanding that were not seen.
  bool unseen_writes() const { return unseen_writes_; }

  /// All writes issued so far are complete.
  void completed() { was_off_ = unseen_writes_ = false; }
  /// There is no memory to note writes in.
  void lose_track() { was_off_ = unseen_writes_ = true; }

  /// A report to the others says who was written to since the last report. Whether the process has
  /// to say that it may have written anywhere: writes went unseen since then, or did before and may
  /// have arrived since.
  bool notify() {
    const bool unseen = !is_on() || unseen_writes_;
    const bool anywhere = unseen || notified_unseen_;
    notified_unseen_ = unseen;
    return anywhere;
  }

 private:
  enum class State : std::uint8_t { off, on, off_for_good };

  Published<State> state_{State::off};
  bool was_off_ = true;
  bool unseen_writes_ = false;   ///< some really may be outstanding
  bool notified_unseen_ = true;  ///< some were unseen at the last report, or since
  std::uint32_t useless_ = 0;
  std::uint32_t unread_ = 0;
  std::uint32_t patience_ = kPatience;
};

}  // namespace hob::gets
