#include "job/job.hpp"

#include <chrono>
#include <cstdio>
#include <thread>

#include "checkpoint/checkpoint.hpp"
#include "comm/mpi/communicator.hpp"
#include "comm/mpi/environment.hpp"
#include "comm/ring/fabric.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "data/reader.hpp"
#include "job/agreement.hpp"
#include "job/plan.hpp"
#include "job/role_loops.hpp"
#include "job/run_directory.hpp"
#include "job/shards.hpp"
#include "worker/embedding_client.hpp"

namespace satrap::job {

namespace {

config::Config resolve_everywhere(const comm::Communicator& world, const Request& request) {
  const std::string ini = on_first_rank(world, [&] {
    std::vector<config::Setting> settings;
    if (!request.config_path.empty()) settings = config::read_ini(request.config_path);
    settings.insert(settings.end(), request.settings.begin(), request.settings.end());
    return config::to_ini(config::resolve(settings));
  });
  return config::resolve(config::parse_ini(ini, "the config of rank 0"), config::Files::skip);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part + "\n";
  return text;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// What would otherwise be found by several ranks, or late.
void check(const config::Config& config, const std::vector<std::string>& train_files,
           const std::vector<std::string>& valid_files, bool evaluate_only) {
  worker::check_ring_bytes(config);
  landing_bytes(config);
  check_shards(config, evaluate_only ? 0 : config.train.global_batch);
  if (evaluate_only && valid_files.empty()) {
    throw ConfigError("data.valid must be set", "eval evaluates on it",
                      "name the files, e.g. --data.valid=data/valid.tsv.gz");
  }
  if (!evaluate_only) data::check_first_sample(config, train_files);
  if (!valid_files.empty()) data::check_first_sample(config, valid_files);
}

ExitCode play(const Stage& stage, const comm::Communicator& world) {
  const comm::Communicator trainers =
      world.split(stage.cast.role == Role::trainer ? 0 : -1, stage.cast.index);
  comm::Fabric fabric(world, links(stage.config, stage.cast),
                      stage.cast.role == Role::trainer ? landing_bytes(stage.config) : 0);
  switch (stage.cast.role) {
    case Role::server:
      return run_server(stage, fabric);
    case Role::worker:
      return run_worker(stage, fabric);
    default:
      return run_trainer(stage, fabric, trainers);
  }
}

/// Ends the job for a fault of this rank, which the others do not know of or have met as well (a
/// damaged file that all of them read). One rank tells why.
[[noreturn]] void fail(const Fault& fault, const RunDirectory& directory) {
  const bool first = directory.claim_fault(fmt::format("{}: {}\n", log_identity(), fault.message));
  if (!first) silence_console();
  spdlog::error(fault.message);
  // The one that told why ends the others, with its code.
  if (!first) std::this_thread::sleep_for(std::chrono::seconds(5));
  comm::abort_job(fault.code);
}

ExitCode run_on(const comm::Communicator& world, const Request& request,
                const std::string& refusal) {
  on_every_rank([&] { comm::check_launch(world); });
  refuse_if_any_rank_does(world, refusal);
  refuse_different_requests(world, request);
  config::Config config = resolve_everywhere(world, request);
  if (request.action == Request::Action::print_config) {
    if (world.rank() == 0) std::fputs(config::to_ini(config).c_str(), stdout);
    return ExitCode::done;
  }
  const Cast cast = on_every_rank([&] { return cast_roles(config, world, request.role); });
  const RunDirectory directory(config.job.run_dir);
  const auto train_files =
      lines(on_first_rank(world, [&] { return joined(data::expand_files(config.data.train)); }));
  const auto valid_files =
      lines(on_first_rank(world, [&] { return joined(data::expand_files(config.data.valid)); }));
  const bool reads_data =
      cast.role == Role::worker || (cast.role == Role::trainer && cast.workers.empty());
  refuse_different_data(world, reads_data, train_files, valid_files);
  const bool evaluate_only = request.action == Request::Action::evaluate;
  FileLock lock;  // of rank 0, until the job ends
  const std::string start_text = on_first_rank(world, [&] {
    check(config, train_files, valid_files, evaluate_only);
    const Start start = find_start(config, directory, evaluate_only);
    if (request.action == Request::Action::dry_run) {
      std::fputs(plan(config, cast, start).c_str(), stdout);
    } else {
      lock = directory.create();
      if (!evaluate_only) {
        checkpoint::remove_unfinished(directory.checkpoints());  // makes room for what follows
        directory.write_config(config);
      }
    }
    return to_text(start);
  });
  if (request.action == Request::Action::dry_run) return ExitCode::done;

  const Start start = start_from_text(start_text);
  try {
    set_up_logging(cast.identity(WorldRank{world.rank()}), directory.log().string(),
                   config.job.log_level);
    if (!evaluate_only) catch_stop_signals();  // an evaluation has nothing to save
    return play({config, cast, start, directory, train_files, valid_files, evaluate_only}, world);
  } catch (const std::exception& error) {
    fail(to_fault(error), directory);
  }
}

}  // namespace

ExitCode run(const Request& request, const std::string& refusal) {
  const comm::Communicator world = comm::Communicator::world();
  set_up_logging(fmt::format("rank {}", world.rank()), {}, "info");
  try {
    return comm::leave_job(world, run_on(world, request, refusal));
  } catch (const Refused& refused) {
    if (world.rank() == 0) std::fprintf(stderr, "satrap: %s\n", refused.fault.message.c_str());
    return comm::leave_job(world, refused.fault.code);
  } catch (const std::exception& error) {
    const Fault fault = to_fault(error);
    spdlog::error(fault.message);
    comm::abort_job(fault.code);
  }
}

}  // namespace satrap::job
