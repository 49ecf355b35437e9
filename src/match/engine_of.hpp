#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "match/engine.hpp"
#include "match/memory.hpp"

namespace hob::match {

/// A queue of one kind of entry, as the strategies implement it. PRQ and UMQ differ only in which
/// side has the wildcards:
///   Handle append(const Envelope&, void* item)       queue at the end (EngineOf)
///   void* take(const Envelope&)                      oldest entry that goes with it, removed; null
///                                                    (EngineOf)
///   std::optional<Entry> find(const Envelope&)       same, left in place (UMQ only)
///   void* remove(Handle)                             remove a known entry, return its item
///   std::optional<Entry> oldest(std::uint32_t context) const
///   void collect(std::uint32_t context, std::vector<Entry>&) const   in order
///   std::size_t size() const
/// where Entry is this:
struct QueueEntry {
  Envelope envelope;
  void* item;
  Handle handle;
};

/// A posted-receive queue and an unexpected-message queue, and all calls on one of them.
template <class Prq, class Umq>
class QueuePair : public Engine {
 public:
  template <class... Args>
  explicit QueuePair(MemoryObserver* observer, Args&&... args)
      : memory_(observer), prq_(memory_, args...), umq_(memory_, args...) {}

  void* cancel(Handle posted) override { return prq_.remove(posted); }

  std::optional<Unexpected> probe(const Envelope& want) override {
    if (umq_.size() == 0) return std::nullopt;
    if (auto entry = umq_.find(want)) {
      return Unexpected{entry->envelope, entry->item, entry->handle};
    }
    return std::nullopt;
  }

  void* extract(Handle unexpected) override { return umq_.remove(unexpected); }

  std::optional<Posted> oldest_posted(std::uint32_t context) const override {
    if (auto entry = prq_.oldest(context)) {
      return Posted{entry->envelope, entry->item, entry->handle};
    }
    return std::nullopt;
  }

  void posted(std::uint32_t context, std::vector<Posted>& out) const override {
    std::vector<QueueEntry> entries;
    prq_.collect(context, entries);
    for (const QueueEntry& entry : entries) {
      out.push_back({entry.envelope, entry.item, entry.handle});
    }
  }

  void unexpected(std::uint32_t context, std::vector<Unexpected>& out) const override {
    std::vector<QueueEntry> entries;
    umq_.collect(context, entries);
    for (const QueueEntry& entry : entries) {
      out.push_back({entry.envelope, entry.item, entry.handle});
    }
  }

  std::size_t posted_length() const override { return prq_.size(); }
  std::size_t unexpected_length() const override { return umq_.size(); }
  std::size_t memory_bytes() const override { return memory_.bytes(); }

 protected:
  Memory memory_;  // first: the queues give back to it
  Prq prq_;
  Umq umq_;
};

/// The engine made of them: the two calls that go from one queue to the other.
template <class Prq, class Umq>
class EngineOf final : public QueuePair<Prq, Umq> {
 public:
  using QueuePair<Prq, Umq>::QueuePair;

  PostResult post(const Envelope& want, void* request) override {
    if (umq_.size() != 0) {
      if (void* message = umq_.take(want)) return {message, 0};
    }
    return {nullptr, prq_.append(want, request)};
  }

  ArriveResult arrive(const Envelope& envelope, void* message) override {
    if (prq_.size() != 0) {
      if (void* request = prq_.take(envelope)) return {request, 0};
    }
    return {nullptr, umq_.append(envelope, message)};
  }

 private:
  using QueuePair<Prq, Umq>::prq_;
  using QueuePair<Prq, Umq>::umq_;
};

}  // namespace hob::match
