#include "match/flat/flat_queue.hpp"

#include "match/strategies.hpp"

namespace hob::match::flat {

template class FlatQueue<Side::receives>;
template class FlatQueue<Side::messages>;

}  // namespace hob::match::flat

namespace hob::match {

namespace {

/// The two calls that matter go straight through both queues.
class FlatEngine final : public QueuePair<flat::FlatQueue<flat::Side::receives>,
                                          flat::FlatQueue<flat::Side::messages>> {
 public:
  explicit FlatEngine(MemoryObserver* observer) : QueuePair(observer) {
    prq_.pair_with(umq_);
    umq_.pair_with(prq_);
  }

  PostResult post(const Envelope& want, void* request) override {
    return umq_.take_or_queue(flat::Key::of(want), request);
  }

  ArriveResult arrive(const Envelope& envelope, void* message) override {
    return prq_.take_or_queue(flat::Key::of(envelope), message);
  }
};

}  // namespace

// Here, so that the queues are inlined into the engine.
std::unique_ptr<Engine> make_flat_engine(const Config& config) {
  return std::make_unique<FlatEngine>(config.observer);
}

}  // namespace hob::match
