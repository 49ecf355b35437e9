#include "settings/settings.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace hob::settings {
namespace {

TEST(Settings, EveryDefaultIsAllowed) {
  Settings settings;
  for (const auto& row : table()) {
    EXPECT_EQ(settings.set(row.key, row.fallback, Origin::File), "") << row.key;
    EXPECT_EQ(settings.origin(row.key), Origin::File) << row.key;
    EXPECT_FALSE(row.help.empty()) << row.key;
  }
}

TEST(Settings, ABadValueNamesValueKeyAndWhatIsAllowed) {
  Settings settings;
  const std::string error = settings.set("cache", "sometimes", Origin::Environment);
  EXPECT_NE(error.find("'sometimes'"), std::string::npos) << error;
  EXPECT_NE(error.find("HOB_CACHE"), std::string::npos) << error;
  EXPECT_NE(error.find("auto, strict, always, user, off"), std::string::npos) << error;
  EXPECT_EQ(settings.cache, "auto");
}

TEST(Settings, SizesTakeSuffixesAndRanges) {
  Settings settings;
  EXPECT_EQ(settings.set("cache_size", "3M", Origin::File), "");
  EXPECT_EQ(settings.cache_size, 3u << 20);
  EXPECT_EQ(settings.set("cache_size", "2KiB", Origin::File), "");
  EXPECT_EQ(settings.cache_size, 2048u);
  for (auto bad : {"", "-1", "1X", "12", "99999999999T", "1.5M"})
    EXPECT_NE(settings.set("cache_size", bad, Origin::File), "") << bad;
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
  EXPECT_EQ(settings.origin("cache"), Origin::Environment);
  EXPECT_EQ(settings.cache_size, 1u << 20);
  EXPECT_EQ(settings.origin("cache_size"), Origin::File);
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

TEST(Settings, AnUnknownVariableIsAnError) {
  const char* environment[] = {"HOB_CASHE=auto", nullptr};
  Settings settings;
  const auto errors = settings.read_environment(environment);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("HOB_CASHE"), std::string::npos);
}

}  // namespace
}  // namespace hob::settings
