#include "bad_input.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <ostream>
#include <sstream>

namespace satrap::test {

std::ostream& operator<<(std::ostream& out, const BadInput& bad) {
  return out << bad.name;
}

std::string name_of(const BadInput& bad) {
  return bad.name;
}

namespace {

constexpr double kLimit = 10;  ///< seconds

/// The lines that are our messages.
std::vector<std::string> messages(const std::string& output) {
  std::vector<std::string> found;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("satrap:") && !line.starts_with("satrap: warning:")) found.push_back(line);
  }
  return found;
}

}  // namespace

void expect_one_message(const Ended& ended, int code, const std::vector<std::string>& says) {
  EXPECT_FALSE(ended.timed_out);
  EXPECT_LT(ended.seconds, kLimit);
  EXPECT_EQ(ended.code, code);
  const auto told = messages(ended.output);
  EXPECT_EQ(told.size(), 1U);
  for (const std::string& part : says) {
    EXPECT_TRUE(!told.empty() && told[0].find(part) != std::string::npos) << "without: " << part;
  }
  for (const char* notice : {"MPI_ABORT", "MPI_Abort", "mpirun detected", "Primary job"}) {
    EXPECT_EQ(ended.output.find(notice), std::string::npos) << notice;
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << ended.output;
}

void expect_refusal(const BadInput& bad, const Scratch& scratch) {
  make_data(scratch, 1'500, 300);
  std::vector<std::string> arguments = {bad.action, small_config(scratch)};
  if (bad.prepare) bad.prepare(scratch);
  const std::string program = mpirun(1, {}).back();
  for (std::string option : bad.options) {
    if (option == "!") option = program;
    for (auto at = option.find('@'); at != std::string::npos; at = option.find('@')) {
      option.replace(at, 1, scratch.path().string());
    }
    arguments.push_back(option);
  }
  const auto job = [&] { return run(mpirun(bad.ranks, arguments), std::chrono::seconds(20)); };
  Ended ended = job();
  // A machine that is busy with other things gets a second try.
  if (ended.seconds >= kLimit) ended = job();
  expect_one_message(ended, bad.code, bad.says);
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

void replace_line(const std::filesystem::path& path, int number, const std::string& line) {
  std::istringstream in(read_text(path));
  std::string out;
  int at = 0;
  for (std::string old; std::getline(in, old);) out += (++at == number ? line : old) + "\n";
  ASSERT_GE(at, number);
  write_text(path, out);
}

void flip_byte(const std::filesystem::path& path, double share) {
  std::string bytes = read_text(path);
  ASSERT_FALSE(bytes.empty());
  bytes[static_cast<std::size_t>(share * static_cast<double>(bytes.size()))] ^= 4;
  write_text(path, bytes);
}

void truncate_file(const std::filesystem::path& path, double share) {
  const auto size = static_cast<double>(std::filesystem::file_size(path));
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(share * size));
}

void compress(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  const gzFile out = gzopen((path.string() + ".gz").c_str(), "wb");
  ASSERT_NE(out, nullptr);
  ASSERT_EQ(gzwrite(out, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  ASSERT_EQ(gzclose(out), Z_OK);
}

}  // namespace satrap::test
