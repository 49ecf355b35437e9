#include "recall/recall.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace hob::recall {
namespace {

/// Misses of a phase that are looked up in the records; then the phase is like none of them.
constexpr std::uint32_t kAttempts = 8;
/// Misses that the phase's record does not contain. If fewer of its places were used, the phase may
/// be like another record.
constexpr std::uint32_t kForeign = 4;
/// Places of a log that are looked up to find the record that it is like.
constexpr std::size_t kSample = 16;

}  // namespace

/// Finds the record that the phase is like. False: there is none, or it does not contain this get.
bool Recall::match(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes) {
  if (current_ != kNone) {
    if (const std::uint32_t at = records_[current_].find(target, displacement, bytes);
        at != kNone) {
      read(at, bytes);
      return true;
    }
    if (++foreign_ < kForeign || used_ >= foreign_ || attempts_ >= kAttempts) return false;
    leave_wrong_one();
  }
  if (attempts_ >= kAttempts) return false;
  ++attempts_;
  const std::uint32_t expected = previous_ == kNone ? kNone : records_[previous_].next;
  std::uint32_t found = kNone, candidates = 0;
  for (std::uint32_t i = 0; i < records_.size(); ++i) {
    if (records_[i].find(target, displacement, bytes) == kNone) continue;
    ++candidates;
    if (found == kNone || i == expected ||
        (found != expected && records_[i].last_phase > records_[found].last_phase))
      found = i;
  }
  if (found == kNone) return false;
  current_ = found;
  cautious_ = candidates > 1 && found != expected;
  amount_ = Policy::kPlaces.first;
  foreign_ = 0;
  recalled_ = used_ = 0;
  read(records_[current_].find(target, displacement, bytes), bytes);
  return true;
}

/// The program's own get fetches these bytes of a place.
void Recall::read(std::uint32_t index, std::uint64_t bytes) {
  Place& place = records_[current_][index];
  if (place.bytes() == bytes) place.set(Place::kAsked);
}

void Recall::leave_wrong_one() {
  vain_elsewhere_ += records_[current_].abandon();
  ++phase_;  // tags of this record's places are not valid any more
  current_ = kNone;
}

std::span<const std::uint32_t> Recall::choose(std::uint32_t target, std::uint64_t displacement,
                                              std::uint64_t bytes, bool all, std::uint64_t most,
                                              Prices& prices) noexcept {
  if (records_.empty()) [[likely]]
    return {};
  if (!policy_.recalls() || !match(target, displacement, bytes)) return {};
  Record& record = records_[current_];
  const bool everything = record.trusted && !cautious_;
  if (!everything) {
    if (2 * used_ < recalled_) return {};
    if (recalled_ != 0) amount_ = Policy::kPlaces.after(amount_);
  }
  const double affordable = policy_.affordable();
  if (affordable <= 0 && !everything) return {};
  const Record::Range range = all ? Record::Range{0, record.size()} : record.of(target);
  const bool sure = affordable <= 0;  // only places that came each time
  std::uint64_t sum = 0;
  try {
    chosen_.clear();
    for (std::uint32_t i = range.first; i < range.end; ++i) {
      const Place& place = record[i];
      if (place.is(Place::kRecalled) || place.is(Place::kAsked)) continue;
      if (place.is(Place::kFresh) && (sure || !record.newcomers_return)) continue;
      if (sure && place.is(Place::kAbsent)) continue;
      chosen_.push_back(i);
      sum += place.bytes();
    }
  } catch (const std::bad_alloc&) {
    return {};
  }
  const auto gain = [&](double longer) {
    return Policy::gain(prices, static_cast<std::uint32_t>(chosen_.size()), record.completions, sum,
                        longer);
  };
  double longer = added(target, displacement, bytes, prices);
  if (prices.first != 0) {
    Prices later = prices;
    later.first = 0;
    if (const double then = added(target, displacement, bytes, later); gain(then) > 0) {
      if (without_first_ == 0) at_best_ = Policy::at_best(prices, chosen_.size(), sum);
      without_first_ = prices.first;
      if (everything && policy_.invests(prices.first)) {
        prices = later;
        longer = then;
      }
    }
  }
  if (gain(longer) <= 0) return {};
  std::size_t count = chosen_.size();
  if (!everything && count > amount_) {
    const auto sooner = [&](std::uint32_t a, std::uint32_t b) {
      return record[a].order() < record[b].order();
    };
    count = amount_;
    std::nth_element(chosen_.begin(), chosen_.begin() + static_cast<std::ptrdiff_t>(count),
                     chosen_.end(), sooner);
    std::sort(chosen_.begin(), chosen_.begin() + static_cast<std::ptrdiff_t>(count));
    most = std::min(most, static_cast<std::uint64_t>(affordable));
  } else if (!everything) {
    most = std::min(most, static_cast<std::uint64_t>(affordable));
  }
  sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += record[chosen_[i]].bytes();
    if (sum > most) count = i;
  }
  return {chosen_.data(), count};
}

/// How much longer it takes to fetch the chosen places than the program's own bytes, which travel
/// with those of their target.
double Recall::added(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes,
                     const Prices& prices) const {
  const Record& record = records_[current_];
  double sum = 0;
  for (std::size_t first = 0; first < chosen_.size();) {
    const Place& begin = record[chosen_[first]];
    std::size_t end = first + 1;
    while (end < chosen_.size() && record[chosen_[end]].target() == begin.target()) ++end;
    std::uint64_t low = begin.displacement(), high = record[chosen_[end - 1]].end(), its = 0;
    for (std::size_t i = first; i < end; ++i) its += record[chosen_[i]].bytes();
    if (begin.target() == target) {
      its += bytes;
      low = std::min(low, displacement);
      high = std::max(high, displacement + bytes);
      sum -= prices.latency;
    }
    sum += prices.span_is_cheaper(end - first, its, high - low) ? prices.span(its, high - low)
                                                                : prices.scatter(end - first);
    first = end;
  }
  return std::max(sum, 0.0);
}

std::uint64_t Recall::used(std::uint64_t tag) {
  if (tag >> 32 != phase_ || current_ == kNone) return 0;
  Place& place = records_[current_][static_cast<std::uint32_t>(tag) - 1];
  if (place.is(Place::kAsked)) return 0;
  place.set(Place::kAsked);
  ++used_;
  return place.bytes();
}

bool Recall::reads_recalled() const {
  if (!recording_ || !policy_.recalls()) return false;
  std::uint32_t like = current_;
  if (like == kNone && previous_ != kNone && attempts_ < kAttempts) like = records_[previous_].next;
  return like != kNone && records_[like].trusted && !(like == current_ && cautious_);
}

void Recall::phase_ended(bool learning) noexcept {
  try {
    close_phase(learning);
  } catch (const std::bad_alloc&) {
    records_.clear();
  }
  begin_phase();
}

/// The record that contains most places of a log; kNone if none contains half of them.
std::uint32_t Recall::alike(std::span<const Place> log) const {
  if (log.empty()) return kNone;
  const std::size_t step = std::max<std::size_t>(log.size() / kSample, 1);
  std::uint32_t best = kNone;
  std::size_t most = 0;
  for (std::uint32_t r = 0; r < records_.size(); ++r) {
    std::size_t found = 0, looked = 0;
    for (std::size_t i = 0; i < log.size(); i += step, ++looked)
      found += records_[r].find(log[i].target(), log[i].displacement(), log[i].bytes()) != kNone;
    if (2 * found > looked && found > most) {
      most = found;
      best = r;
    }
  }
  return best;
}

void Recall::close_phase(bool learning) {
  if (!recording_) {
    policy_.closed({});
    recording_ = policy_.records();
    return;
  }
  if (log_.size() == 0 && current_ == kNone) return;  // no phase, since nothing was read
  std::uint64_t asked_bytes = 0, vain = vain_elsewhere_;
  std::uint64_t asked = used_;
  if (log_.overflowed()) {
    if (current_ != kNone) vain += records_[current_].abandon();
    follow(kNone);
  } else {
    const std::span<const Place> log = log_.sorted();
    for (const Place& place : log) asked_bytes += place.bytes();
    asked += log.size();
    if (current_ == kNone) current_ = alike(log);
    if (current_ == kNone) {
      if (log.size() > 1)
        add_record(log);
      else
        follow(kNone);
    } else {
      Record& record = records_[current_];
      record.mark(log, rest_);
      const Record::Outcome outcome = record.close(rest_, policy_.affordable() <= 0);
      settle(record, outcome);
      asked_bytes = std::max(asked_bytes, outcome.asked_bytes);
      vain += outcome.vain_bytes;
      const std::uint32_t now = current_;
      follow(now);
      if (record.size() < 2 || !outcome.whole) {
        records_.erase(records_.begin() + now);
        previous_ = kNone;
        for (Record& each : records_) each.next = kNone;
      }
    }
  }
  if (without_first_ != 0) policy_.forgone(without_first_, spent_ - at_best_);
  series_.add({.phase = phase_,
               .count = 1,
               .recalled = recalled_in_all_,
               .used = used_,
               .missed = asked - used_});
  policy_.closed({.asked_bytes = asked_bytes,
                  .places = asked,
                  .used = used_,
                  .vain_bytes = vain,
                  .spent = spent_,
                  .learning = learning});
  recording_ = policy_.records();
  if (recording_) return;
  records_.clear();
  log_.free();
  rest_ = {};
  chosen_ = {};
  previous_ = kNone;
}

void Recall::settle(Record& record, const Record::Outcome& outcome) {
  record.last_phase = phase_;
  if (outcome.known != 0) {
    if (4 * outcome.asked >= 3 * outcome.known)
      record.trusted = true;
    else if (2 * outcome.asked < outcome.known)
      record.trusted = false;
  } else if (outcome.fresh != 0) {
    record.trusted = 4 * outcome.fresh_asked >= 3 * outcome.fresh;
  }
  // All places of a new record are fresh: whether they came again says little about later ones.
  if (outcome.known != 0 && outcome.fresh != 0)
    record.newcomers_return = 2 * outcome.fresh_asked >= outcome.fresh;
  // Where most places were recalled, the program's flushes found nothing to wait for.
  record.completions = 2 * used_ < outcome.asked + outcome.fresh_asked
                           ? completions_
                           : std::max(record.completions, completions_);
}

void Recall::add_record(std::span<const Place> places) {
  if (records_.size() == kMostRecords) {
    const auto oldest = std::min_element(
        records_.begin(), records_.end(),
        [](const Record& a, const Record& b) { return a.last_phase < b.last_phase; });
    records_.erase(oldest);
    previous_ = kNone;
    for (Record& record : records_) record.next = kNone;
  }
  Record record(room_);
  const Record::Outcome outcome = record.close(places, false);
  record.last_phase = phase_;
  record.completions = completions_;
  if (!outcome.whole) return follow(kNone);
  records_.push_back(std::move(record));
  follow(static_cast<std::uint32_t>(records_.size()) - 1);
}

/// The phase that ends was like that record.
void Recall::follow(std::uint32_t record) {
  if (previous_ != kNone) records_[previous_].next = record;
  previous_ = record;
}

void Recall::begin_phase() {
  ++phase_;
  current_ = kNone;
  without_first_ = 0;
  attempts_ = foreign_ = completions_ = 0;
  recalled_ = used_ = recalled_in_all_ = vain_elsewhere_ = 0;
  spent_ = 0;
  log_.clear();
}

std::uint64_t Recall::places() const {
  std::uint64_t sum = 0;
  for (const Record& record : records_) sum += record.size();
  return sum;
}

std::uint64_t Recall::memory_bytes() const {
  std::uint64_t sum = sizeof *this + log_.memory_bytes() + series_.memory_bytes() +
                      chosen_.capacity() * sizeof(int) + rest_.capacity() * sizeof(Place);
  for (const Record& record : records_) sum += sizeof record + record.memory_bytes();
  return sum;
}

}  // namespace hob::recall
