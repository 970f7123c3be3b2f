#include "core/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

#include "core/error.hpp"

namespace satrap {

namespace {
std::string identity = "satrap";  // NOLINT: one per process, set before threads start
}

const std::string& log_identity() noexcept {
  return identity;
}

void silence_console() {
  // set_up_logging puts it first.
  spdlog::default_logger()->sinks().front()->set_level(spdlog::level::off);
}

void set_up_logging(const std::string& who, const std::string& path, const std::string& level) {
  identity = who;
  auto console = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  console->set_level(spdlog::level::warn);
  console->set_pattern("satrap: %l: " + who + ": %v");
  auto logger = std::make_shared<spdlog::logger>("satrap", std::move(console));
  const auto file_level = spdlog::level::from_str(level);
  logger->set_level(std::min(file_level, spdlog::level::warn));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(logger);
  if (path.empty()) return;
  try {
    auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    file->set_level(file_level);
    file->set_pattern("%Y-%m-%d %H:%M:%S.%e %-5l " + who + ": %v");
    logger->sinks().push_back(std::move(file));
  } catch (const spdlog::spdlog_ex& error) {
    throw ConfigError(fmt::format("the log file {} cannot be opened", path), error.what(),
                      "choose another job.run_dir");
  }
}

}  // namespace satrap
