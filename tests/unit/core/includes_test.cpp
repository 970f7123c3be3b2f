// The dependencies between the folders of src/ point one way, and each outside library is known to
// one layer only. docs/architecture.md draws the picture that this test enforces.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace satrap {
namespace {

namespace fs = std::filesystem;

fs::path source_root() {
  const char* root = std::getenv("SATRAP_SOURCE");
  return root ? root : ".";
}

/// What each folder may include besides itself. Roles know the layers below them; nothing knows a
/// role but the ones that it is part of.
const std::map<std::string, std::set<std::string>>& allowed() {
  static const std::set<std::string> base = {"core", "config", "metrics", "device", "h5"};
  static const std::set<std::string> middle = {"core",  "config", "metrics", "device",     "h5",
                                               "store", "nn",     "data",    "checkpoint", "comm"};
  static const auto with = [](std::set<std::string> set, std::initializer_list<const char*> more) {
    set.insert(more.begin(), more.end());
    return set;
  };
  static const std::map<std::string, std::set<std::string>> rules = {
      {"core", {}},
      {"config", {"core"}},
      {"metrics", {"core"}},
      {"device", {"core"}},
      {"h5", {"core"}},
      {"comm", {"core"}},
      {"store", base},
      {"nn", base},
      {"data", base},
      {"checkpoint", with(base, {"store", "data"})},
      {"server", middle},
      {"worker", middle},
      {"trainer", with(middle, {"worker"})},
      {"job", with(middle, {"server", "worker", "trainer"})},
      {"apps", with(middle, {"server", "worker", "trainer", "job"})},
  };
  return rules;
}

/// Outside headers that only some folders may include.
const std::vector<std::pair<std::regex, std::set<std::string>>>& libraries() {
  static const std::vector<std::pair<std::regex, std::set<std::string>>> rules = {
      {std::regex("(mpi|nccl)\\.h"), {"comm"}},
      {std::regex("hdf5.*\\.h"), {"h5"}},
      {std::regex("cuda.*|cublas.*|cudnn.*"), {"device", "nn/cuda", "comm"}},
      {std::regex("(oneapi/)?dnnl.*"), {"nn"}},
      {std::regex("omp\\.h"), {"device"}},
      {std::regex("hwy/.*"), {"store", "nn"}},
      {std::regex("Random123/.*|xxhash\\.h"), {"core"}},
      {std::regex("zlib\\.h"), {"data", "config"}},
      {std::regex("boost/.*"), {"config", "apps"}},
  };
  return rules;
}

struct Include {
  fs::path file;  ///< Below the source root.
  int line = 0;
  std::string header;
  bool quoted = false;
};

std::vector<Include> all_includes() {
  static const std::regex directive("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
  std::vector<Include> includes;
  for (const char* top : {"src", "apps"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_root() / top)) {
      const auto extension = entry.path().extension();
      if (extension != ".hpp" && extension != ".cpp" && extension != ".cu") continue;
      std::ifstream in(entry.path());
      std::string text;
      for (int line = 1; std::getline(in, text); ++line) {
        std::smatch match;
        if (!std::regex_search(text, match, directive)) continue;
        includes.push_back({fs::relative(entry.path(), source_root()), line, match[2].str(),
                            match[1].str() == "\""});
      }
    }
  }
  return includes;
}

/// "store" for src/store/table.cpp, "apps" for apps/satrap.cpp.
std::string folder_of(const fs::path& file) {
  auto part = file.begin();
  if (*part == "src") ++part;
  return part->string();
}

std::string place(const Include& include) {
  return include.file.string() + ":" + std::to_string(include.line) + " includes " + include.header;
}

TEST(Includes, PointDownwards) {
  const auto includes = all_includes();
  ASSERT_GT(includes.size(), 100U) << "no sources found; is SATRAP_SOURCE right?";
  for (const Include& include : includes) {
    if (!include.quoted) continue;
    const std::string from = folder_of(include.file);
    const std::string to = include.header.substr(0, include.header.find('/'));
    ASSERT_TRUE(allowed().contains(from)) << from << " has no rule here";
    EXPECT_TRUE(to == from || allowed().at(from).contains(to)) << place(include);
  }
}

TEST(Includes, KeepLibrariesInTheirLayer) {
  for (const Include& include : all_includes()) {
    for (const auto& [header, folders] : libraries()) {
      if (!std::regex_match(include.header, header)) continue;
      const std::string path = include.file.string();
      EXPECT_TRUE(std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
        return path.starts_with("src/" + folder + "/") || path.starts_with(folder + "/");
      })) << place(include);
    }
  }
}

TEST(Includes, NameExistingHeaders) {
  for (const Include& include : all_includes()) {
    if (include.quoted) {
      EXPECT_TRUE(fs::exists(source_root() / "src" / include.header)) << place(include);
    }
  }
}

TEST(Headers, AreGuarded) {
  for (const auto& entry : fs::recursive_directory_iterator(source_root() / "src")) {
    if (entry.path().extension() != ".hpp") continue;
    std::ifstream in(entry.path());
    std::string first;
    std::getline(in, first);
    // Kernels include some headers once per instruction set: Highway's toggled guard.
    const std::string text(std::istreambuf_iterator<char>(in), {});
    if (text.find("defined(HWY_TARGET_TOGGLE)") != text.npos) continue;
    EXPECT_EQ(first, "#pragma once") << entry.path();
  }
}

}  // namespace
}  // namespace satrap
