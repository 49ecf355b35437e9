#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "match/engine_of.hpp"
#include "match/envelope.hpp"
#include "match/paper/pool.hpp"

namespace hob::match {

/// An entry of the strategies that are made of linked lists: one to a cache line, as small as a
/// list entry of an MPI library gets.
struct alignas(64) Node {
  Node* next;
  Node* prev;
  Envelope envelope;
  void* item;
  std::uint64_t sequence;  ///< place in the order of the whole queue
  Node* next_in_order;     ///< a second list, for strategies that need one
  Node* prev_in_order;

  QueueEntry entry() { return {envelope, item, reinterpret_cast<Handle>(this)}; }
  static Node* of(Handle handle) { return reinterpret_cast<Node*>(handle); }
};
static_assert(sizeof(Node) == 64);

/// A doubly linked list of nodes, by the given pair of links.
template <Node* Node::*next = &Node::next, Node* Node::*prev = &Node::prev>
struct Chain {
  Node* head = nullptr;
  Node* tail = nullptr;

  void append(Node* node) {
    node->*next = nullptr;
    node->*prev = tail;
    (tail != nullptr ? tail->*next : head) = node;
    tail = node;
  }

  void remove(Node* node) {
    (node->*prev != nullptr ? node->*prev->*next : head) = node->*next;
    (node->*next != nullptr ? node->*next->*prev : tail) = node->*prev;
  }

  /// The first node that accepts a message with this envelope, or null.
  Node* first_accepting(const Envelope& has) const {
    Node* node = head;
    while (node != nullptr && !accepts(node->envelope, has)) node = node->*next;
    return node;
  }

  /// The first node that is accepted by this receive, or null.
  Node* first_accepted(const Envelope& want) const {
    Node* node = head;
    while (node != nullptr && !accepts(want, node->envelope)) node = node->*next;
    return node;
  }

  void collect(std::uint32_t context, std::vector<Node*>& out) const {
    for (Node* node = head; node != nullptr; node = node->*next) {
      if (node->envelope.context == context) out.push_back(node);
    }
  }
};

/// Whichever node was queued first; null counts as last.
inline Node* older(Node* a, Node* b) {
  if (a == nullptr || b == nullptr) return a != nullptr ? a : b;
  return a->sequence < b->sequence ? a : b;
}

/// Appends nodes to a result in the order in which they were queued.
inline void in_order(std::vector<Node*>& nodes, std::vector<QueueEntry>& out) {
  std::sort(nodes.begin(), nodes.end(),
            [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
  for (Node* node : nodes) out.push_back(node->entry());
}

/// Nodes with sequence numbers, counted.
class Nodes {
 public:
  explicit Nodes(Memory& memory) : pool_(memory, sizeof(Node)) {}

  Node* make(const Envelope& envelope, void* item) {
    Node* node = static_cast<Node*>(pool_.allocate());
    node->envelope = envelope;
    node->item = item;
    node->sequence = next_sequence_++;
    ++count_;
    return node;
  }

  /// Frees a node that is in no list any more. Returns its item.
  void* release(Node* node) {
    void* item = node->item;
    pool_.release(node);
    --count_;
    return item;
  }

  std::size_t count() const { return count_; }

 private:
  Pool pool_;
  std::uint64_t next_sequence_ = 0;
  std::size_t count_ = 0;
};

/// What the queues made of nodes share. A queue says how it finds an entry and how it removes one:
///   Node* search(const Envelope& with)   the oldest that goes with it, or null
///   void* remove(Handle)
template <class Queue>
class NodeQueue {
 public:
  explicit NodeQueue(Memory& memory) : nodes_(memory) {}

  void* take(const Envelope& with) {
    Node* node = queue().search(with);
    return node == nullptr ? nullptr : queue().remove(node->entry().handle);
  }

  std::optional<QueueEntry> find(const Envelope& with) {
    Node* node = queue().search(with);
    if (node == nullptr) return std::nullopt;
    return node->entry();
  }

  std::size_t size() const { return nodes_.count(); }

 protected:
  Nodes nodes_;

 private:
  Queue& queue() { return static_cast<Queue&>(*this); }
};

/// The first node of a list that is of this communicator.
template <Node* Node::*next, Node* Node::*prev>
std::optional<QueueEntry> oldest_of(const Chain<next, prev>& chain, std::uint32_t context) {
  for (Node* node = chain.head; node != nullptr; node = node->*next) {
    if (node->envelope.context == context) return node->entry();
  }
  return std::nullopt;
}

/// Appends the entries of this communicator of a list that is in the order of the queue.
template <Node* Node::*next, Node* Node::*prev>
void collect_from(const Chain<next, prev>& chain, std::uint32_t context,
                  std::vector<QueueEntry>& out) {
  for (Node* node = chain.head; node != nullptr; node = node->*next) {
    if (node->envelope.context == context) out.push_back(node->entry());
  }
}

}  // namespace hob::match
