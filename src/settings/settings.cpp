#include "settings/settings.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include "settings/config_file.hpp"
#include "settings/site_file.hpp"

namespace hob::settings {
namespace {

struct Alias {
  std::string_view old_key, key;
};

constexpr std::array kAliases = {
#define HOB_SETTING_ALIAS(old_key, key) Alias{old_key, key},
#include "settings/settings.def"
};

/// A word that is taken for another one of the same setting.
struct OtherWord {
  std::string_view key, word, meant;
};

constexpr std::array kOldWords = {
#define HOB_SETTING_OLD_WORD(key, old_word, word) OtherWord{key, old_word, word},
#include "settings/settings.def"
};

constexpr std::array kSynonyms = {
#define HOB_SETTING_SYNONYM(key, word, meant) OtherWord{key, word, meant},
#include "settings/settings.def"
};

constexpr std::array kTable = {
#define HOB_SETTING(member, key, kind, fallback, allowed, help) \
  Setting{key, Type::kind, fallback, allowed, help},
#include "settings/settings.def"
};

constexpr std::array kPromises = {
#define HOB_SETTING_PROMISE(key, value, what) Promise{key, value, what},
#include "settings/settings.def"
};

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

constexpr std::string_view kLock = "lock";

/// "lock key", or "lock key = value".
bool is_lock(std::string_view line) {
  return line.starts_with(kLock) && line.size() > kLock.size() &&
         (line[kLock.size()] == ' ' || line[kLock.size()] == '\t');
}

/// Calls visit() with the number and the text of each line that says something.
template <class Visit>
void each_line(std::string_view text, Visit visit) {
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view content = trim(line.substr(0, line.find('#')));
    if (!content.empty()) visit(number, content);
  }
}

/// Where a setting stands in the table.
std::optional<std::size_t> row_of(std::string_view key) {
  for (std::size_t row = 0; row < kTable.size(); ++row)
    if (kTable[row].key == key) return row;
  return {};
}

std::optional<double> parse_real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  if (!text.empty() && (text.back() == 'B' || text.back() == 'b')) text.remove_suffix(1);
  if (text.size() > 1 && text.back() == 'i') text.remove_suffix(1);
  constexpr std::string_view kUnits = "kKmMgGtT";
  const auto unit = text.empty() ? kUnits.npos : kUnits.find(text.back());
  const int shift = unit == kUnits.npos ? 0 : 10 * (static_cast<int>(unit) / 2 + 1);
  if (shift != 0) text.remove_suffix(1);
  const auto value = parse_count(text);
  if (!value || (*value << shift) >> shift != *value) return {};
  return *value << shift;
}

std::optional<bool> parse_flag(std::string_view text) {
  for (auto word : {"on", "yes", "true", "1"})
    if (text == word) return true;
  for (auto word : {"off", "no", "false", "0"})
    if (text == word) return false;
  return {};
}

constexpr std::uint64_t kLargestParameter = 1 << 20;

// "name-N" stands for the name and a power of two.
bool is_word(std::string_view pattern, std::string_view word) {
  if (!pattern.ends_with("-N")) return pattern == word;
  if (!word.starts_with(pattern.substr(0, pattern.size() - 1))) return false;
  const auto number = parse_count(word.substr(pattern.size() - 1));
  return number && std::has_single_bit(*number) && *number <= kLargestParameter;
}

bool is_choice(std::string_view allowed, std::string_view word) {
  while (!allowed.empty()) {
    const auto bar = allowed.find('|');
    if (is_word(allowed.substr(0, bar), word)) return true;
    if (bar == std::string_view::npos) break;
    allowed.remove_prefix(bar + 1);
  }
  return false;
}

template <class T, class Parse>
bool within(std::string_view range, T value, Parse parse) {
  const auto dots = range.find("..");
  if (dots == std::string_view::npos) return true;
  const auto low = parse(range.substr(0, dots));
  const auto high = parse(range.substr(dots + 2));
  return (!low || value >= *low) && (!high || value <= *high);
}

std::string what_is_allowed(const Setting& setting) {
  switch (setting.type) {
    case Type::Choice: {
      std::string words;
      for (char c : setting.allowed) words += c == '|' ? std::string(", ") : std::string(1, c);
      return "one of " + words + (words.find("-N") == words.npos ? "" : " (N: a power of two)");
    }
    case Type::Flag:
      return "on or off";
    case Type::Size:
      return fmt::format("a size such as 4096, 64K, 16M or 2G in the range {}", setting.allowed);
    case Type::Count:
      return setting.allowed.empty() ? "an integer"
                                     : fmt::format("an integer in the range {}", setting.allowed);
    case Type::Real:
      return setting.allowed.empty() ? "a number"
                                     : fmt::format("a number in the range {}", setting.allowed);
    case Type::Text:
      return "any text";
    case Type::Path:
      return "a path";
  }
  return {};
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
std::size_t edits_between(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before(to.size() + 1), above(to.size() + 1), row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const bool same = from[i - 1] == to[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[to.size()];
}

/// The setting whose name is most like this one; null if none is like it.
const Setting* nearest(std::string_view key) {
  const Setting* best = nullptr;
  std::size_t fewest = key.size() / 3 + 1;  // so many are another name
  for (const auto& setting : kTable)
    if (const std::size_t edits = edits_between(key, setting.key); edits < fewest) {
      best = &setting;
      fewest = edits;
    }
  return best;
}

std::string unknown_key(std::string_view key) {
  const Setting* best = nearest(key);
  return fmt::format("unknown setting '{}'{}; `hob config` lists them all", key,
                     best ? fmt::format(" (did you mean '{}'?)", best->key) : "");
}

bool is_setting(std::string_view key) { return row_of(key).has_value(); }

bool is_alias(std::string_view key) {
  return std::any_of(kAliases.begin(), kAliases.end(),
                     [&](const Alias& alias) { return alias.old_key == key; });
}

// Whether a text is some other program's: it has a line that is no `key = value`, and no setting of
// Hob's.
bool is_foreign(std::string_view text) {
  bool other_form = false, own = false;
  each_line(text, [&](int, std::string_view content) {
    const auto equals = content.find('=');
    own |= is_setting(trim(content.substr(0, equals)));
    other_form |= equals == std::string_view::npos;
  });
  return other_form && !own;
}

bool names_output(std::string_view key) {
  const auto row = row_of(key);
  return row && kTable[*row].type == Type::Path;
}

/// The key that a name stands for, which may be one that the setting had before.
std::string_view present_key(std::string_view key) {
  for (const auto& alias : kAliases)
    if (alias.old_key == key) return alias.key;
  return key;
}

/// The row of one of these tables with this word; null if there is none.
const OtherWord* find_word(std::span<const OtherWord> words, std::string_view key,
                           std::string_view word) {
  for (const OtherWord& other : words)
    if (other.key == key && other.word == word) return &other;
  return nullptr;
}

/// The values of a Choice that promise nothing, as in a sentence.
std::string promising_nothing(std::string_view key) {
  std::string words;
  for (const auto& setting : kTable) {
    for (std::string_view rest = setting.key == key ? setting.allowed : ""; !rest.empty();) {
      const auto word = rest.substr(0, rest.find('|'));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
      const bool promises = std::any_of(
          kPromises.begin(), kPromises.end(),
          [&](const Promise& promise) { return promise.key == key && promise.value == word; });
      if (!promises) words.append(words.empty() ? "" : ", ").append(word);
    }
  }
  return words;
}

/// Why a file that was found may not say this; "" if it may.
std::string refused_where_found(std::string_view key, std::string_view value) {
  if (names_output(key))
    return fmt::format(
        "{} names what Hob writes to, which ./hob.conf may not: it may have come with the "
        "directory. Say it with {}, or name the file with HOB_CONFIG",
        key, environment_name(key));
  for (const auto& promise : kPromises)
    if (promise.key == key && promise.value == value)
      return fmt::format(
          "{} = {} promises that {}, which ./hob.conf may not: it may have come with the "
          "directory. Allowed there is one of {}. Promise it with {}={} or --set {}={}, or name "
          "the file with HOB_CONFIG",
          key, value, promise.what, promising_nothing(key), environment_name(key), value, key,
          value);
  return {};
}

}  // namespace

std::span<const Setting> table() { return kTable; }

std::span<const Promise> promises() { return kPromises; }

std::string environment_name(std::string_view key) {
  std::string name = "HOB_";
  for (char c : key) name += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

std::string_view name_of(Source source) {
  constexpr std::string_view names[] = {"default", "site", "file", "environment"};
  return names[static_cast<int>(source)];
}

std::string_view name_of(Type type) {
  constexpr std::string_view names[] = {"choice", "flag", "size", "count", "real", "text", "path"};
  return names[static_cast<int>(type)];
}

Settings::Settings()
    : text_(kTable.size()),
      sources_(kTable.size(), Source::Default),
      locked_(kTable.size(), false) {
  for (const auto& setting : kTable) set(setting.key, setting.fallback, Source::Default);
}

std::string Settings::set(std::string_view key, std::string_view given, Source source) {
  for (const auto& alias : kAliases)
    if (key == alias.old_key) {
      auto error = set(alias.key, given, source);
      if (error.empty())
        warnings_.push_back(fmt::format("{} ({}) is now called {} ({})", key, environment_name(key),
                                        alias.key, environment_name(alias.key)));
      return error;
    }
  const std::string_view text = trim(given);
  if (const OtherWord* old = find_word(kOldWords, key, text)) {
    warnings_.push_back(fmt::format("{} = {} ({}) is no longer there; {} is used", key, text,
                                    environment_name(key), old->meant));
    return set(key, old->meant, source);
  }
  if (const OtherWord* synonym = find_word(kSynonyms, key, text))
    return set(key, synonym->meant, source);
  if (source > Source::Site && locked(key)) {
    if (text != value(key))
      warnings_.push_back(
          fmt::format("{} = {} is not used: {} locks it at '{}'", key, text, site_, value(key)));
    return {};
  }
  return parse(key, text, source);
}

/// Of a key and a word that are today's.
std::string Settings::parse(std::string_view key, std::string_view text, Source source) {
  std::size_t row = 0;
  const auto refuse = [&] {
    return fmt::format("'{}' is not allowed for {} ({}): {}", text, key, environment_name(key),
                       what_is_allowed(kTable[row]));
  };
  // One parser per Type, picked by the row's own kind below.
  [[maybe_unused]] const auto Choice = [&]() -> std::optional<std::string> {
    if (!is_choice(kTable[row].allowed, text)) return {};
    return std::string(text);
  };
  [[maybe_unused]] const auto Text = [&]() -> std::optional<std::string> {
    return std::string(text);
  };
  [[maybe_unused]] const auto Path = Text;
  [[maybe_unused]] const auto Flag = [&] { return parse_flag(text); };
  [[maybe_unused]] const auto Size = [&]() -> std::optional<std::uint64_t> {
    const auto v = parse_size(text);
    return v && within(kTable[row].allowed, *v, parse_size) ? v : std::nullopt;
  };
  [[maybe_unused]] const auto Count = [&]() -> std::optional<std::uint64_t> {
    const auto v = parse_count(text);
    return v && within(kTable[row].allowed, *v, parse_count) ? v : std::nullopt;
  };
  [[maybe_unused]] const auto Real = [&]() -> std::optional<double> {
    const auto v = parse_real(text);
    return v && within(kTable[row].allowed, *v, parse_real) ? v : std::nullopt;
  };
#define HOB_SETTING(member, name, kind, fallback, allowed, help) \
  if (key == name) {                                             \
    const auto parsed = kind();                                  \
    if (!parsed) return refuse();                                \
    member = *parsed;                                            \
    text_[row] = text;                                           \
    sources_[row] = source;                                      \
    return {};                                                   \
  }                                                              \
  ++row;
#include "settings/settings.def"
  return unknown_key(key);
}

std::vector<std::string> Settings::read_file(const std::string& path, Trust trust) {
  const ConfigFile file = read_config_file(path, trust);
  if (!file.error.empty() && trust == Trust::named) return {file.error};
  // Whoever may write to the directory must not be able to end the jobs of others there.
  const bool foreign = trust == Trust::found && is_foreign(file.text);
  if (!file.error.empty() || foreign) {
    warnings_.push_back((foreign ? path + " has no settings of Hob's" : file.error) +
                        "; it is not used");
    return {};
  }
  std::vector<std::string> errors;
  each_line(file.text, [&](int number, std::string_view content) {
    const auto equals = content.find('=');
    const std::string_view key = trim(content.substr(0, equals));
    std::string error;
    if (is_lock(content)) {
      error = fmt::format("'{}' is for a site's file alone (docs/cluster.md)", content);
    } else if (equals == std::string_view::npos) {
      error = fmt::format("'{}' is not of the form key = value", content);
    } else {
      const std::string_view value = trim(content.substr(equals + 1));
      if (trust == Trust::found) error = refused_where_found(present_key(key), value);
      if (error.empty()) error = set(key, value, Source::File);
    }
    if (!error.empty()) errors.push_back(fmt::format("{}:{}: {}", path, number, error));
  });
  return errors;
}

void Settings::read_site(const std::string& path, unsigned owner) {
  const ConfigFile file = read_config_file(path, Trust::site, owner);
  if (!file.error.empty()) {
    warnings_.push_back(file.error + "; it is not used");
    return;
  }
  site_ = path;
  each_line(file.text, [&](int number, std::string_view content) {
    if (const std::string error = read_site_line(content); !error.empty())
      warnings_.push_back(fmt::format("{}:{}: {}; the line is not used", path, number, error));
  });
}

std::string Settings::read_site_line(std::string_view line) {
  const bool locks = is_lock(line);
  if (locks) line = trim(line.substr(kLock.size()));
  const auto equals = line.find('=');
  const std::string_view key = present_key(trim(line.substr(0, equals)));
  if (!locks && equals == std::string_view::npos)
    return fmt::format("'{}' is not of the form key = value, lock key, or lock key = value", line);
  const auto row = row_of(key);
  if (!row) return unknown_key(key);
  std::string error;
  if (equals != std::string_view::npos) error = set(key, line.substr(equals + 1), Source::Site);
  if (locks && error.empty()) locked_[*row] = true;
  return error;
}

bool Settings::locked(std::string_view key) const {
  const auto row = row_of(key);
  return row && locked_[*row];
}

std::vector<std::string> Settings::read_environment(const char* const* environment) {
  std::vector<std::string> errors;
  // Old names first: where both are set, the present one counts.
  for (const bool old : {true, false}) read_variables(environment, old, errors);
  return errors;
}

void Settings::read_variables(const char* const* environment, bool old,
                              std::vector<std::string>& errors) {
  for (; environment && *environment; ++environment) {
    const std::string_view variable = *environment;
    // HOB_DEPS, HOB_LIBDIR: used by the scripts, not by the library.
    if (!variable.starts_with("HOB_") || variable.starts_with("HOB_DEPS=") ||
        variable.starts_with("HOB_LIBDIR="))
      continue;
    const auto equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = variable.substr(0, equals);
    std::string key;
    for (char c : name.substr(4))
      key += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (is_alias(key) != old) continue;
    if (!old && !is_setting(key)) {
      // Module systems and build tools set names of their own: HOB_ROOT, HOB_HOME.
      const Setting* best = nearest(key);
      warnings_.push_back(
          fmt::format("{} in the environment is no setting, and is ignored{}", name,
                      best ? fmt::format(" (did you mean {}?)", environment_name(best->key)) : ""));
      continue;
    }
    std::string error = set(key, variable.substr(equals + 1), Source::Environment);
    if (!error.empty())
      errors.push_back(error.find(name) == std::string::npos ? fmt::format("{}: {}", name, error)
                                                             : error);
  }
}

std::vector<std::string> Settings::load(const char* const* environment) {
  if (const SiteFile site = site_file(); !site.path.empty()) read_site(site.path, site.owner);
  std::string path;
  for (auto variable = environment; variable && *variable; ++variable)
    if (std::string_view(*variable).starts_with("HOB_CONFIG="))
      path = *variable + sizeof("HOB_CONFIG=") - 1;
  std::vector<std::string> errors;
  if (!path.empty())
    errors = read_file(path);
  else if (::access("hob.conf", F_OK) == 0)
    errors = read_file("hob.conf", Trust::found);
  for (auto& error : read_environment(environment)) errors.push_back(std::move(error));
  return errors;
}

std::string Settings::value(std::string_view key) const {
  const auto row = row_of(key);
  return row ? text_[*row] : std::string();
}

Source Settings::source(std::string_view key) const {
  const auto row = row_of(key);
  return row ? sources_[*row] : Source::Default;
}

}  // namespace hob::settings
