// As in Open MPI: for each communicator an array with a list for each source, and one list of the
// receives from any source; sequence numbers decide between the two. Memory grows with the number
// of ranks, which is what the paper says against it (section 2.2).

#include <unordered_map>

#include "match/paper/chain.hpp"
#include "match/strategies.hpp"

namespace hob::match {

namespace {

/// The lists of one communicator.
struct Peers {
  std::vector<Chain<>> by_source;  // as long as the highest source that was ever queued
  Chain<> any;                     // receives from any source

  Chain<>& of(std::int32_t source) {
    if (source == kAnySource) return any;
    auto at = static_cast<std::size_t>(source);
    if (at >= by_source.size()) by_source.resize(at + 1);
    return by_source[at];
  }

  const Chain<>* find(std::int32_t source) const {
    auto at = static_cast<std::size_t>(source);
    return at < by_source.size() ? &by_source[at] : nullptr;
  }
};

template <bool receives>
class SourceArrayQueue : public NodeQueue<SourceArrayQueue<receives>> {
 public:
  explicit SourceArrayQueue(Memory& memory) : NodeQueue<SourceArrayQueue>(memory) {}

  Handle append(const Envelope& envelope, void* item) {
    Chain<>& chain = peers(envelope.context).of(envelope.source);
    Node* node = nodes_.make(envelope, item);
    chain.append(node);
    return node->entry().handle;
  }

  void* remove(Handle handle) {
    Node* node = Node::of(handle);
    peers(node->envelope.context).of(node->envelope.source).remove(node);
    return nodes_.release(node);
  }

  std::optional<QueueEntry> oldest(std::uint32_t context) const {
    auto found = peers_.find(context);
    if (found == peers_.end()) return std::nullopt;
    Node* best = found->second.any.head;
    for (const Chain<>& chain : found->second.by_source) best = older(best, chain.head);
    if (best == nullptr) return std::nullopt;
    return best->entry();
  }

  void collect(std::uint32_t context, std::vector<QueueEntry>& out) const {
    auto found = peers_.find(context);
    if (found == peers_.end()) return;
    std::vector<Node*> nodes;
    found->second.any.collect(context, nodes);
    for (const Chain<>& chain : found->second.by_source) chain.collect(context, nodes);
    in_order(nodes, out);
  }

  Node* search(const Envelope& with) {
    const Peers& from = peers(with.context);
    if (receives) {
      const Chain<>* chain = from.find(with.source);
      return older(chain != nullptr ? chain->first_accepting(with) : nullptr,
                   from.any.first_accepting(with));
    }
    if (with.source != kAnySource) {
      const Chain<>* chain = from.find(with.source);
      return chain != nullptr ? chain->first_accepted(with) : nullptr;
    }
    Node* best = nullptr;
    for (const Chain<>& chain : from.by_source) best = older(best, chain.first_accepted(with));
    return best;
  }

 private:
  Peers& peers(std::uint32_t context) {
    if (last_ == nullptr || last_context_ != context) {
      last_ = &peers_[context];
      last_context_ = context;
    }
    return *last_;
  }

  using NodeQueue<SourceArrayQueue>::nodes_;
  std::unordered_map<std::uint32_t, Peers> peers_;
  Peers* last_ = nullptr;  // the communicator used last; map values do not move
  std::uint32_t last_context_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_source_array_engine(const Config& config) {
  return std::make_unique<EngineOf<SourceArrayQueue<true>, SourceArrayQueue<false>>>(
      config.observer);
}

}  // namespace hob::match
