#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "match/envelope.hpp"

namespace hob::match {

/// Names a queued receive or message. Valid from the call that queued it until the call that
/// matched, cancelled or extracted it; using it later is an error of the caller.
using Handle = std::uint64_t;

/// What post() did.
struct PostResult {
  void* message;  ///< the oldest unexpected message that the receive takes (now removed), or null
  Handle handle;  ///< of the queued receive; meaningful only if message is null
};

/// What arrive() did.
struct ArriveResult {
  void* request;  ///< the oldest posted receive that takes the message (now removed), or null
  Handle handle;  ///< of the queued message; meaningful only if request is null
};

/// A receive that is waiting in the posted-receive queue.
struct Posted {
  Envelope want;
  void* request;
  Handle handle;
};

/// A message that is waiting in the unexpected-message queue.
struct Unexpected {
  Envelope envelope;
  void* message;
  Handle handle;
};

/// How the queues are kept (paper sections 2.2, 3.1 and 5). All give the same matches.
enum class Strategy {
  flat,  ///< the default: cost independent of depth, wildcards included
  list,  ///< one plain linked list per queue: the baseline
  /// The paper's linked list of arrays (section 3.1). Its packed entries have room for ranks below
  /// 1048575 and for entries of 4095 communicators at a time; beyond, post() and arrive() throw
  /// std::length_error with nothing changed.
  lla,
  source_array,  ///< a list per communicator and source, as in Open MPI
  hash_bins,     ///< a fixed number of hashed lists and one ordered list of wildcards
};

/// Notified of the blocks of memory that searches walk through, so that a heater can keep them
/// warm. Called from within the engine's calls, never concurrently.
class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;

  /// A block is in use from now on. Must not throw.
  virtual void added(const void* address, std::size_t bytes) noexcept = 0;

  /// The engine no longer uses a block; the observer calls release(address) once, at once or when
  /// no thread looks at it any more.
  virtual void removed(void* address, std::size_t bytes, void (*release)(void*)) noexcept = 0;
};

/// Set once, when the engine is made.
struct Config {
  Strategy strategy = Strategy::flat;
  /// lla: receives per array; 2, 4, 8, 16, 32 or 64. Arrays of messages hold half as many again
  /// (paper: 2 receives or 3 messages fill a 64-byte line).
  unsigned entries_per_array = 8;
  /// hash_bins: number of bins of each queue; a power of two.
  unsigned bins = 256;
  /// Not owned; must outlive the engine. Null: no notification.
  MemoryObserver* observer = nullptr;
};

/// The message queues of one process: posted receives (PRQ) and unexpected messages (UMQ), matched
/// in MPI's order. A message takes the oldest posted receive that accepts it; a receive takes the
/// oldest unexpected message that it accepts, "oldest" being the order of the calls on this object.
///
/// Requests and messages are opaque non-null pointers of the caller, never dereferenced.
/// Not thread safe: the caller serialises all calls.
/// post(), arrive() and probe() may allocate, and throw std::bad_alloc with nothing changed.
class Engine {
 public:
  virtual ~Engine() = default;

  /// A receive is posted: takes an unexpected message, or is queued.
  virtual PostResult post(const Envelope& want, void* request) = 0;

  /// A message has come: takes a posted receive, or is queued.
  virtual ArriveResult arrive(const Envelope& envelope, void* message) = 0;

  /// Removes a queued receive. O(1), amortised. Returns its request.
  virtual void* cancel(Handle posted) = 0;

  /// The oldest unexpected message that `want` accepts, left where it is.
  virtual std::optional<Unexpected> probe(const Envelope& want) = 0;

  /// Removes an unexpected message, found by probe() or queued by arrive(). Returns the message.
  virtual void* extract(Handle unexpected) = 0;

  /// The receive of this communicator that has waited longest.
  virtual std::optional<Posted> oldest_posted(std::uint32_t context) const = 0;

  /// Appends all queued receives of this communicator to `out`, in posting order.
  virtual void posted(std::uint32_t context, std::vector<Posted>& out) const = 0;

  /// Appends all unexpected messages of this communicator to `out`, in order of arrival.
  virtual void unexpected(std::uint32_t context, std::vector<Unexpected>& out) const = 0;

  /// Number of queued receives, all communicators.
  virtual std::size_t posted_length() const = 0;

  /// Number of unexpected messages, all communicators.
  virtual std::size_t unexpected_length() const = 0;

  /// Bytes that the queues occupy now, free room in pools and tables included.
  virtual std::size_t memory_bytes() const = 0;
};

/// Makes an engine. Throws std::invalid_argument for values that Config does not allow.
std::unique_ptr<Engine> make_engine(const Config& config);

/// Reads "flat", "list", "lla", "lla-N", "source-array", "hash" or "hash-N" (N: entries per array,
/// bins). "default" is "flat". Nothing if the text is none of these.
std::optional<Config> parse_strategy(std::string_view text);

/// The name of a strategy with its parameter, as parse_strategy() reads it.
std::string strategy_name(const Config& config);

}  // namespace hob::match
