#include "ending.hpp"

#include <cstdlib>
#include <thread>
#include <utility>

namespace fuzz {

namespace {

struct AtEnd {
  std::function<void()> happens;
  ~AtEnd() {
    if (happens) happens();
  }
};

AtEnd of_process;
thread_local AtEnd of_thread;
std::function<void()> in_handler;

void handler() { in_handler(); }

}  // namespace

void end_in(Ending where, std::function<void()> happens) {
  switch (where) {
    case Ending::kExitHandler:
      in_handler = std::move(happens);
      std::atexit(handler);
      break;
    case Ending::kDestructor:
      of_process.happens = std::move(happens);
      break;
    case Ending::kThreadLocal:
      of_thread.happens = std::move(happens);
      break;
  }
  std::exit(0);
}

void end_of_thread(std::function<void()> happens) {
  std::thread([&] { of_thread.happens = std::move(happens); }).join();
}

}  // namespace fuzz
