#include "heat/phases.hpp"

namespace hob::heat {

void Phases::active(std::int64_t now) {
  if (!seen_) {
    seen_ = true;
    begin_ = now;
  } else if (now - last_ >= gap_) {
    std::int64_t length = now - begin_;
    period_ = period_ == 0 ? length : (3 * period_ + length) / 4;
    begin_ = now;
  }
  last_ = now;
}

bool Phases::heat(std::int64_t now) const {
  if (period_ == 0) return true;
  if (now - last_ < gap_) return true;
  std::int64_t since = now - begin_;
  return since >= period_ - lead_ && since < 2 * period_;
}

}  // namespace hob::heat
