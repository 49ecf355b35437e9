// The plain linked list: the baseline that the paper compares with.

#include "match/chain.hpp"
#include "match/strategies.hpp"

namespace hob::match {

namespace {

template <bool receives>
class ListQueue {
 public:
  explicit ListQueue(Memory& memory) : nodes_(memory) {}

  Handle append(const Envelope& envelope, void* item) {
    Node* node = nodes_.make(envelope, item);
    chain_.append(node);
    return node->entry().handle;
  }

  void* take(const Envelope& with) {
    Node* node = search(with);
    return node == nullptr ? nullptr : remove(node->entry().handle);
  }

  std::optional<QueueEntry> find(const Envelope& with) {
    Node* node = search(with);
    if (node == nullptr) return std::nullopt;
    return node->entry();
  }

  void* remove(Handle handle) {
    chain_.remove(Node::of(handle));
    return nodes_.release(Node::of(handle));
  }

  std::optional<QueueEntry> oldest(std::uint32_t context) const {
    for (Node* node = chain_.head; node != nullptr; node = node->next) {
      if (node->envelope.context == context) return node->entry();
    }
    return std::nullopt;
  }

  void collect(std::uint32_t context, std::vector<QueueEntry>& out) const {
    std::vector<Node*> nodes;
    chain_.collect(context, nodes);
    for (Node* node : nodes) out.push_back(node->entry());
  }

  std::size_t size() const { return nodes_.count(); }

 private:
  Node* search(const Envelope& with) const {
    return receives ? chain_.first_accepting(with) : chain_.first_accepted(with);
  }

  Nodes nodes_;
  Chain<> chain_;
};

}  // namespace

std::unique_ptr<Engine> make_list_engine(const Config& config) {
  return std::make_unique<EngineOf<ListQueue<true>, ListQueue<false>>>(config.observer);
}

}  // namespace hob::match
