#pragma once

#include "config/fields/field.hpp"

namespace satrap::config {

// The sections of a config file, in the order of help and printing. `visit` is called with the name
// of a section, what it is about, and the member of Config that it fills.

template <class Visitor>
void for_each_plain_section(Visitor&& visit) {
  visit("job", "The run as a whole.", &Config::job);
  visit("roles", "How many MPI ranks take each role.", &Config::roles);
  visit("data", "Samples: files, format, order.", &Config::data);
  visit("model", "The dense network.", &Config::model);
  visit("train", "The training loop.", &Config::train);
  visit("dense_optimizer", "The optimizer of the dense network.", &Config::dense_optimizer);
  visit("schedule", "A factor on the learning rates as a function of the step.", &Config::schedule);
  visit("checkpoint", "What is saved, and when.", &Config::checkpoint);
  visit("transport", "Messages between ranks.", &Config::transport);
}

/// Sections that stand for many things of one kind, one for each glob over their names.
template <class Visitor>
void for_each_named_section(Visitor&& visit) {
  visit("slot", "The slots whose names match NAME.", &Config::slots);
  visit("table", "The embedding tables whose names match NAME.", &Config::tables);
}

}  // namespace satrap::config
