#pragma once

// What docs/errors.md promises of every job that cannot be done, for tests that run such jobs.

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "support/training.hpp"

namespace satrap::test {

/// A job that must be refused.
struct BadInput {
  std::string name;  ///< Of the test.
  int code;          ///< What mpirun returns.
  /// Texts of the one message.
  std::vector<std::string> says;
  /// Added to `satrap train CONFIG`.
  std::vector<std::string> options;
  /// Spoils what is in the scratch directory: train.tsv, valid.tsv, small.ini.
  std::function<void(const Scratch&)> prepare = {};
  int ranks = 3;
  std::string action = "train";
};

/// Names the case in gtest's output.
std::ostream& operator<<(std::ostream& out, const BadInput& bad);
std::string name_of(const BadInput& bad);

/// Runs the job on the small data set and checks how it ends. In an option "@" stands for the
/// scratch directory, and "!" alone for the program.
void expect_refusal(const BadInput& bad, const Scratch& scratch);

/// The promise: ended by itself within 10 s, with the code, and with exactly one message that
/// is not a warning; it holds all of `says`, and mpirun adds nothing.
void expect_one_message(const Ended& ended, int code, const std::vector<std::string>& says);

std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);
/// Replaces line `number` (from 1).
void replace_line(const std::filesystem::path& path, int number, const std::string& line);
/// Turns one bit of the byte that lies at `share` of the file.
void flip_byte(const std::filesystem::path& path, double share);
/// Keeps `share` of its bytes.
void truncate_file(const std::filesystem::path& path, double share);
/// Writes `path` compressed to `path`.gz.
void compress(const std::filesystem::path& path);

}  // namespace satrap::test
