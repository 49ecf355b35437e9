// A fixed number of lists, chosen by a hash of the whole envelope, and one ordered list of receives
// with wildcards; sequence numbers decide between the two (Flajslik, Dinan and Underwood 2016, the
// paper's reference 13). Messages are also linked in order of arrival, for receives with wildcards.

#include "match/chain.hpp"
#include "match/strategies.hpp"

namespace hob::match {

namespace {

bool has_wildcard(const Envelope& envelope) {
  return envelope.source == any_source || envelope.tag == any_tag;
}

using OrderChain = Chain<&Node::next_in_order, &Node::prev_in_order>;

template <bool receives>
class HashBinsQueue {
 public:
  HashBinsQueue(Memory& memory, unsigned bins) : nodes_(memory), bins_(bins) {}

  Handle append(const Envelope& envelope, void* item) {
    Node* node = nodes_.make(envelope, item);
    chain_of(envelope).append(node);
    order_.append(node);
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
    Node* node = Node::of(handle);
    chain_of(node->envelope).remove(node);
    order_.remove(node);
    return nodes_.release(node);
  }

  std::optional<QueueEntry> oldest(std::uint32_t context) const {
    for (Node* node = order_.head; node != nullptr; node = node->next_in_order) {
      if (node->envelope.context == context) return node->entry();
    }
    return std::nullopt;
  }

  void collect(std::uint32_t context, std::vector<QueueEntry>& out) const {
    std::vector<Node*> nodes;
    order_.collect(context, nodes);
    for (Node* node : nodes) out.push_back(node->entry());
  }

  std::size_t size() const { return nodes_.count(); }

 private:
  Chain<>& chain_of(const Envelope& envelope) {
    if (has_wildcard(envelope)) return wild_;
    std::uint64_t place = std::uint64_t{static_cast<std::uint32_t>(envelope.source)} << 32 |
                          static_cast<std::uint32_t>(envelope.tag);
    std::uint64_t mixed = (place ^ std::uint64_t{envelope.context} << 20) * 0x9e3779b97f4a7c15u;
    return bins_[(mixed ^ mixed >> 32) * 0xd6e8feb86659fd93u >> 32 & (bins_.size() - 1)];
  }

  Node* search(const Envelope& with) {
    if (receives) {
      return older(chain_of(with).first_accepting(with), wild_.first_accepting(with));
    }
    return has_wildcard(with) ? order_.first_accepted(with) : chain_of(with).first_accepted(with);
  }

  Nodes nodes_;
  std::vector<Chain<>> bins_;
  Chain<> wild_;
  OrderChain order_;
};

}  // namespace

std::unique_ptr<Engine> make_hash_bins_engine(const Config& config) {
  return std::make_unique<EngineOf<HashBinsQueue<true>, HashBinsQueue<false>>>(config.observer,
                                                                               config.bins);
}

}  // namespace hob::match
