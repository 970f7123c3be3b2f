#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "comm/protocol/message.hpp"
#include "comm/ring/fabric.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/types.hpp"
#include "server/gradient_merger.hpp"
#include "store/table.hpp"

namespace satrap::server {

struct ServerOptions {
  ServerId id{0};
  /// Who sends lookups and gradients: the embedding workers, or the trainers without workers.
  std::vector<WorldRank> requesters;
  std::int32_t trainers = 1;
  /// The step that the tables are of when the server starts.
  Step start = 0;
  /// Where fence(save) of a step writes this server's file.
  std::function<std::filesystem::path(Step)> checkpoint_directory;
  /// Called before each lookup is answered; tests slow a server down with it.
  std::function<void(const comm::MessageHeader&)> before_lookup;
};

/// The embedding server: owns one shard of every table and does what the messages of its requesters
/// say, in the order in which each of them sent it, until all of them have sent fence(stop).
///
///  * lookup: the rows are put into the requester's (or its trainer's) landing zone, then looked_up
///  tells.
///    In sync mode a lookup of step s waits until step s-1 is applied.
///  * gradients: hybrid applies them on arrival. sync keeps them until every trainer has pushed the
///  step
///    and then makes one optimizer step per row with the sum in trainer order.
///  * statistics: what each table holds and did so far is sent back at once.
///  * fence: the messages behind it wait until every requester has sent it; then a save is written
///  (save) or
///    the loop ends (stop), and fence_done answers all.
///
/// One thread, the one that owns MPI.
class Server {
 public:
  /// `tables` in the order of the config, of this shard; they outlive the server.
  Server(const config::Config& config, comm::Fabric& fabric, std::span<store::Table> tables,
         ServerOptions options);

  /// Runs until stopped; returns the exit code that the requesters agreed upon.
  ExitCode run();

 private:
  struct Requester {
    comm::Outbox outbox;
    comm::Inbox inbox;
    bool fenced = false;
  };

  bool turn();
  bool serve(Requester& requester);
  bool handle(Requester& requester, const comm::Message& message);
  bool look_up(Requester& requester, const comm::Message& message);
  void take_gradients(Requester& requester, const comm::Message& message);
  void take_pushed(Requester& requester, const comm::MessageHeader& header);
  void apply_step(Step step);
  void finish_fence();
  /// Answers with the statistics of all tables.
  void send_statistics(Requester& requester, comm::MessageHeader header);
  void publish();
  store::Table& table_of(Requester& requester, const comm::MessageHeader& header);
  store::UpdateContext context(Step step) const;

  const config::Config& config_;
  comm::Fabric& fabric_;
  std::span<store::Table> tables_;
  ServerOptions options_;
  bool merging_;  ///< sync with several trainers
  std::vector<Requester> requesters_;
  std::vector<Step> pushed_;  ///< [trainers] the last step whose gradients have all arrived
  Step applied_;              ///< The last step that every trainer has pushed.
  Step latest_;               ///< The largest step of a training lookup.
  std::vector<GradientMerger> mergers_;  ///< [tables] with merging_
  std::vector<float> staging_;           ///< Rows of the replies since the last publish.
  std::size_t staged_ = 0;
  comm::MessageHeader fence_;
  std::size_t fenced_ = 0;
  bool stopped_ = false;
};

}  // namespace satrap::server
