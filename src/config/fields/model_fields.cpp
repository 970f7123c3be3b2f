#include "config/fields/rules.hpp"

namespace satrap::config {

namespace {

constexpr std::int64_t kMostUnits = 1'000'000;

bool is_dlrm(const Config&, const ModelConfig& c) {
  return c.kind == Model::dlrm;
}
bool is_ffnn(const Config&, const ModelConfig& c) {
  return c.kind == Model::ffnn;
}
bool is_ffnn_with_dense(const Config& config, const ModelConfig& c) {
  return c.kind == Model::ffnn && config.dense_features() > 0;
}

bool is_sgd(const Config&, const DenseOptimizerConfig& c) {
  return c.kind == Optimizer::sgd;
}
bool is_adagrad(const Config&, const DenseOptimizerConfig& c) {
  return c.kind == Optimizer::adagrad;
}
bool is_adam(const Config&, const DenseOptimizerConfig& c) {
  return c.kind == Optimizer::adam;
}
bool divides(const Config&, const DenseOptimizerConfig& c) {
  return c.kind != Optimizer::sgd;
}

bool decays(const Config&, const ScheduleConfig& c) {
  return c.decay != Decay::none;
}
bool decays_polynomially(const Config&, const ScheduleConfig& c) {
  return c.decay == Decay::polynomial;
}
bool is_schedule(const Config&, const ScheduleConfig& c) {
  return c.warmup_steps > 0 || c.decay != Decay::none;
}

}  // namespace

template <>
const std::vector<Field<ModelConfig>>& fields() {
  using C = ModelConfig;
  static const Condition<C> ffnn{"with kind = ffnn", is_ffnn};
  static const std::vector<Field<C>> all = {
      field("kind", &C::kind,
            "dlrm: dot products of the embeddings and the dense features' vector; ffnn: PERSIA's "
            "network over both concatenated."),
      field("bottom", &C::bottom,
            "Hidden widths of the MLP over the dense features; a last layer of the tables' dim "
            "follows.",
            between(1, kMostUnits), {"with kind = dlrm", is_dlrm}),
      field("top", &C::top, "Hidden widths of the MLP that ends in the logit.",
            between(1, kMostUnits)),
      field("sparse_width", &C::sparse_width, "Width of the layer over the embeddings.",
            between(1, kMostUnits), ffnn),
      field("dense_width", &C::dense_width, "Width of the layer over the dense features.",
            between(1, kMostUnits), {"with kind = ffnn and dense features", is_ffnn_with_dense}),
      field("batch_norm", &C::batch_norm,
            "Batch normalisation after the layers of sparse_width and dense_width.", {}, ffnn),
      field("activation", &C::activation, "After each hidden layer of top.", {}, ffnn),
  };
  return all;
}

template <>
const std::vector<Field<DenseOptimizerConfig>>& fields() {
  using C = DenseOptimizerConfig;
  static const Condition<C> sgd{"with kind = sgd", is_sgd};
  static const Condition<C> adam{"with kind = adam", is_adam};
  static const std::vector<Field<C>> all = {
      field("kind", &C::kind, "The update rule; docs/model.md has the formulas.",
            any_of(Optimizer::sgd, Optimizer::adagrad, Optimizer::adam)),
      field("lr", &C::lr, "Learning rate, before the schedule.", not_negative()),
      field("momentum", &C::momentum, "Share of the last step that is taken again.", below_one(),
            sgd),
      field("beta1", &C::beta1, "Decay of the first moment.", below_one(), adam),
      field("beta2", &C::beta2, "Decay of the second moment.", below_one(), adam),
      field("eps", &C::eps, "Added to the root that the gradient is divided by.", positive(),
            {"with kind = adagrad or adam", divides}),
      field("initial_accumulator", &C::initial_accumulator, "What the sum of squares starts from.",
            not_negative(), {"with kind = adagrad", is_adagrad}),
      field("weight_decay", &C::weight_decay,
            "sgd and adagrad: weight_decay * w joins the gradient; adam: decoupled, as in AdamW.",
            not_negative()),
  };
  return all;
}

template <>
const std::vector<Field<ScheduleConfig>>& fields() {
  using C = ScheduleConfig;
  static const Condition<C> decay{"with a decay", decays};
  static const std::vector<Field<C>> all = {
      field("warmup_steps", &C::warmup_steps,
            "The factor grows from 0 to 1 over these steps, linearly; 0: no warm-up.", at_least(0)),
      field("decay", &C::decay, "How the factor falls after decay_start."),
      field("decay_start", &C::decay_start,
            "The step after which the decay begins; warmup_steps if it is not given.", at_least(0),
            decay),
      field("decay_steps", &C::decay_steps,
            "How long the decay takes; step: the distance of two steps. Required with a decay.",
            at_least(1), decay),
      field("decay_power", &C::decay_power, "1 is a straight line, 2 a parabola.", positive(),
            {"with decay = polynomial", decays_polynomially}),
      field("end_factor", &C::end_factor,
            "The factor at the end of the decay; step: what it is multiplied by every decay_steps.",
            share(), decay),
      field("sparse", &C::sparse, "Whether the tables' learning rates follow the schedule too.", {},
            {"with a warm-up or decay", is_schedule}),
  };
  return all;
}

}  // namespace satrap::config
