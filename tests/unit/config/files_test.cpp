// The example configs, what is printed of them, and the page that explains the keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/fields/sections.hpp"
#include "core/file.hpp"
#include "unit/config/support.hpp"

namespace satrap::config {
namespace {

using testing::HasSubstr;

std::filesystem::path source(std::string_view path) {
  return std::filesystem::path(std::getenv("SATRAP_SOURCE")) / path;
}

std::vector<std::filesystem::path> example_configs() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(source("configs")))
    paths.push_back(entry.path());
  return paths;
}

/// What a run that starts from the printed config would train with.
Config reread(const Config& config) {
  return resolve(parse_ini(to_ini(config), "printed.ini"));
}

TEST(Files, EveryExampleConfigResolves) {
  const auto paths = example_configs();
  EXPECT_GE(paths.size(), 3u);
  for (const auto& path : paths) EXPECT_NO_THROW(resolve(read_ini(path))) << path;
}

TEST(Files, PrintedConfigsResolveToTheSame) {
  for (const auto& path : example_configs()) {
    auto config = resolve(read_ini(path));
    EXPECT_EQ(reread(config), config) << path;
    resolve_roles(config, 7 - 3 * (config.roles.trainers > 0));
    EXPECT_EQ(reread(config), config) << path;
  }
}

TEST(Files, PrintedConfigsKeepEverything) {
  const std::vector<std::string> texts = {
      with(kCriteo, "[train]\nmode = sync\n"),
      with(kCriteo, "[table.*]\nlr = 0.30000000000000004\neps = 1e-20\n"),
      with(kCriteo, "[table.C1]\nlr = 5\n[table.C2?]\nmomentum = 0.5\noptimizer = sgd\nlr = 5\n"),
      with(kCriteo,
           "[table.*]\ncapacity = 9999\n[table.C3]\ncapacity = 0\n[table.C4]\n"
           "eviction = none\n"),
      with(kCriteo,
           "[slot.C2]\ntable = C1\n[slot.C3]\ntable = z\npooling = mean\n[slot.C9]\n"
           "table = C1\n[table.C1]\noptimizer = adam\nbias_correction = global\n"),
      with(kCriteo,
           "[slot.*]\ntable = all\n[table.all]\nhash_rows = 3\nhash_buckets = 1000\n"
           "capacity = 3000\neviction = ttl\nttl = 7\nadmit_share = 1e-9\n"),
      with(kCriteo, "[schedule]\nwarmup_steps = 10\ndecay = polynomial\ndecay_steps = 5\n"),
      with(kCriteo, "[job]\nrun_dir = \" # default \\\" \"\nresume = a b/step-9\nseed = 0\n"),
      with(kCsv,
           "delimiter = \\t\nmissing =\ncomment = \"#\"\nlabel_positive = \"a,b\", \"\\n\"\n"),
      "[data]\nformat = csv\ntrain = \"a, b.csv\", c\ncolumns = native country, y\nlabel = y\n"
      "categorical = native country\n[model]\nkind = ffnn\n[table.native country]\ndim = 3\n",
  };
  for (const auto& text : texts) {
    const auto config = resolved(text);
    EXPECT_EQ(reread(config), config) << text;
    EXPECT_EQ(to_ini(reread(config)), to_ini(config)) << text;
  }
}

TEST(Files, PrintedConfigsFitThePage) {
  for (const auto& path : example_configs()) {
    std::istringstream text(to_ini(resolve(read_ini(path))));
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with('#')) {
        EXPECT_LE(line.size(), 100u) << line;
      }
    }
  }
}

TEST(Files, HelpNamesEveryKeyAndFitsThePage) {
  const auto text = help();
  const auto expect_all = [&](const auto& fields) {
    for (const auto& field : fields)
      EXPECT_THAT(text, HasSubstr(fmt::format("\n  {} = {}", field.key, field.default_text())));
  };
  for_each_plain_section([&]<class S>(auto, auto, S Config::*) { expect_all(fields<S>()); });
  for_each_named_section(
      [&]<class S>(auto, auto, std::vector<S> Config::*) { expect_all(fields<S>()); });
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

template <class S>
std::string reference_of(std::string_view section, std::string_view about) {
  auto text =
      fmt::format("### [{}]\n\n{}\n\n| key | default | values | meaning |\n|---|---|---|---|\n",
                  section, about);
  for (const auto& field : fields<S>()) {
    const auto value = field.default_text();
    text +=
        fmt::format("| `{}` | {} | {} | {}", field.key,
                    value.empty() ? "" : fmt::format("`{}`", value), field.values, field.meaning);
    if (!field.condition.text.empty()) text += fmt::format(" Only {}.", field.condition.text);
    text += " |\n";
  }
  return text + '\n';
}

/// docs/config.md ends in a reference made from the field tables. After a change of them, run this
/// test with SATRAP_UPDATE_DOCS=1 to write it anew.
TEST(Files, ThePageListsEveryKey) {
  constexpr std::string_view kHeading = "## Reference\n\n";
  const auto path = source("docs/config.md");
  const auto page = read_file(path);
  const auto start = page.find(kHeading);
  ASSERT_NE(start, page.npos);

  std::string reference;
  for_each_plain_section([&]<class S>(std::string_view section, auto about, S Config::*) {
    reference += reference_of<S>(section, about);
  });
  for_each_named_section(
      [&]<class S>(std::string_view section, auto about, std::vector<S> Config::*) {
        reference += reference_of<S>(fmt::format("{}.NAME", section), about);
      });
  reference.pop_back();
  const auto wanted = page.substr(0, start + kHeading.size()) + reference;
  if (std::getenv("SATRAP_UPDATE_DOCS")) write_file_atomically(path, wanted);
  EXPECT_EQ(read_file(path), wanted);
}

}  // namespace
}  // namespace satrap::config
