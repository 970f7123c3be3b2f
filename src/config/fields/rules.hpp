#pragma once

#include <algorithm>

#include "config/fields/field.hpp"

namespace satrap::config {

// The rules that the field tables are written with.

inline Rule<std::int64_t> at_least(std::int64_t least) {
  return {fmt::format("at least {}", least), [=](std::int64_t v) { return v >= least; }};
}

inline Rule<std::int64_t> between(std::int64_t least, std::int64_t most) {
  return {fmt::format("{} to {}", least, most),
          [=](std::int64_t v) { return least <= v && v <= most; }};
}

inline Rule<double> not_negative() {
  return {"at least 0", [](double v) { return v >= 0; }};
}

inline Rule<double> positive() {
  return {"above 0", [](double v) { return v > 0; }};
}

/// In [0, 1), as single precision has it.
inline Rule<double> below_one() {
  return {"at least 0 and below 1", [](double v) { return v >= 0 && static_cast<float>(v) < 1; }};
}

/// In [0, 1].
inline Rule<double> share() {
  return {"0 to 1", [](double v) { return 0 <= v && v <= 1; }};
}

/// In (0, 1].
inline Rule<double> positive_share() {
  return {"above 0, at most 1", [](double v) { return 0 < v && v <= 1; }};
}

inline Rule<std::string> not_empty() {
  return {"not empty", [](const std::string& v) { return !v.empty(); }};
}

inline Rule<std::string> one_of(std::vector<std::string> choices) {
  auto text = fmt::format("one of {}", fmt::join(choices, ", "));
  return {std::move(text), [choices = std::move(choices)](const std::string& v) {
            return std::find(choices.begin(), choices.end(), v) != choices.end();
          }};
}

template <class E, class... Es>
Rule<E> any_of(E first, Es... others) {
  return {"", [=](E v) { return v == first || ((v == others) || ...); }};
}

}  // namespace satrap::config
