// Command-line arguments of the example programs: `--name value ...`, in any order.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace apps {

// Walks over argv. Every failure is a std::invalid_argument whose text names the option.
class Arguments {
 public:
  Arguments(int argc, char** argv) : argc_(argc), argv_(argv) {}

  // Steps to the next option; false at the end.
  bool next() {
    if (++at_ >= argc_) return false;
    name_ = argv_[at_];
    return true;
  }
  const std::string& name() const { return name_; }

  std::string text() {
    if (++at_ >= argc_) throw std::invalid_argument(name_ + " needs a value");
    return argv_[at_];
  }

  // A number of at least `low`.
  template <typename T>
  T number(T low) {
    const std::string word = text();
    char* end = nullptr;
    T value;
    if constexpr (std::is_floating_point_v<T>)
      value = static_cast<T>(std::strtod(word.c_str(), &end));
    else
      value = static_cast<T>(std::strtoll(word.c_str(), &end, 10));
    if (word.empty() || *end != '\0' || !(value >= low))
      throw std::invalid_argument(name_ + ": '" + word + "' is not a number of at least " +
                                  std::to_string(low));
    return value;
  }

  // The index of the value in `allowed`.
  template <std::size_t N>
  int choice(const char* const (&allowed)[N]) {
    const std::string word = text();
    std::string list;
    for (std::size_t i = 0; i < N; ++i) {
      if (word == allowed[i]) return static_cast<int>(i);
      list += std::string(i ? ", " : "") + allowed[i];
    }
    throw std::invalid_argument(name_ + ": '" + word + "' is none of " + list);
  }

 private:
  int argc_;
  char** argv_;
  int at_ = 0;
  std::string name_;
};

}  // namespace apps
