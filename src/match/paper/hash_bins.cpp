// A fixed number of lists, chosen by a hash of the whole envelope, and one ordered list of receives
// with wildcards; sequence numbers decide between the two (Flajslik, Dinan and Underwood 2016, the
// paper's reference 13). Messages are also linked in order of arrival, for receives with wildcards.

#include "match/paper/chain.hpp"
#include "match/strategies.hpp"

namespace hob::match {

namespace {

bool has_wildcard(const Envelope& envelope) {
  return envelope.source == kAnySource || envelope.tag == kAnyTag;
}

using OrderChain = Chain<&Node::next_in_order, &Node::prev_in_order>;

template <bool receives>
class HashBinsQueue : public NodeQueue<HashBinsQueue<receives>> {
 public:
  HashBinsQueue(Memory& memory, unsigned bins) : NodeQueue<HashBinsQueue>(memory), bins_(bins) {}

  Handle append(const Envelope& envelope, void* item) {
    Node* node = nodes_.make(envelope, item);
    chain_of(envelope).append(node);
    order_.append(node);
    return node->entry().handle;
  }

  void* remove(Handle handle) {
    Node* node = Node::of(handle);
    chain_of(node->envelope).remove(node);
    order_.remove(node);
    return nodes_.release(node);
  }

  std::optional<QueueEntry> oldest(std::uint32_t context) const {
    return oldest_of(order_, context);
  }

  void collect(std::uint32_t context, std::vector<QueueEntry>& out) const {
    collect_from(order_, context, out);
  }

  Node* search(const Envelope& with) {
    if (receives) {
      return older(chain_of(with).first_accepting(with), wild_.first_accepting(with));
    }
    return has_wildcard(with) ? order_.first_accepted(with) : chain_of(with).first_accepted(with);
  }

 private:
  Chain<>& chain_of(const Envelope& envelope) {
    if (has_wildcard(envelope)) return wild_;
    std::uint64_t place = std::uint64_t{static_cast<std::uint32_t>(envelope.source)} << 32 |
                          static_cast<std::uint32_t>(envelope.tag);
    std::uint64_t mixed = (place ^ std::uint64_t{envelope.context} << 20) * 0x9e3779b97f4a7c15u;
    return bins_[(mixed ^ mixed >> 32) * 0xd6e8feb86659fd93u >> 32 & (bins_.size() - 1)];
  }

  using NodeQueue<HashBinsQueue>::nodes_;
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
