// The plain linked list: the baseline that the paper compares with.

#include "match/paper/chain.hpp"
#include "match/strategies.hpp"

namespace hob::match {

namespace {

template <bool receives>
class ListQueue : public NodeQueue<ListQueue<receives>> {
 public:
  explicit ListQueue(Memory& memory) : NodeQueue<ListQueue>(memory) {}

  Handle append(const Envelope& envelope, void* item) {
    Node* node = nodes_.make(envelope, item);
    chain_.append(node);
    return node->entry().handle;
  }

  void* remove(Handle handle) {
    chain_.remove(Node::of(handle));
    return nodes_.release(Node::of(handle));
  }

  std::optional<QueueEntry> oldest(std::uint32_t context) const {
    return oldest_of(chain_, context);
  }

  void collect(std::uint32_t context, std::vector<QueueEntry>& out) const {
    collect_from(chain_, context, out);
  }

  Node* search(const Envelope& with) const {
    return receives ? chain_.first_accepting(with) : chain_.first_accepted(with);
  }

 private:
  using NodeQueue<ListQueue>::nodes_;
  Chain<> chain_;
};

}  // namespace

std::unique_ptr<Engine> make_list_engine(const Config& config) {
  return std::make_unique<EngineOf<ListQueue<true>, ListQueue<false>>>(config.observer);
}

}  // namespace hob::match
