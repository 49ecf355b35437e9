#include "mpi/rma/own_stores.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "os/memory.hpp"
#include "validation/children.hpp"
#include "validation/devices.hpp"
#include "validation/unseen_stores.hpp"

namespace hob::mpi {
namespace {

using validation::Owner;
using validation::Tracking;

constexpr std::uint32_t kUnwantedCalls = 16;
constexpr double kNanosecondsForMib = 5e3;  ///< to protect small pages

constexpr double kDear = 1e6;  ///< worth asking how much memory there is

double price_of(std::uint64_t bytes) {
  return kNanosecondsForMib * static_cast<double>(bytes) / (1 << 20);
}

/// Counts what its scope takes, and says it where `last` is given.
class Spending {
 public:
  explicit Spending(pay::Budget& budget, double* last = nullptr) : budget_(budget), last_(last) {}
  ~Spending() {
    const auto took = static_cast<double>(thread_nanoseconds() - start_);
    if (last_) *last_ = took;
    budget_.spent(took);
  }
  Spending(const Spending&) = delete;
  Spending& operator=(const Spending&) = delete;

 private:
  pay::Budget& budget_;
  double* last_;
  std::uint64_t start_ = thread_nanoseconds();
};

}  // namespace

StoreWatch::StoreWatch() : budget_(validation::kTrackingBudget, monotonic_nanoseconds()) {}

void StoreWatch::begin_call() {
  ++moment_;
  if (paused_ != 0) --paused_;
}

/// What could store past the page tables had to be there before they were changed, so this is asked
/// afterwards, and once for each watch: what comes later stores through them first.
void StoreWatch::end_call() {
  if (begun_.empty()) return;
  const Spending spending(budget_);
  const std::string who = validation::who_stores_unseen(validation::has_device_that_writes());
  if (who.empty()) {
    pause_.reset();
  } else {
    log::line(log::Level::debug, "stores may pass the page tables ({}): nothing is kept", who);
    for (OwnStores* each : begun_) each->tracker_.stop();
    paused_ = pause_.next();
  }
  begun_.clear();
}

OwnStores::OwnStores(const void* base, std::uint64_t bytes, Tracking tracking, Owner owner)
    : tracker_(base, bytes, tracking, owner),
      promised_(tracking == Tracking::promised),
      asked_(monotonic_nanoseconds()),
      track_(price_of(bytes)) {
  if (owner == Owner::library) validation::children_may_store();  // none has the memory so far
}

bool OwnStores::may_have_changed(StoreWatch& watch, bool always) {
  unwanted_ = 0;
  const std::uint64_t before = std::exchange(asked_, monotonic_nanoseconds());
  passed_ = static_cast<double>(asked_ - before);
  if (!changed(watch.budget_, always)) return false;
  track(watch, always);
  return true;
}

bool OwnStores::changed(pay::Budget& budget, bool always) {
  if (tracker_.sampling()) {
    const Spending spending(budget);
    const bool stored = tracker_.sample_written();
    budget.spent(validation::kFaultNs * static_cast<double>(tracker_.take_faults()));
    sampling_.sampled(stored);
    reason_ = stored ? "a sample of its memory was stored to"
                     : "only a sample of its memory is tracked yet";
  } else if (!tracker_.active()) {
    reason_ = "stores to its memory are not tracked yet";
  } else if (!always && !budget.affords(asked_, look_)) {
    reason_ = "looking for stores would take too much of the time now";
  } else {
    const Spending spending(budget, &look_);
    if (tracker_.shared() && validation::children_may_store()) {
      reason_ = "children may store to its memory";
    } else if (tracker_.written()) {
      reason_ = tracker_.found();
      sampling_.watched(true);
      budget.spent(validation::kFaultNs * static_cast<double>(tracker_.take_faults()));
    } else {
      sampling_.watched(false);
      return false;
    }
  }
  return true;
}

/// Whether a sample of the pages is watched from now on, and not all.
bool OwnStores::samples(StoreWatch& watch) {
  const double faults = validation::kFaultNs * static_cast<double>(tracker_.pages());
  if (!sampling_.samples(faults, passed_)) return false;
  if (tracker_.sampling() || !watch.budget_.affords(asked_)) return true;
  const Spending spending(watch.budget_);
  return tracker_.sample();
}

void OwnStores::track(StoreWatch& watch, bool always) {
  if (watch.paused_ != 0 && tracker_.watches_pages()) return;
  if (!always && samples(watch)) return;
  double price = track_;
  if (price > kDear) price = std::min(price, price_of(os::resident_bytes()));
  if (!always && !watch.budget_.affords(asked_, price)) return;
  const Spending spending(watch.budget_, &track_);
  sampling_.watches_all();
  if (!tracker_.track(watch.moment_) || !tracker_.watches_pages()) return;
  if (tracker_.shared() && validation::children_may_store())
    tracker_.stop();
  else
    watch.begun_.push_back(this);
}

void OwnStores::not_wanted() {
  if (++unwanted_ == kUnwantedCalls && !promised_) tracker_.stop();
}

}  // namespace hob::mpi
