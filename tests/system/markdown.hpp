#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace satrap::test {

/// A fenced block, with the comment in the line before it.
struct Block {
  std::string language;   ///< "sh" for ```sh
  std::string directive;  ///< "output" for <!-- output -->; empty without a comment.
  std::string text;
  int line = 0;  ///< Of its first fence, from 1.
};

/// A Markdown page, as far as its tests need to understand it.
struct Page {
  explicit Page(const std::filesystem::path& file);

  std::filesystem::path path;
  std::string text;   ///< All of it.
  std::string prose;  ///< Without the fenced blocks.
  std::vector<Block> blocks;
  /// Targets of [text](target), and those of [name]: target.
  std::vector<std::string> links;
  std::set<std::string> anchors;  ///< That GitHub makes of the headings.
};

}  // namespace satrap::test
