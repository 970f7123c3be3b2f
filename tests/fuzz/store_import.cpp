// Bytes of any kind as rows to be imported, between the other operations of a table. What is wrong
// must be refused with CheckpointError; whatever is taken must leave a table that is whole. An
// entry point for libFuzzer, which unit.store.import calls with random bytes too.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "core/error.hpp"
#include "store/table.hpp"

namespace satrap::store {
namespace {

/// Also in release builds, unlike SATRAP_ASSERT.
void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "store_import: %s\n", what);
  std::abort();
}

/// Takes values off the input; zeros behind its end.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  bool empty() const noexcept { return bytes_.empty(); }
  template <class T>
  T take() {
    T value{};
    fill(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  void fill(std::span<std::byte> out) {
    const std::size_t n = std::min(out.size(), bytes_.size());
    if (n > 0) std::memcpy(out.data(), bytes_.data(), n);
    bytes_ = bytes_.subspan(n);
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// A table of the kind that the input chooses.
config::TableConfig table_config(Input& input) {
  using config::Eviction;
  using config::Optimizer;
  using config::Storage;
  constexpr Storage kStorages[] = {Storage::fp32, Storage::fp16, Storage::bf16, Storage::int8};
  constexpr Optimizer kOptimizers[] = {Optimizer::rowwise_adagrad, Optimizer::sgd, Optimizer::adam,
                                       Optimizer::ftrl, Optimizer::lamb};
  constexpr Eviction kEvictions[] = {Eviction::lru, Eviction::none, Eviction::lfu, Eviction::ttl};
  constexpr std::int64_t kCapacities[] = {0, 1, 9, 100};
  config::TableConfig config;
  config.name = "fuzzed";
  const auto kind = input.take<std::uint16_t>();
  config.dim = 1 + kind % 5;
  config.storage = kStorages[kind / 8 % 4];
  config.optimizer = kOptimizers[kind / 32 % 5];
  config.eviction = kEvictions[kind / 256 % 4];
  config.capacity = kCapacities[kind / 1024 % 4];
  if (config.eviction == Eviction::ttl) config.ttl = 1 + kind / 4096;
  if (config.eviction == Eviction::lfu) config.half_life = kind / 4096;
  if (kind / 4096 % 4 == 3) config.admit_after = 2;
  return config;
}

/// Mostly few ids, so that they meet again, now and then any 64 bits.
FeatureId take_id(Input& input) {
  const auto id = input.take<std::uint8_t>();
  return FeatureId{id < 240 ? id : input.take<std::uint64_t>()};
}
std::vector<FeatureId> take_ids(Input& input, std::size_t most) {
  std::vector<FeatureId> ids;
  for (std::size_t n = input.take<std::uint8_t>() % (most + 1); n > 0; --n) {
    ids.push_back(take_id(input));
  }
  return ids;
}

/// NaN is the same as itself.
bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

/// All rows, after a look at whether the table is whole.
RowBlock checked_rows(const Table& table) {
  RowBlock block;
  const RowOrder order = table.order_rows(4);
  table.export_rows(order.rows, block);
  const TableStatistics statistics = table.statistics();
  const auto n = static_cast<std::int64_t>(block.size());
  require(n == table.size() && n == statistics.rows, "an export has all rows");
  require(table.config().capacity == 0 || n <= table.config().capacity, "the capacity holds");
  require(order.shard_begin.back() == n, "shards have all rows");
  std::vector<FeatureId> ids = block.ids;
  std::sort(ids.begin(), ids.end());
  require(std::adjacent_find(ids.begin(), ids.end()) == ids.end(), "no id has two rows");
  std::vector<float> out(block.size() * static_cast<std::size_t>(table.dim()));
  table.peek(block.ids, out.data());
  return block;
}

class Session {
 public:
  explicit Session(Input input) : input_(input), table_(TableId{1}, table_config(input_), 7) {}

  void run() {
    // Blocks take what bytes there are; the rest of an operation costs few.
    for (int operations = 0; !input_.empty() && operations < 200; ++operations) {
      switch (input_.take<std::uint8_t>() % 8) {
        case 0:
        case 1:
        case 2:
          import_rows();
          break;
        case 3:
        case 4:
          look_up();
          break;
        case 5:
        case 6:
          apply();
          break;
        default:
          move();
      }
    }
    checked_rows(table_);
  }

 private:
  std::size_t dim() const { return static_cast<std::size_t>(table_.dim()); }

  /// With the sizes that the table needs, but for one column now and then.
  RowBlock take_block() {
    const RowLayout& layout = table_.layout();
    RowBlock block;
    block.ids = take_ids(input_, 40);
    const std::size_t n = block.size();
    const auto damage = input_.take<std::uint8_t>();
    const auto size = [&](std::uint8_t column, std::size_t right) {
      return damage == column ? input_.take<std::uint8_t>() : right;
    };
    block.weights.resize(size(1, n * layout.weight_bytes));
    block.scales.resize(size(2, layout.has_scale ? n : 0));
    block.state.resize(size(3, n * layout.state_bytes));
    block.updates.resize(size(4, layout.has_updates ? n : 0));
    block.touched.resize(size(5, n));
    input_.fill(block.weights);
    input_.fill(std::as_writable_bytes(std::span(block.scales)));
    input_.fill(block.state);
    input_.fill(std::as_writable_bytes(std::span(block.updates)));
    // Keys that are near each other, or anything.
    const bool near = input_.take<std::uint8_t>() % 2 == 0;
    for (std::uint64_t& key : block.touched) {
      key = near ? std::uint64_t{input_.take<std::uint8_t>()} << 12 : input_.take<std::uint64_t>();
    }
    return block;
  }

  void import_rows() {
    const RowBlock block = take_block();
    const RowLayout& layout = table_.layout();
    const std::size_t n = block.size();
    const bool right = block.weights.size() == n * layout.weight_bytes &&
                       block.scales.size() == (layout.has_scale ? n : 0) &&
                       block.state.size() == n * layout.state_bytes &&
                       block.updates.size() == (layout.has_updates ? n : 0) &&
                       block.touched.size() == n;
    const std::int64_t before = table_.size();
    try {
      table_.import_rows(block);
      require(right, "columns of wrong sizes are refused");
    } catch (const CheckpointError&) {
      const bool full = table_.config().eviction == config::Eviction::none &&
                        table_.size() == table_.config().capacity;
      require(!right || full, "only what is wrong is refused");
      require(right || table_.size() == before, "what is refused changes nothing");
    }
  }

  void look_up() {
    std::vector<FeatureId> ids = take_ids(input_, 30);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    step_ += input_.take<std::uint8_t>() % 16;
    std::vector<float> out(ids.size() * dim());
    try {
      table_.lookup(ids, step_, out.data());
    } catch (const DataError&) {
      const std::int64_t capacity = table_.config().capacity;
      require(capacity > 0 && table_.size() + static_cast<std::int64_t>(ids.size()) > capacity,
              "only what does not fit is refused");
    }
  }

  void apply() {
    const std::vector<FeatureId> ids = take_ids(input_, 30);
    std::vector<float> gradients(ids.size() * dim());
    input_.fill(std::as_writable_bytes(std::span(gradients)));
    const TableStatistics before = table_.statistics();
    table_.apply(ids, gradients.data(), {.step = step_ + 1, .lr_factor = 0.5f});
    const TableStatistics after = table_.statistics();
    require(after.gradients_applied + after.gradients_dropped -
                    (before.gradients_applied + before.gradients_dropped) ==
                static_cast<std::int64_t>(ids.size()),
            "every gradient is applied or dropped");
  }

  /// What was exported comes in again, all of it and as it was.
  void move() {
    const RowBlock rows = checked_rows(table_);
    Table next(TableId{1}, table_.config(), 7);
    next.import_rows(rows);
    std::vector<std::uint16_t> cells;
    table_.save_admission(cells);
    require(next.restore_admission(cells), "appearances come back");
    const RowBlock again = checked_rows(next);
    require(again.ids == rows.ids && again.weights == rows.weights &&
                same_bytes(again.scales, rows.scales) && again.state == rows.state &&
                again.updates == rows.updates && again.touched == rows.touched,
            "rows come back as they were");
    table_ = std::move(next);
  }

  Input input_;
  Table table_;
  Step step_ = 1;
};

}  // namespace
}  // namespace satrap::store

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  satrap::store::Session(satrap::store::Input(data, size)).run();
  return 0;
}
