#include "config/fields/rules.hpp"

namespace satrap::config {

namespace {

using C = TableConfig;

bool is_sgd(const Config&, const C& c) {
  return c.optimizer == Optimizer::sgd;
}
bool is_adam(const Config&, const C& c) {
  return c.optimizer == Optimizer::adam;
}
bool accumulates(const Config&, const C& c) {
  return c.optimizer == Optimizer::adagrad || c.optimizer == Optimizer::rowwise_adagrad;
}
bool divides(const Config&, const C& c) {
  return c.optimizer != Optimizer::sgd;
}
bool decays_weights(const Config&, const C& c) {
  return c.optimizer == Optimizer::sgd || c.optimizer == Optimizer::adam;
}
bool is_bounded(const Config&, const C& c) {
  return c.capacity > 0;
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
  static const Condition<C> adam{"with optimizer = adam", is_adam};
  static const std::vector<Field<C>> all = {
      field("dim", &C::dim, "Length of a row's vector.", between(1, 65536)),
      field("optimizer", &C::optimizer, "The update rule; docs/config.md has the formulas."),
      field("lr", &C::lr, "Learning rate, before the schedule.", not_negative()),
      field("momentum", &C::momentum, "Share of the last step that is taken again.", below_one(),
            {"with optimizer = sgd", is_sgd}),
      field("beta1", &C::beta1, "Decay of the first moment.", below_one(), adam),
      field("beta2", &C::beta2, "Decay of the second moment.", below_one(), adam),
      field("eps", &C::eps, "Added to the root that the gradient is divided by.", positive(),
            {"with an optimizer other than sgd", divides}),
      field("initial_accumulator", &C::initial_accumulator, "What the sum of squares starts from.",
            not_negative(), {"with optimizer = adagrad or rowwise_adagrad", accumulates}),
      field("weight_decay", &C::weight_decay,
            "sgd: weight_decay * w joins the gradient; adam: decoupled, as in AdamW. Acts on the "
            "rows of the batch only.",
            not_negative(), {"with optimizer = sgd or adam", decays_weights}),
      field("bias_correction", &C::bias_correction,
            "Adam's t: row: the updates of the row so far; global: the step.", {}, adam),
      field("init_range", &C::init_range, "New rows are uniform in [-init_range, init_range).",
            not_negative()),
      field("capacity", &C::capacity, "Rows over all servers; 0: as many as memory holds.",
            at_least(0)),
      field("eviction", &C::eviction,
            "When the table is full: lru: the longest unused rows make room; none: the job stops.",
            {}, {"with a capacity", is_bounded}),
  };
  return all;
}

}  // namespace satrap::config
