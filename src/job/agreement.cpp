#include "job/agreement.hpp"

#include <filesystem>

#include "core/hash.hpp"

namespace satrap::job {

namespace {

/// What a rank's command line says, but for its role.
std::string text_of(const Request& request) {
  static constexpr const char* kActions[] = {"train", "evaluate", "print", "check"};
  std::string text =
      fmt::format("{} {}", kActions[static_cast<int>(request.action)], request.config_path);
  for (const auto& setting : request.settings) {
    text += fmt::format(" --{}={}", setting.key, setting.value);
  }
  return text;
}

/// Of the sizes of the files as this rank sees them; not negative.
std::int64_t fingerprint(const std::vector<std::string>& files, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const std::string& file : files) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file, error);
    hash = mix(hash ^ (error ? ~std::uint64_t{0} : std::uint64_t{size}));
  }
  return static_cast<std::int64_t>(hash >> 1);
}

}  // namespace

void refuse_if_any_rank_does(const comm::Communicator& world, const std::string& refusal) {
  for (const std::string& text : world.all_gather(refusal)) {
    if (!text.empty()) throw Refused{{ExitCode::usage, text}};
  }
}

void refuse_different_requests(const comm::Communicator& world, const Request& request) {
  const auto texts = world.all_gather(text_of(request));
  for (std::size_t r = 1; r < texts.size(); ++r) {
    if (texts[r] == texts[0]) continue;
    throw Refused{to_fault(ConfigError(
        fmt::format("command line: rank {} is to {}, but rank 0 is to {}", r, texts[r], texts[0]),
        "one job is one experiment", "give every part of the command the same options"))};
  }
}

void refuse_different_data(const comm::Communicator& world, bool reads,
                           const std::vector<std::string>& train_files,
                           const std::vector<std::string>& valid_files) {
  constexpr std::int64_t kReadsNothing = -1;
  const auto seen = world.all_gather(
      reads ? fingerprint(valid_files, static_cast<std::uint64_t>(fingerprint(train_files, 0)))
            : kReadsNothing);
  std::size_t first = 0;
  while (first < seen.size() && seen[first] == kReadsNothing) ++first;
  for (std::size_t r = first; r < seen.size(); ++r) {
    if (seen[r] == kReadsNothing || seen[r] == seen[first]) continue;
    throw Refused{to_fault(
        DataError(fmt::format("rank {} and rank {} see different data files", first, r),
                  "one of data.train and data.valid is missing or of another size on one of them",
                  "keep the data where all hosts see it, or the same copy on each host"))};
  }
}

}  // namespace satrap::job
