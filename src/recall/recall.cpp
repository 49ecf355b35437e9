#include "recall/recall.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace hob::recall {
namespace {

/// Misses of a phase that are looked up in the records; then the phase is like none of them.
constexpr std::uint32_t kAttempts = 8;
/// Misses that the phase's record does not contain. If fewer of its places were used, the phase may
/// be like another record.
constexpr std::uint32_t kForeign = 4;
/// A phase with recalled places that took so much longer than the last one without was slower.
constexpr double kSlower = 1.25;
/// Phases ago at most, that one was which came once and is looked at by attempts.
constexpr std::uint64_t kRecent = 4;
/// Each of so many recalled places takes twice as long, since they do not fit into a core's caches:
/// measured 0.18 us for 1,000, 0.31 for 30,000, 0.6 for 100,000.
constexpr double kTwiceAsLong = 50'000;
/// Places of a log that are looked up to find the record that it is like, and of these the first,
/// after which none is found for a record that is another.
constexpr std::size_t kSample = 16, kFirstOfSample = 4;
/// Places that may be compared without a match for each get that was missing, at some 1 ns each.
/// Chosen.
constexpr std::uint64_t kLooksEach = 8;

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
    if (recalled_ != 0 && 2 * used_ >= recalled_) return false;  // right, but it lacks places
    leave_wrong_one();
  }
  if (attempts_ >= kAttempts) return false;
  ++attempts_;
  const std::uint32_t expected = previous_ == kNone ? kNone : records_[previous_].next;
  std::uint32_t found = kNone, candidates = 0;
  for (std::uint32_t i = 0; i < records_.size(); ++i) {
    // Programs in which nothing comes again gain nothing from this, so it is cheap.
    const bool recent = records_[i].last_phase + kRecent >= phase_;
    if (!records_[i].came_again && !recent && i != expected) continue;
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
  const std::uint32_t at = records_[current_].find(target, displacement, bytes);
  // A short place that had another length when it came before: others may have one, too.
  const std::uint64_t before = records_[current_][at].bytes();
  if (!records_[current_].was_recalled && before != bytes && before < Record::kShortestRun)
    cautious_ = true;
  read(at, bytes);
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
  // Where some places were not worth it, one fewer hardly is.
  if (looked_in_vain_ > kLooksEach * log_.size()) return {};
  Record& record = records_[current_];
  const Record::Range range = all ? Record::Range{0, record.size()} : record.of(target);
  try {
    return choose_of(record, target, displacement, bytes, range, most, prices);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

/// Chooses places of this range that are to come, those that were read first if there are more than
/// go at once. `sure`: only those that came each time. Throws std::bad_alloc.
void Recall::collect(const Record& record, Record::Range range, bool sure, std::uint32_t at_once) {
  chosen_.clear();
  for (std::uint32_t i = range.first; i < range.end; ++i) {
    const Place& place = record[i];
    if (place.is(Place::kRecalled) || place.is(Place::kAsked)) continue;
    if (place.is(Place::kFresh) && (sure || !record.newcomers_return)) continue;
    if (sure && place.is(Place::kAbsent)) continue;
    chosen_.push_back(i);
  }
  if (chosen_.size() <= at_once) return;
  const auto sooner = [&](std::uint32_t a, std::uint32_t b) {
    return record[a].order() < record[b].order();
  };
  std::nth_element(chosen_.begin(), chosen_.begin() + at_once, chosen_.end(), sooner);
  chosen_.resize(at_once);
  std::sort(chosen_.begin(), chosen_.end());
}

std::span<const std::uint32_t> Recall::choose_of(Record& record, std::uint32_t target,
                                                 std::uint64_t displacement, std::uint64_t bytes,
                                                 Record::Range range, std::uint64_t most,
                                                 Prices& prices) {
  if (record.skips != 0) return {};
  const bool everything = record.trusted && !cautious_;
  if (!everything) {
    if (2 * used_ < recalled_) return {};
    if (recalled_ != 0) amount_ = Policy::kPlaces.after(amount_);
  }
  const double affordable = policy_.affordable();
  if (affordable <= 0 && !everything) return {};
  const bool sure = affordable <= 0;
  looked_in_vain_ += range.end - range.first;
  collect(record, range, sure, everything ? prices.at_once : amount_);
  if (!everything) most = std::min(most, static_cast<std::uint64_t>(affordable));
  // A dear first get is not made for places that may not come again.
  prices.scatters = everything || prices.first == 0;
  std::uint64_t sum = 0;
  for (const std::uint32_t index : chosen_) sum += record[index].bytes();
  const auto count = static_cast<std::uint32_t>(chosen_.size());
  // Places that come for the first time will be trips, even where blocks of readahead brought them.
  const double others = record.newcomers * prices.latency;
  double took = std::numeric_limits<double>::infinity();
  if (config_.judged && record.took != 0)
    took = std::max(record.took - others - keeping(record.size()), 0.0) * count / record.size();
  const auto gain = [&](double longer) {
    return Policy::gain(prices, count, record.completions, sum, longer, took);
  };
  if (everything && prices.first != 0) {
    Prices later = prices;
    later.first = 0;
    const double then = gain(added(target, displacement, bytes, later));
    if (then > 0) {
      if (without_first_ == 0) at_best_ = Policy::at_best(prices, chosen_.size(), sum) + others;
      without_first_ = prices.first;
    }
    prices.scatters =
        then > 0 && (policy_.invests(prices.first) || then > Policy::kAtOnce * prices.first);
    if (prices.scatters) first_paid_ = std::exchange(prices.first, 0);
  }
  const double longer = added(target, displacement, bytes, prices);
  if (gain(longer) <= 0) return {};
  sum = 0;
  std::size_t fits = 0;
  for (; fits < chosen_.size(); ++fits) {
    sum += record[chosen_[fits]].bytes();
    if (sum > most) break;
  }
  looked_in_vain_ -= range.end - range.first;
  return {chosen_.data(), fits};
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

/// What so many recalled places take beside the get that brings them, their hits included.
double Recall::keeping(std::uint64_t places) const {
  const auto count = static_cast<double>(places);
  return config_.least_each * (1 + count / kTwiceAsLong) * count;
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
  if (current_ != kNone) return recalled_ != 0 && records_[current_].trusted;
  if (previous_ == kNone || attempts_ >= kAttempts) return false;
  const std::uint32_t expected = records_[previous_].next;
  return expected != kNone && records_[expected].was_recalled;
}

void Recall::phase_ended(bool learning) noexcept {
  longest_ = std::max(longest_, log_.overflowed() ? config_.most_places : used_ + log_.size());
  try {
    close_phase(learning);
  } catch (const std::bad_alloc&) {
    records_.clear();
    seen_.clear();
    previous_ = kNone;
  }
  log_.keep(std::min(std::max(kMuchLonger * longest_, config_.most_at_first), config_.most_places));
  begin_phase();
}

/// The record that contains most places of a log; kNone if none contains half of them.
/// `same`: places of as many bytes, not parts of longer ones.
std::uint32_t Recall::alike(std::span<const Place> log, const std::vector<Record>& records,
                            bool same) {
  if (log.empty()) return kNone;
  const std::size_t step = std::max<std::size_t>(log.size() / kSample, 1);
  std::uint32_t best = kNone;
  std::size_t most = 0;
  for (std::uint32_t r = 0; r < records.size(); ++r) {
    std::size_t found = 0, looked = 0;
    for (std::size_t i = 0; i < log.size(); i += step, ++looked) {
      if (looked == kFirstOfSample && found == 0) break;
      const std::uint32_t at =
          records[r].find(log[i].target(), log[i].displacement(), log[i].bytes());
      found += at != kNone && (!same || records[r][at].bytes() == log[i].bytes());
    }
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
  spent_ += keeping(used_);
  PhaseSum sum{.places = used_ + log_.size(),
               .used = used_,
               .vain_bytes = vain_elsewhere_,
               .spent = spent_,
               .learning = learning};
  for (const Place& place : log_.places()) sum.asked_bytes += place.bytes();
  if (log_.overflowed()) {
    sum.learning = true;  // its gets were not all timed
    if (current_ != kNone) sum.vain_bytes += records_[current_].abandon();
    follow(kNone);
  } else {
    if (current_ == kNone) current_ = alike(log_.places(), records_, false);
    if (current_ == kNone)
      close_unknown();
    else
      close_as(records_[current_], sum);
  }
  if (without_first_ != 0) policy_.forgone(without_first_, spent_ - at_best_);
  series_.add({.phase = phase_,
               .count = 1,
               .recalled = recalled_in_all_,
               .used = used_,
               .missed = sum.places - used_});
  policy_.closed(sum);
  recording_ = policy_.records();
  if (recording_) return;
  records_.clear();
  seen_.clear();
  log_.free();
  rest_ = {};
  chosen_ = {};
  previous_ = kNone;
}

/// The phase that ends was like that record.
void Recall::close_as(Record& record, PhaseSum& sum) {
  record.last_phase = phase_;
  record.came_again = true;
  record.was_recalled = 2 * used_ >= sum.places;
  const bool slower =
      config_.judged && record.took != 0 && spent_ - first_paid_ > kSlower * record.took;
  if (recalled_in_all_ == 0) {
    record.skips -= record.skips != 0;
    record.took = spent_;
  } else if (!slower) {
    record.slower = 0;
    record.next_skips.reset();
  } else if (++record.slower > 1) {  // one may be slower by chance
    record.skips = record.next_skips.next();
  }
  const std::uint32_t now = current_;
  follow(now);
  // Nothing was recalled that could be forgotten; what came besides is seen in a later phase.
  if (record.trusted && recalled_in_all_ == 0) {
    sum.vain_bytes += record.abandon();
    record.completions = completions_;
    return;
  }
  record.mark(log_.sorted(), rest_);
  const Record::Outcome outcome = record.close(rest_, policy_.affordable() <= 0);
  record.newcomers = outcome.entered;
  settle(record, outcome);
  sum.asked_bytes = std::max(sum.asked_bytes, outcome.asked_bytes);
  sum.vain_bytes += outcome.vain_bytes;
  if (record.size() < 2 || !outcome.whole) {
    records_.erase(records_.begin() + now);
    previous_ = kNone;
    for (Record& each : records_) each.next = kNone;
  }
}

/// The phase that ends was like no record. To sort all places of a large one takes long beside what
/// its gets took, if readahead brought them: it becomes a record where it comes again.
void Recall::close_unknown() {
  const bool large = log_.size() > config_.small_phase;
  double came_before = 0;
  if (log_.size() < 2 || (large && (came_before = share_seen_before()) == 0)) return follow(kNone);
  add_record(log_.sorted(), came_before);
}

/// Which part of a large phase has come before in one like it. Keeps a sample of it if none did.
double Recall::share_seen_before() {
  log_.sample(rest_);
  if (const std::uint32_t like = alike(rest_, seen_, true); like != kNone) {
    std::size_t found = 0;
    for (const Place& place : rest_)
      found += seen_[like].find(place.target(), place.displacement(), place.bytes()) != kNone;
    seen_.erase(seen_.begin() + like);
    return static_cast<double>(found) / static_cast<double>(rest_.size());
  }
  if (seen_.size() == kMostRecords) seen_.erase(seen_.begin());
  Record sample(room_);
  if (sample.close(rest_, false).whole) seen_.push_back(std::move(sample));
  return 0;
}

void Recall::settle(Record& record, const Record::Outcome& outcome) {
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

void Recall::add_record(std::span<const Place> places, double came_before) {
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
  record.took = spent_;
  record.trusted = record.came_again = came_before != 0;
  if (record.trusted)
    record.newcomers =
        static_cast<std::uint32_t>((1 - came_before) * static_cast<double>(places.size()));
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
  without_first_ = first_paid_ = 0;
  attempts_ = foreign_ = completions_ = 0;
  recalled_ = used_ = recalled_in_all_ = vain_elsewhere_ = 0;
  looked_in_vain_ = 0;
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
  for (const auto* records : {&records_, &seen_})
    for (const Record& record : *records) sum += sizeof record + record.memory_bytes();
  return sum;
}

}  // namespace hob::recall
