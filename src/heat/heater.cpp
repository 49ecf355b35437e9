#include "heat/heater.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "heat/phases.hpp"
#include "os/affinity.hpp"

namespace hob::heat {

namespace {

constexpr std::size_t kLine = 64;
// How far the heater goes into a region before it looks whether the region was removed.
constexpr std::size_t kStride = 64 << 10;
// A pause in communication that counts as computing, in periods, and how many periods before the
// next phase the heating begins again.
constexpr std::int64_t kGapPeriods = 5;
constexpr std::int64_t kLeadPeriods = 3;

/// Reads the first 4 bytes of each line. The owner may be writing them at the same time: what is
/// read is thrown away. Thread sanitizers would report just that.
__attribute__((no_sanitize("thread"), noinline)) std::uint32_t touch_lines(const char* from,
                                                                           const char* to) {
  std::uint32_t sum = 0;
  for (; from + sizeof sum <= to; from += kLine) {
    sum += *reinterpret_cast<const volatile std::uint32_t*>(from);
  }
  return sum;
}

}  // namespace

Heater::Heater(const Config& config) : config_(config) {
  config_.period_ns = std::max<std::int64_t>(config_.period_ns, 1000);
}

Heater::~Heater() {
  stop();
  for (Chunk* chunk = first_.next.load(); chunk != nullptr;) {
    Chunk* next = chunk->next.load();
    delete chunk;
    chunk = next;
  }
}

bool Heater::start() {
  if (thread_.joinable()) return true;
  stopping_ = false;
  // The program's signals are the program's: none are delivered to the heater.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception& failure) {  // no thread is to be had, or no memory
    error_ = std::string("no thread: ") + failure.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!thread_.joinable()) return false;
  pthread_setname_np(thread_.native_handle(), "hob-heater");
  if (config_.cpu >= 0) {
    if (!os::bind_thread(thread_, config_.cpu)) {
      error_ = "processor " + std::to_string(config_.cpu) + " is not this process's to use";
      stop();
      return false;
    }
  }
  return true;
}

void Heater::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(wake_mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Heater::add(const void* address, std::size_t bytes) {
  std::lock_guard lock(callers_);
  for (Chunk* chunk = &first_;; chunk = chunk->next.load(std::memory_order_relaxed)) {
    for (Slot& slot : chunk->slots) {
      // Acquire: the heater may have used the slot last, if it released the region.
      if (slot.state.load(std::memory_order_acquire) != State::empty) continue;
      slot.address = static_cast<char*>(const_cast<void*>(address));
      slot.bytes = bytes;
      slot.release = nullptr;
      slot.state.store(State::live, std::memory_order_release);
      ++regions_;
      region_bytes_ += bytes;
      return;
    }
    if (chunk->next.load(std::memory_order_relaxed) == nullptr) {
      chunk->next.store(new Chunk, std::memory_order_release);
    }
  }
}

bool Heater::remove(void* address, void (*release)(void*)) noexcept {
  std::unique_lock lock(callers_);
  for (Chunk* chunk = &first_; chunk != nullptr;
       chunk = chunk->next.load(std::memory_order_relaxed)) {
    for (Slot& slot : chunk->slots) {
      State state = slot.state.load(std::memory_order_acquire);
      if (state == State::empty || state == State::doomed || slot.address != address) continue;
      --regions_;
      region_bytes_ -= slot.bytes;
      // For the heater, should it be inside: it sees this if it sees doomed.
      slot.release = release;
      for (;;) {
        State to = state == State::live ? State::empty : State::doomed;
        if (slot.state.compare_exchange_weak(state, to, std::memory_order_acq_rel)) break;
      }
      lock.unlock();
      if (state == State::live) release(address);
      return true;
    }
  }
  lock.unlock();
  release(address);
  return false;
}

void Heater::resume() {
  if (!paused_.exchange(false, std::memory_order_relaxed)) return;
  wake_.notify_one();
}

Stats Heater::stats() const {
  Stats result;
  result.passes = passes_.load(std::memory_order_relaxed);
  result.lines = lines_.load(std::memory_order_relaxed);
  result.idle_passes = idle_passes_.load(std::memory_order_relaxed);
  result.deferred = deferred_.load(std::memory_order_relaxed);
  std::lock_guard lock(callers_);
  result.regions = regions_;
  result.region_bytes = region_bytes_;
  return result;
}

void Heater::run() {
  Phases phases(kGapPeriods * config_.period_ns, kLeadPeriods * config_.period_ns);
  std::uint64_t activity = 0;
  std::unique_lock lock(wake_mutex_);
  while (!stopping_) {
    lock.unlock();
    bool heat = !paused_.load(std::memory_order_relaxed);
    if (config_.follow_phases) {
      std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
      std::uint64_t seen = activity_.load(std::memory_order_relaxed);
      if (config_.communications != nullptr) {
        seen += config_.communications->load(std::memory_order_relaxed);
      }
      if (seen != activity) phases.active(now);
      activity = seen;
      heat = heat && phases.heat(now);
    }
    if (heat)
      pass();
    else
      idle_passes_.fetch_add(1, std::memory_order_relaxed);
    lock.lock();
    if (!stopping_) wake_.wait_for(lock, std::chrono::nanoseconds(config_.period_ns));
  }
}

void Heater::pass() {
  for (Chunk* chunk = &first_; chunk != nullptr;
       chunk = chunk->next.load(std::memory_order_acquire)) {
    for (Slot& slot : chunk->slots) touch(slot);
  }
  passes_.fetch_add(1, std::memory_order_relaxed);
}

void Heater::touch(Slot& slot) {
  State state = State::live;
  if (slot.state.load(std::memory_order_relaxed) != State::live ||
      !slot.state.compare_exchange_strong(state, State::touching, std::memory_order_acq_rel)) {
    return;
  }
  char* address = slot.address;
  std::size_t bytes = slot.bytes;
  for (std::size_t at = 0; at < bytes; at += kStride) {
    touch_lines(address + at, address + std::min(bytes, at + kStride));
    if (slot.state.load(std::memory_order_relaxed) == State::doomed) break;
  }
  lines_.fetch_add((bytes + kLine - 1) / kLine, std::memory_order_relaxed);
  state = State::touching;
  if (slot.state.compare_exchange_strong(state, State::live, std::memory_order_acq_rel)) return;
  deferred_.fetch_add(1, std::memory_order_relaxed);
  slot.release(address);
  slot.state.store(State::empty, std::memory_order_release);
}

}  // namespace hob::heat
