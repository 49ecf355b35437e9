#include "report/saved.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "report/report.hpp"

namespace hob::report {
namespace {

/// Ends of a range that are closer than this are one number, and a least that is a smaller part of
/// the most is left out.
constexpr double kClose = 1.5, kNothing = 0.1;
/// One rank is named where it gained this many times as much as the average one.
constexpr double kMore = 1.5;

/// "310 to 620 ms".
std::string range_text(double least, double most) {
  std::string low = time_text(least);
  const std::string high = time_text(most);
  const std::size_t space = low.rfind(' ');
  if (high.ends_with(low.substr(space))) low.resize(space);
  return fmt::format("{} to {}", low, high);
}

std::string amount_text(const Saved& saved) {
  if (saved.most < saved.usual) return "at least " + time_text(saved.usual);
  if (saved.most <= kClose * saved.least || saved.most <= 0)
    return "about " + time_text(saved.usual);
  if (saved.least < kNothing * saved.most) return "up to " + time_text(saved.most);
  return range_text(saved.least, saved.most);
}

}  // namespace

std::vector<std::string> texts_of(std::vector<Verdict> verdicts) {
  std::stable_sort(verdicts.begin(), verdicts.end(),
                   [](const Verdict& a, const Verdict& b) { return a.saved > b.saved; });
  std::vector<std::string> texts;
  for (Verdict& verdict : verdicts) texts.push_back(std::move(verdict.text));
  return texts;
}

std::string saved_text(const Saved& saved) {
  const std::string amount = amount_text(saved);
  if (saved.ranks <= 1 || saved.rank < 0 || saved.on_rank <= kMore * saved.usual)
    return amount + " saved on each rank";
  std::string text = amount + " saved on the average rank";
  // Beside a range, one number for one rank reads as if it contradicted it.
  if (amount.starts_with("about") || amount.starts_with("at least"))
    text += fmt::format(" ({} on rank {})", time_text(saved.on_rank), saved.rank);
  return text;
}

}  // namespace hob::report
