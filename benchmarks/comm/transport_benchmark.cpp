/// mpirun -n 2 bench-transport [NETWORK]
///
/// Compares rings with what limits them, in turn in the same run, and prints the best of many
/// short rounds, which other work on the machine disturbs least (as STREAM does):
///     bench,<name>,<value>,<unit>,<limit>,<its value>,<ratio>,<target ratio>
/// NETWORK is added to the names. Bandwidth should reach the target ratio, times stay below it.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "comm/mpi/environment.hpp"
#include "comm/ring/fabric.hpp"
#include "core/error.hpp"
#include "figure.hpp"

namespace {

using namespace satrap;
using Bytes = std::vector<std::byte>;

constexpr int kRounds = 50;
constexpr std::int64_t kRing = 1 << 20;  // transport.ring_bytes by default
constexpr std::size_t kMessage = 65536;
constexpr std::size_t kSource = std::size_t{1} << 28;  // larger than the caches

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Two ranks, a ring each way, and a window for raw puts.
class Pair {
 public:
  explicit Pair(const comm::Communicator& world)
      : world_(world),
        me_(world.rank()),
        peer_{1 - me_},
        fabric_(world, {{WorldRank{0}, WorldRank{1}, kRing}, {WorldRank{1}, WorldRank{0}, kRing}},
                0),
        raw_(world, 2 * static_cast<std::int64_t>(kMessage)),
        source_(kSource, std::byte{1}),
        target_(kSource, std::byte{2}) {}

  bool first() const { return me_ == 0; }
  bool one_host() const { return raw_.data_of(raw(peer_)) != nullptr; }
  std::uint64_t sum() const { return sum_; }

  /// Seconds per message that is composed from memory on one rank and read on the other.
  double ring_stream(int messages) {
    return timed(messages, [&] { first() ? produce(messages) : consume(messages); });
  }
  /// Seconds per copy of as many bytes from memory to memory by one core.
  double memcpy_stream(int messages) {
    return timed(messages, [&] {
      for (int i = 0; first() && i < messages; ++i) {
        const std::size_t place = next_place();
        std::memcpy(target_.data() + place, source_.data() + place, kMessage);
      }
    });
  }
  /// Seconds per message to the peer and back.
  double ring_round_trip(int trips, std::size_t bytes) {
    return timed(trips, [&] {
      for (int i = 0; i < trips; ++i) {
        if (first()) send(bytes);
        receive();
        if (!first()) send(bytes);
      }
    });
  }
  /// The same with nothing but MPI: put and flush the bytes, put and flush a word that says so.
  double raw_round_trip(int trips, std::size_t bytes) {
    return timed(trips, [&] {
      for (int i = 0; i < trips; ++i) {
        if (first()) raw_send(bytes);
        raw_receive();
        if (!first()) raw_send(bytes);
      }
    });
  }

 private:
  double timed(int operations, const std::function<void()>& work) {
    world_.barrier();
    return seconds([&] {
             work();
             world_.barrier();
           }) /
           operations;
  }

  /// Moves on over all rounds, so that what is copied is not in the caches.
  std::size_t next_place() { return place_ = (place_ + kMessage) % kSource; }

  void produce(int messages) {
    auto& writer = fabric_.to(peer_);
    for (int i = 0; i < messages;) {
      if (const auto space = writer.reserve(kMessage)) {
        std::memcpy(space->data(), source_.data() + next_place(), kMessage);
        writer.commit();
        fabric_.publish();
        ++i;
      } else {
        fabric_.progress();
      }
    }
  }
  void consume(int messages) {
    auto& reader = fabric_.from(peer_);
    for (int i = 0; i < messages;) {
      fabric_.progress();
      while (const auto message = reader.peek()) {
        read(*message);
        reader.pop();
        ++i;
      }
    }
    fabric_.progress();
  }

  /// Looks at every word, as whoever uses a message does.
  void read(std::span<const std::byte> message) {
    for (std::size_t i = 0; i + 8 <= message.size(); i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, message.data() + i, sizeof word);
      sum_ += word;
    }
  }

  void send(std::size_t bytes) {
    auto& writer = fabric_.to(peer_);
    auto space = writer.reserve(static_cast<std::int64_t>(bytes));
    for (; !space; space = writer.reserve(static_cast<std::int64_t>(bytes))) fabric_.progress();
    std::memcpy(space->data(), source_.data(), bytes);
    writer.commit();
    fabric_.publish();
  }
  void receive() {
    auto& reader = fabric_.from(peer_);
    do fabric_.progress();
    while (!reader.peek());
    reader.pop();
  }

  void raw_send(std::size_t bytes) {
    const int target = raw(peer_);
    raw_.put(target, kMessage, std::span(source_).first(bytes));
    raw_.flush(target);
    ++sent_;
    raw_.put(target, 0, sent_);
    raw_.flush(target);
  }
  void raw_receive() {
    ++received_;
    std::uint64_t word = 0;
    do {
      raw_.sync();
      std::memcpy(&word, raw_.data(), sizeof word);
    } while (word != received_);
  }

  const comm::Communicator& world_;
  int me_;
  WorldRank peer_;
  comm::Fabric fabric_;
  comm::Window raw_;
  Bytes source_;
  Bytes target_;
  std::size_t place_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t sum_ = 0;
};

struct Figure {
  std::string name;
  std::string limit;
  double target;
  bool rate;  ///< Whether seconds per message are shown as GB/s, else as microseconds.
  std::function<double()> measure;
  std::function<double()> measure_limit;
};

void run(const Figure& figure, const std::string& network, bool print) {
  double best = std::numeric_limits<double>::infinity();
  double best_limit = best;
  for (int round = 0; round < kRounds; ++round) {
    best_limit = std::min(best_limit, figure.measure_limit());
    best = std::min(best, figure.measure());
  }
  if (!print) return;
  const auto shown = [&](double s) { return figure.rate ? kMessage / s * 1e-9 : s * 1e6; };
  bench::print({figure.name + (network.empty() ? "" : "-" + network), shown(best),
                figure.rate ? "GB/s" : "us", figure.limit, shown(best_limit), figure.target});
}

int benchmark(const std::string& network) {
  const auto world = comm::Communicator::world();
  if (world.size() != 2) {
    throw ConfigError(fmt::format("{} ranks", world.size()), "this measures between two",
                      "run mpirun -n 2 bench-transport");
  }
  Pair pair(world);
  // Over a network everything takes a hundred times as long.
  const int trips = pair.one_host() ? 2000 : 40;
  const Figure figures[] = {
      {"ring-bandwidth-64KiB", "memcpy", 0.8, true, [&] { return pair.ring_stream(500); },
       [&] { return pair.memcpy_stream(500); }},
      {"ring-round-trip-8B", "put-flush-pair", 1.5, false,
       [&] { return pair.ring_round_trip(trips, 8); },
       [&] { return pair.raw_round_trip(trips, 8); }},
      {"ring-round-trip-64KiB", "put-flush-pair", 1.5, false,
       [&] { return pair.ring_round_trip(trips / 2, kMessage); },
       [&] { return pair.raw_round_trip(trips / 2, kMessage); }},
  };
  for (const Figure& figure : figures) {
    if (figure.rate && !pair.one_host()) continue;  // the network is the limit, not memcpy
    run(figure, network, pair.first());
  }
  // Uses the sum, so that the compiler keeps the reading.
  return pair.sum() == 1 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(&argc, &argv);
  try {
    return benchmark(argc > 1 ? argv[1] : "");
  } catch (const Error& error) {
    std::cerr << "bench-transport: " << error.what() << std::endl;
    comm::abort_job(error.code());
  }
}
