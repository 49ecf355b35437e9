#include "settings/settings.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "settings/site_file.hpp"

namespace hob::settings {
namespace {

TEST(Settings, EveryDefaultIsAllowed) {
  Settings settings;
  for (const auto& row : table()) {
    EXPECT_EQ(settings.set(row.key, row.fallback, Source::File), "") << row.key;
    EXPECT_EQ(settings.source(row.key), Source::File) << row.key;
    EXPECT_FALSE(row.help.empty()) << row.key;
  }
}

TEST(Settings, ABadValueNamesValueKeyAndWhatIsAllowed) {
  Settings settings;
  const std::string error = settings.set("cache", "sometimes", Source::Environment);
  EXPECT_NE(error.find("'sometimes'"), std::string::npos) << error;
  EXPECT_NE(error.find("HOB_CACHE"), std::string::npos) << error;
  EXPECT_NE(error.find("auto, strict, always, user, off"), std::string::npos) << error;
  EXPECT_EQ(settings.cache, "auto");
}

TEST(Settings, SizesTakeSuffixesAndRanges) {
  Settings settings;
  EXPECT_EQ(settings.set("cache_size", "3M", Source::File), "");
  EXPECT_EQ(settings.cache_size, 3u << 20);
  EXPECT_EQ(settings.set("cache_size", "2KiB", Source::File), "");
  EXPECT_EQ(settings.cache_size, 2048u);
  EXPECT_EQ(settings.set("cache_size", "8589934593", Source::File), "");
  EXPECT_EQ(settings.cache_size, (std::uint64_t{8} << 30) + 1);
  EXPECT_EQ(settings.set("cache_size", "2048", Source::File), "");
  for (auto bad : {"", "-1", "1X", "12", "99999999999T", "1.5M"})
    EXPECT_NE(settings.set("cache_size", bad, Source::File), "") << bad;
  EXPECT_EQ(settings.cache_size, 2048u);
}

TEST(Settings, EnvironmentOverridesFile) {
  const std::string path = testing::TempDir() + "hob_settings_test_" + std::to_string(getpid());
  std::ofstream(path) << "# comment\ncache = strict  # and why\n\ncache_size = 1M\n";
  const std::string config = "HOB_CONFIG=" + path;
  const char* environment[] = {config.c_str(), "HOB_CACHE=always", "PATH=/bin", nullptr};
  Settings settings;
  EXPECT_TRUE(settings.load(environment).empty());
  EXPECT_EQ(settings.cache, "always");
  EXPECT_EQ(settings.source("cache"), Source::Environment);
  EXPECT_EQ(settings.cache_size, 1u << 20);
  EXPECT_EQ(settings.source("cache_size"), Source::File);
  unlink(path.c_str());
}

TEST(Settings, ErrorsOfAFileNameFileAndLine) {
  const std::string path = testing::TempDir() + "hob_settings_bad_" + std::to_string(getpid());
  std::ofstream(path) << "cache = auto\nnonsense\ncache_sizes = 4M\n";
  Settings settings;
  const auto errors = settings.read_file(path);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_NE(errors[0].find(path + ":2:"), std::string::npos) << errors[0];
  EXPECT_NE(errors[1].find("did you mean 'cache_size'"), std::string::npos) << errors[1];
  unlink(path.c_str());
}

TEST(Settings, AnOldNameIsTakenWithAWarningAndThePresentOneWins) {
  Settings settings;
  const char* old_name[] = {"HOB_MATCH_FEW=7", nullptr};
  EXPECT_TRUE(settings.load(old_name).empty());
  EXPECT_EQ(settings.match_repost, 7u);
  ASSERT_EQ(settings.warnings().size(), 1u);
  EXPECT_NE(settings.warnings()[0].find("HOB_MATCH_FEW"), std::string::npos);
  EXPECT_NE(settings.warnings()[0].find("HOB_MATCH_REPOST"), std::string::npos);
  const char* both[] = {"HOB_MATCH_REPOST=9", "HOB_MATCH_FEW=8", nullptr};
  EXPECT_TRUE(settings.load(both).empty());
  EXPECT_EQ(settings.match_repost, 9u);
  EXPECT_NE(settings.set("match_few", "many", Source::File), "");
}

TEST(Settings, ASynonymIsTakenForTheWordThatItMeans) {
  Settings settings;
  EXPECT_EQ(settings.set("match", "off", Source::File), "");
  EXPECT_EQ(settings.match, "never");
  EXPECT_EQ(settings.value("match"), "never");
  EXPECT_TRUE(settings.warnings().empty());
}

TEST(Settings, AnOldWordIsTakenForThePresentOneWithAWarning) {
  for (const char* old :
       {"HOB_GHOST_NATIVE=measured", "HOB_GHOST_NATIVE= on ", "HOB_GHOST_NATIVE=mixed"}) {
    Settings settings;
    const char* environment[] = {old, nullptr};
    EXPECT_TRUE(settings.load(environment).empty()) << old;
    EXPECT_EQ(settings.ghost_native, "auto");
    EXPECT_EQ(settings.value("ghost_native"), "auto");
    EXPECT_EQ(settings.source("ghost_native"), Source::Environment);
    ASSERT_EQ(settings.warnings().size(), 1U) << old;
    EXPECT_NE(settings.warnings()[0].find("HOB_GHOST_NATIVE"), std::string::npos);
    EXPECT_NE(settings.warnings()[0].find("auto is used"), std::string::npos);
  }
  Settings settings;
  EXPECT_NE(settings.set("ghost_native", "always", Source::File), "");
  EXPECT_NE(settings.set("cache_validate", "measured", Source::File), "") << "another setting's";
  EXPECT_TRUE(settings.warnings().empty());
}

TEST(Settings, WordsWithANumberTakePowersOfTwo) {
  Settings settings;
  for (auto good : {"default", "lla-8", "hash", "hash-1", "hash-1024", "hash-1048576"})
    EXPECT_EQ(settings.set("match_strategy", good, Source::File), "") << good;
  for (auto bad :
       {"foo", "lla-3", "hash-", "hash-0", "hash-3", "hash-2097152", "hash-N", "hash-2x"})
    EXPECT_NE(settings.set("match_strategy", bad, Source::File), "") << bad;
  EXPECT_EQ(settings.match_strategy, "hash-1048576");
}

TEST(Settings, AnIndexThatNoMachineCouldHoldIsRefused) {
  Settings settings;
  EXPECT_NE(settings.set("cache_index", "4294967295", Source::Environment), "");
}

/// A directory of its own, in which the process is while this lives.
class WorkingDirectory {
 public:
  WorkingDirectory() {
    std::string pattern = testing::TempDir() + "hob_settings_XXXXXX";
    path_ = mkdtemp(pattern.data());
    std::filesystem::current_path(path_);
  }
  ~WorkingDirectory() {
    std::filesystem::current_path("/");
    std::filesystem::remove_all(path_);
  }

 private:
  std::filesystem::path path_;
};

/// The one warning of loading what was found, which was not used.
std::string warning_of_load() {
  const char* environment[] = {nullptr};
  Settings settings;
  EXPECT_TRUE(settings.load(environment).empty());
  EXPECT_EQ(settings.cache, "auto");
  EXPECT_EQ(settings.warnings().size(), 1u);
  return settings.warnings().empty() ? "" : settings.warnings()[0];
}

/// The one error of loading with nothing else in the environment; "" for none.
std::string error_of_load(const char* variable = nullptr) {
  const char* environment[] = {variable, nullptr};
  const auto errors = Settings().load(environment);
  EXPECT_LE(errors.size(), 1u);
  return errors.empty() ? "" : errors[0];
}

TEST(ConfigFile, IsReadWhereItBelongsToTheUser) {
  const WorkingDirectory here;
  EXPECT_EQ(error_of_load(), "");
  std::ofstream("hob.conf") << "cache = strict";
  const char* environment[] = {nullptr};
  Settings settings;
  EXPECT_TRUE(settings.load(environment).empty());
  EXPECT_EQ(settings.cache, "strict");
}

TEST(ConfigFile, AFifoOrADirectoryIsNotUsedAndNobodyWaits) {
  const WorkingDirectory here;
  ASSERT_EQ(mkfifo("hob.conf", 0600), 0);
  EXPECT_NE(warning_of_load().find("no regular file"), std::string::npos);
  EXPECT_NE(error_of_load("HOB_CONFIG=hob.conf").find("no regular file"), std::string::npos);
  ASSERT_EQ(unlink("hob.conf"), 0);
  ASSERT_EQ(mkdir("hob.conf", 0700), 0);
  EXPECT_NE(warning_of_load().find("no regular file"), std::string::npos);
}

TEST(ConfigFile, AnUnreadableOneIsAnErrorWhereItIsNamed) {
  const WorkingDirectory here;
  std::ofstream("hob.conf") << "cache = strict";
  ASSERT_EQ(chmod("hob.conf", 0), 0);
  const uid_t before = geteuid();
  if (before == 0) {  // root reads every file
    ASSERT_EQ(chmod(".", 0755), 0);
    ASSERT_EQ(seteuid(4321), 0);
  }
  const std::string warning = warning_of_load();
  const std::string error = error_of_load("HOB_CONFIG=hob.conf");
  ASSERT_EQ(seteuid(before), 0);
  EXPECT_NE(warning.find("Permission denied"), std::string::npos) << warning;
  EXPECT_NE(error.find("Permission denied"), std::string::npos) << error;
}

TEST(ConfigFile, OfSomebodyElseIsReadOnlyWhereItIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const WorkingDirectory here;
  std::ofstream("hob.conf") << "cache = strict";
  ASSERT_EQ(chown("hob.conf", 4321, 4321), 0);
  EXPECT_NE(warning_of_load().find("4321"), std::string::npos);
  EXPECT_EQ(error_of_load("HOB_CONFIG=hob.conf"), "");
}

/// Who may write to a directory can put a link there to a file of the user's.
TEST(ConfigFile, ALinkOfSomebodyElseIsNotFollowedUnlessItIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  const WorkingDirectory here;
  std::ofstream("mine") << "cache = strict";
  ASSERT_EQ(symlink("mine", "hob.conf"), 0);
  EXPECT_EQ(error_of_load(), "");  // a link of the user's own
  ASSERT_EQ(lchown("hob.conf", 4321, 4321), 0);
  EXPECT_NE(warning_of_load().find("the link belongs to the user with the number 4321"),
            std::string::npos);
  EXPECT_EQ(error_of_load("HOB_CONFIG=hob.conf"), "");
}

TEST(ConfigFile, ALinkLeadsToAFileOfTheUser) {
  const WorkingDirectory here;
  std::ofstream("mine") << "cache = strict";
  ASSERT_EQ(symlink("mine", "hob.conf"), 0);
  const char* environment[] = {nullptr};
  Settings settings;
  EXPECT_TRUE(settings.load(environment).empty());
  EXPECT_EQ(settings.cache, "strict");
  ASSERT_EQ(unlink("mine"), 0);
  EXPECT_TRUE(Settings().load(environment).empty());  // it leads nowhere: as if it were not there
  if (geteuid() != 0) return;
  std::ofstream("mine") << "cache = strict";
  ASSERT_EQ(chown("mine", 4321, 4321), 0);
  EXPECT_NE(warning_of_load().find(": it belongs to the user"), std::string::npos);
}

/// A hard link has no owner of its own.
TEST(ConfigFile, InADirectoryOfSomebodyElseItIsNotUsedUnlessItIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  const WorkingDirectory here;
  std::ofstream("hob.conf") << "cache = strict";
  ASSERT_EQ(chown(".", 4321, 4321), 0);
  EXPECT_NE(warning_of_load().find("its directory belongs to the user with the number 4321"),
            std::string::npos);
  EXPECT_EQ(error_of_load("HOB_CONFIG=hob.conf"), "");
}

TEST(ConfigFile, MakesNoPromiseUnlessTheUserNamedIt) {
  const WorkingDirectory here;
  ASSERT_FALSE(promises().empty());
  for (const Promise& promise : promises()) {
    const std::string key(promise.key), value(promise.value);
    std::ofstream("hob.conf") << key << " = " << value;
    const std::string error = error_of_load();
    for (const std::string& part :
         {key + " = " + value, std::string(promise.what), environment_name(key) + "=" + value,
          "--set " + key + "=" + value})
      EXPECT_NE(error.find(part), std::string::npos) << error;
    EXPECT_NE(error.find("one of " + Settings().value(key)), std::string::npos) << error;
    EXPECT_EQ(error.find(", " + value), std::string::npos) << error;
    EXPECT_EQ(error_of_load("HOB_CONFIG=hob.conf"), "");
    std::ofstream("hob.conf") << "";
    EXPECT_EQ(error_of_load((environment_name(key) + "=" + value).c_str()), "");
  }
}

TEST(Settings, EachPromiseIsAValueOfItsSetting) {
  for (const Promise& promise : promises()) {
    Settings settings;
    EXPECT_EQ(settings.set(promise.key, promise.value, Source::Environment), "");
    EXPECT_NE(Settings().value(promise.key), promise.value);  // no default is one
  }
}

TEST(ConfigFile, OfAnotherProgramIsNotUsed) {
  const WorkingDirectory here;
  for (const std::string& text :
       {std::string("[hob]\nserver: 1\n"), std::string("hello\n"), std::string("\x7f\0ELF\n", 6)}) {
    std::ofstream("hob.conf") << text;
    EXPECT_NE(warning_of_load().find("no settings of Hob's"), std::string::npos) << text;
  }
  EXPECT_NE(error_of_load("HOB_CONFIG=hob.conf"), "");
  std::ofstream("hob.conf") << "cache = strict\nmatch always\n";  // the user's, with a mistake
  EXPECT_NE(error_of_load().find("hob.conf:2"), std::string::npos);
}

TEST(ConfigFile, NamesNoFilesToWriteUnlessTheUserNamedIt) {
  const WorkingDirectory here;
  for (const std::string line : {"json = .bashrc", "trace = /tmp"}) {
    std::ofstream("hob.conf") << line;
    EXPECT_NE(error_of_load().find("HOB_CONFIG"), std::string::npos) << line;
    EXPECT_EQ(error_of_load("HOB_CONFIG=hob.conf"), "") << line;
  }
}

TEST(Settings, AnUnknownVariableIsIgnoredWithAWarningThatNamesTheNearest) {
  const char* environment[] = {"HOB_CASHE=auto", "HOB_GHOST=1", "HOB_JSNO=x", nullptr};
  Settings settings;
  EXPECT_TRUE(settings.read_environment(environment).empty());
  ASSERT_EQ(settings.warnings().size(), 3u);
  EXPECT_NE(settings.warnings()[0].find("HOB_CASHE"), std::string::npos);
  EXPECT_NE(settings.warnings()[0].find("did you mean HOB_CACHE?"), std::string::npos);
  EXPECT_NE(settings.warnings()[1].find("did you mean HOB_GHOSTS?"), std::string::npos);
  EXPECT_NE(settings.warnings()[2].find("did you mean HOB_JSON?"), std::string::npos);
  EXPECT_EQ(settings.ghosts, 0u);
}

TEST(Settings, VariablesOfModuleSystemsEndNothing) {
  for (const char* variable : {"HOB_ROOT=/opt/hob", "HOB_HOME=/opt/hob", "HOB_DIR=/opt/hob",
                               "HOB_VERSION=1.0", "HOB_BASE=/opt", "HOB_="}) {
    const char* environment[] = {variable, nullptr};
    Settings settings;
    EXPECT_TRUE(settings.load(environment).empty()) << variable;
    ASSERT_EQ(settings.warnings().size(), 1u) << variable;
    EXPECT_EQ(settings.warnings()[0].find("did you mean"), std::string::npos)
        << settings.warnings()[0];
  }
  const char* ours[] = {"HOB_DEPS=/x", "HOB_LIBDIR=/x", nullptr};
  Settings settings;
  EXPECT_TRUE(settings.load(ours).empty());
  EXPECT_TRUE(settings.warnings().empty());
}

TEST(Settings, AnUnknownKeyIsAnErrorWhereItWasWrittenForHob) {
  Settings settings;
  EXPECT_NE(settings.set("cashe", "auto", Source::Environment).find("'cache'"), std::string::npos);
}

/// No setting takes more than Hob can do with it, nor what is no number of this kind.
TEST(Settings, AbsurdSizesAndCountsAreRefusedWithTheirRange) {
  for (const auto& row : table()) {
    if (row.type != Type::Size && row.type != Type::Count && row.type != Type::Real) continue;
    for (const std::string value :
         {"-1", "18446744073709551616", "20000000T", "1e999", "nan", ""}) {
      if (row.type == Type::Real && value.find("1844") == 0) continue;  // any size of number
      Settings settings;
      const std::string error = settings.set(row.key, value, Source::Environment);
      EXPECT_NE(error.find("'" + value + "'"), std::string::npos) << row.key;
      EXPECT_NE(error.find(environment_name(row.key)), std::string::npos) << error;
      EXPECT_NE(error.find(row.allowed), std::string::npos) << error;
    }
  }
  Settings settings;
  EXPECT_EQ(settings.set("cache_size", "100T", Source::Environment), "");
  EXPECT_NE(settings.set("cache_size", "1000T", Source::Environment).find("1K..128T"),
            std::string::npos);
}

TEST(Settings, EachKindOfValueSaysWhatIsAllowed) {
  Settings settings;
  std::set<Type> refused;
  for (const auto& row : table()) {
    const std::string error = settings.set(row.key, "no such value", Source::File);
    if (row.type == Type::Text || row.type == Type::Path) continue;
    refused.insert(row.type);
    const std::string wanted = row.type == Type::Choice ? "one of "
                               : row.type == Type::Flag ? "on or off"
                               : row.type == Type::Size ? "a size such as"
                               : row.type == Type::Real ? "a number"
                                                        : "an integer";
    EXPECT_NE(error.find(wanted), std::string::npos) << error;
  }
  EXPECT_EQ(refused.size(), 5u);
}

TEST(Settings, AnyValueCanBeReadAsText) {
  Settings settings;
  EXPECT_EQ(settings.value("cache"), "auto");
  EXPECT_EQ(settings.set("cache", "strict", Source::Environment), "");
  EXPECT_EQ(settings.value("cache"), "strict");
  EXPECT_EQ(name_of(settings.source("cache")), "environment");
  EXPECT_EQ(settings.value("no such key"), "");
  EXPECT_EQ(name_of(Source::Default), "default");
  EXPECT_EQ(name_of(Type::Path), "path");
}

/// What a site's file of this text, which its owner alone may write to, made of settings.
Settings of_site(const std::string& text) {
  EXPECT_EQ(chmod(".", 0755), 0);
  std::ofstream("site.conf") << text;
  EXPECT_EQ(chmod("site.conf", 0644), 0);
  Settings settings;
  settings.read_site("./site.conf", geteuid());
  return settings;
}

TEST(SiteFile, ItsValuesAreDefaultsThatUsersChange) {
  const WorkingDirectory here;
  Settings settings = of_site("cache_size = 1M  # small nodes\n\nmatch = off\n");
  EXPECT_TRUE(settings.warnings().empty());
  EXPECT_EQ(settings.site(), "./site.conf");
  EXPECT_EQ(settings.cache_size, 1u << 20);
  EXPECT_EQ(settings.source("cache_size"), Source::Site);
  EXPECT_EQ(settings.match, "never");
  EXPECT_EQ(settings.set("cache_size", "2M", Source::File), "");
  EXPECT_EQ(settings.cache_size, 2u << 20);
  EXPECT_EQ(settings.source("cache_size"), Source::File);
}

TEST(SiteFile, WhatItLocksUsersDoNotChange) {
  const WorkingDirectory here;
  Settings settings = of_site("lock cache = strict\nlock ghosts\nmatch_few = 7\nlock\tmatch_few\n");
  EXPECT_TRUE(settings.locked("cache"));
  EXPECT_TRUE(settings.locked("ghosts"));
  EXPECT_TRUE(settings.locked("match_repost"));
  EXPECT_FALSE(settings.locked("match"));
  const std::size_t before = settings.warnings().size();
  const char* environment[] = {"HOB_CACHE=always", "HOB_GHOSTS=0", "HOB_MATCH_REPOST=8", nullptr};
  EXPECT_TRUE(settings.read_environment(environment).empty());
  EXPECT_EQ(settings.cache, "strict");
  EXPECT_EQ(settings.source("cache"), Source::Site);
  EXPECT_EQ(settings.match_repost, 7u);
  // The same value is no conflict.
  ASSERT_EQ(settings.warnings().size(), before + 2);
  EXPECT_EQ(settings.warnings()[before],
            "cache = always is not used: ./site.conf locks it at 'strict'");
}

TEST(SiteFile, WhatIsWrongInItEndsNobodysJob) {
  const WorkingDirectory here;
  Settings settings = of_site("cash = auto\nlock cache = sometimes\nwords\nlock \nheat = auto\n");
  EXPECT_EQ(settings.heat, "auto");
  EXPECT_EQ(settings.cache, "auto");
  EXPECT_FALSE(settings.locked("cache"));
  ASSERT_EQ(settings.warnings().size(), 4u);
  EXPECT_NE(settings.warnings()[0].find("./site.conf:1: unknown setting 'cash'"),
            std::string::npos);
  EXPECT_NE(settings.warnings()[1].find("'sometimes'"), std::string::npos);
}

TEST(SiteFile, AUsersOwnFileLocksNothing) {
  const WorkingDirectory here;
  std::ofstream("mine.conf") << "lock cache = strict\n";
  Settings settings;
  EXPECT_EQ(
      settings.read_file("mine.conf"),
      (std::vector<std::string>{
          "mine.conf:1: 'lock cache = strict' is for a site's file alone (docs/cluster.md)"}));
  EXPECT_FALSE(settings.locked("cache"));
}

TEST(SiteFile, OneThatOthersMayWriteToIsNotUsed) {
  const WorkingDirectory here;
  const auto warning = [](mode_t file, mode_t directory, unsigned owner) {
    std::ofstream("site.conf") << "cache = strict\n";
    EXPECT_EQ(chmod("site.conf", file), 0);
    EXPECT_EQ(chmod(".", directory), 0);
    Settings settings;
    settings.read_site("./site.conf", owner);
    EXPECT_EQ(settings.cache, settings.warnings().empty() ? "strict" : "auto");
    return settings.warnings().empty() ? "" : settings.warnings()[0];
  };
  EXPECT_EQ(warning(0644, 0755, geteuid()), "");
  EXPECT_NE(warning(0664, 0755, geteuid()).find("others than its owner may write to it"),
            std::string::npos);
  EXPECT_NE(warning(0646, 0755, geteuid()).find("may write to it"), std::string::npos);
  EXPECT_NE(warning(0644, 0777, geteuid()).find("may write to its directory"), std::string::npos);
  if (geteuid() != 0) {
    EXPECT_NE(warning(0644, 0755, 4321).find("belongs to the user"), std::string::npos);
    return;
  }
  EXPECT_EQ(chown("site.conf", 4321, 4321), 0);
  EXPECT_NE(warning(0644, 0755, 0).find("it belongs to the user with the number 4321"),
            std::string::npos);
  EXPECT_EQ(warning(0644, 0755, 4321), "");
}

TEST(SiteFile, LiesInThePrefixOfALibraryOrProgram) {
  EXPECT_EQ(prefix_of("/opt/hob/lib/hob/libhob_mpich.so"), "/opt/hob");
  EXPECT_EQ(prefix_of("/opt/hob/lib64/hob/libhob_abi.so"), "/opt/hob");
  EXPECT_EQ(prefix_of("/opt/hob/bin/hob-exec"), "/opt/hob");
  EXPECT_EQ(prefix_of("/build/lib/libhob_mpich.so"), "/build");
  EXPECT_EQ(prefix_of("hob-exec"), "");
}

}  // namespace
}  // namespace hob::settings
