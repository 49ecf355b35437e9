// Writes of several threads to the own rank: whatever the order of steps, each report names a write
// that may have arrived since the report before it.
#include "validation/own_marks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace hob::validation {
namespace {

constexpr int kNever = 1 << 20;

/// A write of thread w, flushes of thread f and reports of thread t, in the order that `steps`
/// says.
class Order {
 public:
  explicit Order(const std::string& steps) {
    for (const char thread : steps) step(thread);
    // All threads have met, as they do before the process makes a call that others follow.
    while (write_step_ < 3) step('w');
    while (flush_step_ % 3 != 0) step('f');
    step('t');
    for (int i = 0; i < 3; ++i) step('f');
    step('t');
    step('t');
  }

  /// Every report that had to name the write did, and the last one does not.
  void expect_right(const std::string& steps) const {
    for (std::size_t i = 0; i < reports_.size(); ++i) {
      const int before = i == 0 ? -1 : reports_[i - 1].when;
      const int end = std::max(arrived_, returned_);
      const bool may_have_arrived = issued_ < reports_[i].when && end > before;
      if (may_have_arrived && returned_ < reports_[i].when) {
        EXPECT_TRUE(reports_[i].named) << steps << ", report " << i;
      }
    }
    EXPECT_FALSE(reports_.back().named) << steps;
  }

 private:
  struct Report {
    int when;
    bool named;
  };

  void step(char thread) {
    ++now_;
    if (thread == 't') {
      const bool named = marks_.notify();
      return reports_.push_back({now_, named});
    }
    if (thread == 'w') return write();
    switch (flush_step_++ % 3) {
      case 0:
        flush_ = marks_.begin_flush();
        break;
      case 1:
        if (issued_ != kNever) arrived_ = std::min(arrived_, now_);
        break;
      case 2:
        marks_.settle(flush_);
        break;
    }
  }

  void write() {
    switch (write_step_++) {
      case 1:
        issued_ = now_;
        break;
      case 2:
        returned_ = now_;
        [[fallthrough]];
      case 0:
        marks_.note();
        break;
      default:
        break;
    }
  }

  OwnMarks marks_;
  std::vector<Report> reports_;
  std::uint64_t flush_ = 0;
  int now_ = 0, write_step_ = 0, flush_step_ = 0;
  int issued_ = kNever, arrived_ = kNever, returned_ = kNever;
};

TEST(OwnMarks, everyOrderOfAWriteTwoFlushesAndTwoReports) {
  std::string steps = "ffffffttwww";
  int orders = 0;
  do {
    Order(steps).expect_right(steps);
    ++orders;
  } while (std::next_permutation(steps.begin(), steps.end()));
  EXPECT_EQ(orders, 4620);
}

TEST(OwnMarks, whatIsCompleteIsNamedOnce) {
  OwnMarks marks;
  EXPECT_FALSE(marks.notify());
  marks.note();
  marks.note();
  EXPECT_TRUE(marks.writing());
  EXPECT_TRUE(marks.notify());
  EXPECT_TRUE(marks.notify());
  marks.settle(marks.begin_flush());
  EXPECT_FALSE(marks.writing());
  EXPECT_TRUE(marks.notify());
  EXPECT_FALSE(marks.notify());
}

}  // namespace
}  // namespace hob::validation
