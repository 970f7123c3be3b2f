#include "config/fields/rules.hpp"

namespace satrap::config {

namespace {

using C = TableConfig;

template <Optimizer... kinds>
bool has_optimizer(const Config&, const C& c) {
  return ((c.optimizer == kinds) || ...);
}
bool divides(const Config&, const C& c) {
  return c.optimizer != Optimizer::sgd && c.optimizer != Optimizer::ftrl;
}
bool decays_weights(const Config&, const C& c) {
  return c.optimizer != Optimizer::ftrl;
}
bool rounds(const Config&, const C& c) {
  return c.storage != Storage::fp32 || c.moments != Storage::fp32;
}
bool is_bounded(const Config&, const C& c) {
  return c.capacity > 0 || c.capacity_bytes > 0;
}
bool may_evict(const Config& config, const C& c) {
  return is_bounded(config, c) || c.eviction == Eviction::ttl;
}
template <Eviction kind>
bool evicts_by(const Config& config, const C& c) {
  return c.eviction == kind && may_evict(config, c);
}
bool counts(const Config&, const C& c) {
  return c.admit_after > 1;
}
bool admits_some(const Config&, const C& c) {
  return c.admit_after > 1 || c.admit_share < 1;
}
bool hashes(const Config&, const C& c) {
  return c.hash_rows > 0;
}

}  // namespace

template <>
const std::vector<Field<SlotConfig>>& fields() {
  using S = SlotConfig;
  static const std::vector<Field<S>> all = {
      field("table", &S::table,
            "The table that the slot looks up in; empty: one of its own, of the slot's name."),
      field("pooling", &S::pooling, "How the rows of a slot's ids become one vector."),
  };
  return all;
}

template <>
const std::vector<Field<TableConfig>>& fields() {
  static const Condition<C> moments{
      "with optimizer = adam, rowwise_adam or lamb",
      has_optimizer<Optimizer::adam, Optimizer::rowwise_adam, Optimizer::lamb>};
  static const Condition<C> ftrl{"with optimizer = ftrl", has_optimizer<Optimizer::ftrl>};
  static const std::vector<Field<C>> all = {
      field("dim", &C::dim, "Length of a row's vector.", between(1, 65536)),
      field("optimizer", &C::optimizer, "The update rule; docs/store.md has the formulas."),
      field("lr", &C::lr, "Learning rate, before the schedule.", not_negative()),
      field("momentum", &C::momentum, "Share of the last step that is taken again.", below_one(),
            {"with optimizer = sgd", has_optimizer<Optimizer::sgd>}),
      field("beta1", &C::beta1, "Decay of the first moment.", below_one(), moments),
      field("beta2", &C::beta2, "Decay of the second moment.", below_one(), moments),
      field("eps", &C::eps, "Added to the root that the gradient is divided by.", positive(),
            {"with an optimizer other than sgd and ftrl", divides}),
      field("initial_accumulator", &C::initial_accumulator, "What the sum of squares starts from.",
            not_negative(),
            {"with optimizer = adagrad, rowwise_adagrad or ftrl",
             has_optimizer<Optimizer::adagrad, Optimizer::rowwise_adagrad, Optimizer::ftrl>}),
      field("weight_decay", &C::weight_decay,
            "Decoupled: each update also takes away lr * weight_decay * w (sgd with momentum and "
            "lamb: docs/store.md). Acts on the rows of the batch only.",
            not_negative(), {"with an optimizer other than ftrl", decays_weights}),
      field("bias_correction", &C::bias_correction,
            "The t of the moments: row: the updates of the row so far; global: the step.", {},
            moments),
      field("beta", &C::beta, "Added to the root of the sum of squares.", not_negative(), ftrl),
      field("l1", &C::l1, "Strength of the L1 penalty: small weights become 0.", not_negative(),
            ftrl),
      field("l2", &C::l2, "Strength of the L2 penalty.", not_negative(), ftrl),
      field("clip_norm", &C::clip_norm,
            "Gradients of a row with a larger L2 norm are scaled down to it; 0: none are.",
            not_negative()),
      field("weight_bound", &C::weight_bound,
            "Weights are clamped to [-weight_bound, weight_bound] after each update; 0: not.",
            not_negative()),
      field("init_range", &C::init_range, "New rows are uniform in [-init_range, init_range).",
            not_negative()),
      field("storage", &C::storage,
            "What a weight is kept as; updates are computed in fp32. int8 has a scale per row."),
      field("rounding", &C::rounding,
            "From fp32 to a smaller type: stochastic is unbiased; nearest loses small updates.", {},
            {"with storage or moments other than fp32", rounds}),
      field("moments", &C::moments, "What Adam's moments are kept as.",
            any_of(Storage::fp32, Storage::bf16),
            {"with optimizer = adam", has_optimizer<Optimizer::adam>}),
      field("capacity", &C::capacity, "Rows over all servers; 0: as many as memory holds.",
            at_least(0)),
      bytes_field("capacity_bytes", &C::capacity_bytes,
                  "The same in bytes, with index and admission; 0: as many as memory holds.",
                  at_least(0)),
      field("eviction", &C::eviction,
            "When the table is full: lru: the longest unused rows make room; lfu: the least used; "
            "ttl: as lru, and rows unused for ttl steps go in any case; none: the job stops.",
            {}, {"with a capacity or eviction = ttl", may_evict}),
      field("ttl", &C::ttl, "Steps after which an unused row goes.", at_least(1),
            {"with eviction = ttl", evicts_by<Eviction::ttl>}),
      field("half_life", &C::half_life,
            "Steps after which earlier uses count half; 0: they always count.", at_least(0),
            {"with eviction = lfu", evicts_by<Eviction::lfu>}),
      field("admit_after", &C::admit_after,
            "An id gets a row in the k-th batch that has it; 1: at once.", between(1, 15)),
      field("admission_window", &C::admission_window,
            "Ids without rows whose batches are counted, per server; 0: as many as the capacity, "
            "or 1048576 without one.",
            at_least(0), {"with admit_after above 1", counts}),
      field("admit_share", &C::admit_share,
            "The share of ids that may have rows; which ones depends on the id alone.",
            positive_share()),
      field("not_admitted", &C::not_admitted,
            "What an id without a row looks up as: zeros, or one row that all of them share and "
            "nothing updates.",
            {}, {"with admit_after above 1 or admit_share below 1", admits_some}),
      field("hash_rows", &C::hash_rows,
            "Hash stack: an id is the sum of this many rows, each chosen by a hash of its own; 0: "
            "it has a row of its own.",
            between(0, 16)),
      field("hash_buckets", &C::hash_buckets, "Rows that each of the hashes chooses from.",
            at_least(1), {"with hash_rows above 0", hashes}),
  };
  return all;
}

}  // namespace satrap::config
