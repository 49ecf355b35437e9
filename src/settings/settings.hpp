// The settings of one process: their table, their values and where each value came from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "settings/config_file.hpp"

namespace hob::settings {

enum class Type { Choice, Flag, Size, Count, Real, Text, Path };

/// Where a value came from; a later one overrides an earlier one, but where the site locks a
/// setting. Info keys override per window.
enum class Source { Default, Site, File, Environment };

/// One row of the table.
struct Setting {
  std::string_view key;
  Type type;
  std::string_view fallback;  ///< the default, as it would be written by a user
  std::string_view allowed;   ///< see settings.def
  std::string_view help;
};

/// Every setting, in the order of settings.def.
std::span<const Setting> table();

/// A value by which the user promises something that Hob cannot check.
struct Promise {
  std::string_view key, value;
  std::string_view what;  ///< "no window is written after its first get"
};

/// Every such value, in the order of settings.def.
std::span<const Promise> promises();

/// The environment variable of a key: "cache_size" -> "HOB_CACHE_SIZE".
std::string environment_name(std::string_view key);

template <Type type>
using ValueOf = std::conditional_t<
    type == Type::Flag, bool,
    std::conditional_t<type == Type::Size || type == Type::Count, std::uint64_t,
                       std::conditional_t<type == Type::Real, double, std::string>>>;

/// The values of all settings. Starts with the defaults. Not thread safe: filled once at start-up,
/// read by everybody afterwards.
class Settings {
 public:
  Settings();

#define HOB_SETTING(member, key, kind, fallback, allowed, help) ValueOf<Type::kind> member;
#include "settings/settings.def"

  /// Sets one value. Returns "" or a message that names the value, the key and what is allowed;
  /// then nothing changed. A name or a word that the setting had before is taken, and is in
  /// warnings().
  std::string set(std::string_view key, std::string_view value, Source source);

  /// Reads `key = value` lines ('#' starts a comment). Errors name file and line. Only a regular
  /// file is read. `trust` says who named it: one that was found and cannot be read, or belongs to
  /// another user, is not used, and is in warnings().
  std::vector<std::string> read_file(const std::string& path, Trust trust = Trust::named);

  /// Reads every HOB_* variable of an environment block (as in environ). One that is no setting
  /// may be another program's: it is ignored, and in warnings() with the setting most like it.
  std::vector<std::string> read_environment(const char* const* environment);

  /// Reads the file of a site (site_file.hpp): `key = value`, and `lock key` or `lock key = value`
  /// for what users may not change. What is wrong in it is in warnings(), and the rest counts: it
  /// is not the users' to mend. One that another user than root or `owner` may write to is not
  /// used.
  void read_site(const std::string& path, unsigned owner);

  /// The site's file, then that of the user (HOB_CONFIG or ./hob.conf), then environment: all
  /// errors of the user's.
  std::vector<std::string> load(const char* const* environment);

  /// Whether the site has locked this.
  bool locked(std::string_view key) const;

  /// The file of the site that was read; "" if none was.
  const std::string& site() const { return site_; }

  /// Settings that were not used, or have another name or word by now, one sentence each.
  const std::vector<std::string>& warnings() const { return warnings_; }

  std::string value(std::string_view key) const;  ///< as text; "" for an unknown key
  Source source(std::string_view key) const;

 private:
  std::string parse(std::string_view key, std::string_view text, Source source);
  std::string read_site_line(std::string_view line);
  void read_variables(const char* const* environment, bool old, std::vector<std::string>& errors);

  std::vector<std::string> text_;
  std::vector<Source> sources_;
  std::vector<bool> locked_;
  std::string site_;
  std::vector<std::string> warnings_;
};

std::string_view name_of(Source source);
std::string_view name_of(Type type);

}  // namespace hob::settings
