#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "config/value.hpp"

namespace satrap::config {

/// When a key has an effect. A key that is given without one is refused, never ignored.
template <class S>
struct Condition {
  std::string_view text;  ///< "with decay = polynomial"; empty: always.
  bool (*holds)(const Config&, const S&) = nullptr;
};

/// What a value, or each element of a list, must satisfy beyond its type.
template <class T>
struct Rule {
  std::string text;  ///< "at least 1"; empty: anything.
  std::function<bool(const T&)> holds;
};

/// A key of section S: the one place that says how it is spelled, parsed, checked, printed and
/// explained.
template <class S>
struct Field {
  std::string_view key;
  std::string_view meaning;
  std::string values;  ///< What it can be: "whole number, at least 1", "sync or hybrid".
  Condition<S> condition;
  std::function<void(S&, std::string_view text)> set;  ///< Throws BadValue.
  std::function<void(S&)> reset;                       ///< To the default.
  std::function<std::string(const S&)> text;

  bool applies(const Config& config, const S& section) const {
    return !condition.holds || condition.holds(config, section);
  }
  std::string default_text() const { return text(S{}); }
};

/// The fields of a section in the order of its help text.
template <class S>
const std::vector<Field<S>>& fields();

template <>
const std::vector<Field<JobConfig>>& fields();
template <>
const std::vector<Field<RolesConfig>>& fields();
template <>
const std::vector<Field<DataConfig>>& fields();
template <>
const std::vector<Field<ModelConfig>>& fields();
template <>
const std::vector<Field<TrainConfig>>& fields();
template <>
const std::vector<Field<DenseOptimizerConfig>>& fields();
template <>
const std::vector<Field<ScheduleConfig>>& fields();
template <>
const std::vector<Field<SlotConfig>>& fields();
template <>
const std::vector<Field<TableConfig>>& fields();
template <>
const std::vector<Field<CheckpointConfig>>& fields();
template <>
const std::vector<Field<TransportConfig>>& fields();

// The rest makes fields.

template <class T>
struct ElementOf {
  using type = T;
};
template <class T>
struct ElementOf<std::vector<T>> {
  using type = T;
};
template <class T>
using Element = typename ElementOf<T>::type;

/// The name of a type in messages: "whole number", "list of numbers", "sync or hybrid".
inline std::string type_text(std::int64_t) {
  return "whole number";
}
inline std::string type_text(std::uint64_t) {
  return "whole number";
}
inline std::string type_text(double) {
  return "number";
}
inline std::string type_text(bool) {
  return "true or false";
}
inline std::string type_text(const std::string&) {
  return "text";
}
inline std::string type_text(const std::vector<std::int64_t>&) {
  return "list of whole numbers";
}
inline std::string type_text(const std::vector<std::string>&) {
  return "list of texts";
}

/// "a, b or c": the choices that `rule` allows.
template <class E>
requires std::is_enum_v<E> std::string choices_text(const Rule<E>& rule) {
  std::vector<std::string_view> texts;
  for (const auto& choice : Spellings<E>::all)
    if (!rule.holds || rule.holds(choice.value)) texts.push_back(choice.text);
  const auto last = texts.back();
  texts.pop_back();
  return fmt::format("{} or {}", fmt::join(texts, ", "), last);
}

template <class T>
std::string values_text(const Rule<Element<T>>& rule) {
  if constexpr (std::is_enum_v<T>)
    return choices_text(rule);
  else
    return rule.text.empty() ? type_text(T{}) : fmt::format("{}, {}", type_text(T{}), rule.text);
}

template <class T>
void check(const Rule<T>& rule, const T& value) {
  if (rule.holds && !rule.holds(value)) throw BadValue{"is not allowed"};
}
template <class T>
void check(const Rule<T>& rule, const std::vector<T>& values) {
  for (const auto& value : values) check(rule, value);
}

template <class S, class T>
Field<S> field(std::string_view key, T S::*member, std::string_view meaning,
               Rule<Element<T>> rule = {}, Condition<S> condition = {}) {
  auto values = values_text<T>(rule);
  auto set = [member, rule = std::move(rule)](S& section, std::string_view text) {
    T value{};
    parse_value(text, value);
    check(rule, value);
    section.*member = std::move(value);
  };
  auto reset = [member](S& section) { section.*member = S{}.*member; };
  auto text = [member](const S& section) { return print_value(section.*member); };
  return {key, meaning, std::move(values), condition, std::move(set), reset, text};
}

/// One that is given in bytes, with a unit or without.
template <class S>
Field<S> bytes_field(std::string_view key, std::int64_t S::*member, std::string_view meaning,
                     Rule<std::int64_t> rule) {
  auto made = field(key, member, meaning, std::move(rule));
  made.values += "; K, M, G and T are powers of 1024";
  made.set = [set = std::move(made.set)](S& section, std::string_view text) {
    std::int64_t bytes = 0;
    parse_bytes(text, bytes);
    set(section, print_value(bytes));
  };
  return made;
}

}  // namespace satrap::config
