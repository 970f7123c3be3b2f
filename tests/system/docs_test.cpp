// What the pages say is true: links lead somewhere, files and keys that they name exist, commands
// run, and outputs look like what the commands print. docs/developing.md explains the comments that
// steer this.

#include <glob.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "config/fields/sections.hpp"
#include "support/training.hpp"
#include "system/markdown.hpp"

namespace satrap::test {
namespace {

namespace fs = std::filesystem;

fs::path root() {
  return std::getenv("SATRAP_SOURCE");
}

const std::vector<Page>& pages() {
  static const std::vector<Page> all = [] {
    std::vector<fs::path> paths = {root() / "README.md", root() / "CHANGELOG.md"};
    for (const auto& entry : fs::directory_iterator(root() / "docs")) {
      if (entry.path().extension() == ".md") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    return std::vector<Page>(paths.begin(), paths.end());
  }();
  return all;
}

std::string name_of(const Page& page) {
  return fs::relative(page.path, root()).string();
}

std::string place(const Page& page, const Block& block) {
  return name_of(page) + ":" + std::to_string(block.line);
}

/// Calls fn(match) for every place where `pattern` matches.
template <class Fn>
void for_each_match(const std::string& text, const std::regex& pattern, Fn&& fn) {
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) fn(*it);
}

TEST(Pages, LinksResolve) {
  ASSERT_GE(pages().size(), 8U);
  for (const Page& page : pages()) {
    for (const std::string& link : page.links) {
      if (link.starts_with("http")) continue;
      const auto hash = link.find('#');
      const fs::path target =
          hash == 0 ? page.path
                    : (page.path.parent_path() / link.substr(0, hash)).lexically_normal();
      EXPECT_TRUE(fs::exists(target)) << name_of(page) << " links to " << link;
      if (hash == link.npos || !fs::exists(target)) continue;
      EXPECT_TRUE(Page(target).anchors.contains(link.substr(hash + 1)))
          << name_of(page) << " links to " << link << ", where there is no such heading";
    }
  }
}

TEST(Pages, NamePathsThatExist) {
  static const std::regex url(R"(https?://\S+)");
  static const std::regex path(
      R"((?:^|[^\w./-])((?:src|tests|scripts|apps|configs|benchmarks|cmake|docs|\.ci)/[\w.*{},/-]*))");
  int found = 0;
  for (const Page& page : pages()) {
    for_each_match(std::regex_replace(page.text, url, ""), path, [&](const std::smatch& match) {
      std::string name = match[1];
      name.erase(name.find_last_not_of(".,") + 1);
      glob_t matches{};
      const int code = ::glob((root() / name).c_str(), GLOB_BRACE | GLOB_NOSORT, nullptr, &matches);
      ::globfree(&matches);
      EXPECT_EQ(code, 0) << name_of(page) << " names " << name;
      ++found;
    });
  }
  EXPECT_GE(found, 50);
}

/// What is said in words, and shown as commands and configs; not messages and outputs.
std::string statements_of(const Page& page) {
  std::string text = page.prose;
  for (const Block& block : page.blocks) {
    if (block.language == "sh" || block.language == "ini") text += block.text;
  }
  return text;
}

/// Section -> its keys.
std::map<std::string, std::set<std::string>> known_keys() {
  std::map<std::string, std::set<std::string>> keys;
  const auto add = [&]<class S>(std::string_view section,
                                const std::vector<config::Field<S>>& all) {
    for (const auto& field : all) keys[std::string(section)].insert(std::string(field.key));
  };
  config::for_each_plain_section(
      [&]<class S>(auto section, auto, S config::Config::*) { add(section, config::fields<S>()); });
  config::for_each_named_section(
      [&]<class S>(auto section, auto, std::vector<S> config::Config::*) {
        add(section, config::fields<S>());
      });
  return keys;
}

TEST(Pages, NameKeysAndSectionsThatExist) {
  const auto known = known_keys();
  // Not file names (train.tsv) or calls (table.lookup()); table.NAME.key has its name in the
  // middle.
  static const std::regex key(
      R"((?:^|[^\w./>:])(?:(job|roles|data|model|train|dense_optimizer|schedule|checkpoint|transport)|)"
      R"((table|slot)\.[^\s.`]+)\.([a-z_]+)(?![\w(]))");
  static const std::regex section(R"(`\[([a-z_]+)(?:\.[^\]`]*)?\]`)");
  static const std::set<std::string> endings = {"cpp", "csv", "gz",   "h",   "h5", "hpp",
                                                "ini", "md",  "json", "tsv", "txt"};
  static const std::set<std::string> placeholders = {"section", "abc"};  // of grammar, a glob
  int found = 0;
  for (const Page& page : pages()) {
    for_each_match(statements_of(page), key, [&](const std::smatch& match) {
      if (endings.contains(match[3])) return;
      EXPECT_TRUE(known.at(match[1].matched ? match[1] : match[2]).contains(match[3]))
          << name_of(page) << " names the key " << match[0];
      ++found;
    });
    for_each_match(page.prose, section, [&](const std::smatch& match) {
      if (placeholders.contains(match[1])) return;
      EXPECT_TRUE(known.contains(match[1])) << name_of(page) << " names the section " << match[0];
    });
  }
  EXPECT_GE(found, 50);
}

TEST(Pages, ShowConfigsOfKnownKeys) {
  const auto known = known_keys();
  int blocks = 0;
  for (const Page& page : pages()) {
    for (const Block& block : page.blocks) {
      if (block.language != "ini") continue;
      ++blocks;
      for (const auto& setting : config::parse_ini(block.text, place(page, block))) {
        const std::string section = setting.key.substr(0, setting.key.find('.'));
        const std::string key = setting.key.substr(setting.key.rfind('.') + 1);
        EXPECT_TRUE(known.contains(section) && known.at(section).contains(key))
            << setting.where << ": " << setting.key;
      }
    }
  }
  EXPECT_GE(blocks, 2);
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
  fs::permissions(path, fs::perms::owner_exec, fs::perm_options::add);
}

/// A copy of the checkout as far as commands of the pages need it, in which nothing is built or
/// installed and the demo's data is small.
void make_checkout(const fs::path& directory) {
  fs::create_directories(directory);
  fs::create_directory_symlink(root() / "configs", directory / "configs");
  fs::create_directory_symlink(root() / "docs", directory / "docs");
  fs::copy(root() / "scripts", directory / "scripts", fs::copy_options::recursive);
  write(directory / "scripts/build.sh", "echo '[1/1] Linking CXX executable bin/satrap'\n");
  const fs::path bin = directory / "build/release/bin";
  const std::string satrap = mpirun(1, {}).back();
  const std::string tool = test::tool({}).front();
  write(bin / "satrap", "#!/bin/sh\nexec " + satrap + " \"$@\" --job.progress_interval=0.02\n");
  write(bin / "satrap-tool", "#!/bin/sh\n[ \"$1\" = make-data ] || exec " + tool +
                                 " \"$@\"\nexec " + tool +
                                 " \"$@\" --train-samples 30000 --valid-samples 3000\n");
}

/// The kinds of lines of an output: numbers are all alike, and so are lengths of blanks.
std::set<std::string> shape_of(const std::string& output) {
  static const std::regex number(R"([0-9][0-9,.:]*|\?)");
  static const std::regex blanks(" +");
  std::set<std::string> kinds;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    line = std::regex_replace(std::regex_replace(" " + line, number, "#"), blanks, " ");
    if (line != " ") kinds.insert(line);
  }
  return kinds;
}

Ended run_block(const Block& block, const fs::path& directory) {
  const std::string path =
      "PATH=" + (directory / "build/release/bin").string() + ":" + std::getenv("PATH");
  return run({"env", "-C", directory, path, "OMPI_MCA_rmaps_base_oversubscribe=1", "bash", "-euo",
              "pipefail", "-c", block.text},
             std::chrono::seconds(30));
}

/// Runs the blocks of a page, one after the other; returns how many.
int run_blocks(const Page& page, const fs::path& directory) {
  make_checkout(directory);
  int ran = 0;
  Ended last;
  for (const Block& block : page.blocks) {
    SCOPED_TRACE(place(page, block));
    if (block.directive.starts_with("file: ")) {
      write(directory / block.directive.substr(6), block.text);
    } else if (block.directive == "output") {
      EXPECT_EQ(shape_of(block.text), shape_of(last.output)) << last.output;
    } else if (block.language == "sh" && !block.directive.starts_with("not run: ")) {
      last = run_block(block, directory);
      EXPECT_EQ(last.code, 0) << block.text << last.output;
      ++ran;
    }
  }
  return ran;
}

TEST(Pages, ShowCommandsThatRun) {
  const Scratch scratch;
  int ran = 0;
  for (const Page& page : pages()) ran += run_blocks(page, scratch / name_of(page));
  EXPECT_GE(ran, 2);
}

TEST(Shape, SeesOtherLinesButNotOtherNumbers) {
  EXPECT_EQ(shape_of("  1  0.5%  1:00\n 12  3.5%     ?\nAUC 0.8\n"),
            shape_of("3 9% 2:00\nAUC 0.7\n"));
  EXPECT_NE(shape_of("AUC 0.8\nfiles run\n"), shape_of("AUC 0.8\n"));
  EXPECT_NE(shape_of("AUC 0.8\n"), shape_of("AUC undefined\n"));
}

}  // namespace
}  // namespace satrap::test
