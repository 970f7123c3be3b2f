#include "job/table_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "job/json.hpp"
#include "job/text.hpp"

namespace satrap::job {

namespace {

std::optional<double> ratio(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

store::TableStatistics sum_of(std::span<const store::TableStatistics> tables) {
  store::TableStatistics sum;
  for (const auto& table : tables) sum += table;
  return sum;
}

std::optional<double> hit_rate(const store::TableStatistics& table) {
  return ratio(table.hits, table.hits + table.inserted + table.not_admitted);
}

double evicted_share(const store::TableStatistics& before, const store::TableStatistics& now) {
  if (now.evicted == before.evicted) return 0;
  const std::int64_t dropped = now.gradients_dropped - before.gradients_dropped;
  const std::int64_t applied = now.gradients_applied - before.gradients_applied;
  const std::int64_t evicted = dropped - (now.not_admitted - before.not_admitted);
  return std::max(0.0, ratio(evicted, dropped + applied).value_or(0));
}

nlohmann::json to_json(const store::TableStatistics& table) {
  return {{"rows", table.rows},
          {"capacity", table.capacity},
          {"bytes", table.bytes()},
          {"row_bytes", table.row_bytes},
          {"index_bytes", table.index_bytes},
          {"admission_bytes", table.admission_bytes},
          {"other_bytes", table.other_bytes},
          {"load", or_null(ratio(table.rows, table.slots))},
          {"searches", table.searches},
          {"mean_probe", or_null(ratio(table.probes, table.searches))},
          {"longest_probe", table.longest_probe},
          {"hits", table.hits},
          {"inserted", table.inserted},
          {"not_admitted", table.not_admitted},
          {"evicted", table.evicted},
          {"gradients_applied", table.gradients_applied},
          {"gradients_dropped", table.gradients_dropped}};
}

std::string to_text(std::span<const store::TableStatistics> tables) {
  const auto sum = sum_of(tables);
  std::string text =
      line("rows", fmt::format("{} in {} tables, {} reserved; {} evicted", grouped(sum.rows),
                               tables.size(), bytes(sum.bytes()), grouped(sum.evicted)));
  text += line("memory", fmt::format("{} rows, {} index, {} admission, {} other",
                                     bytes(sum.row_bytes), bytes(sum.index_bytes),
                                     bytes(sum.admission_bytes), bytes(sum.other_bytes)));
  std::string index = fmt::format("load {}", number(ratio(sum.rows, sum.slots), 2));
  if (sum.searches > 0) {
    index += fmt::format(", {} buckets per search, {} at most",
                         number(ratio(sum.probes, sum.searches), 2), sum.longest_probe);
  }
  text += line("index", index);
  if (!hit_rate(sum)) return text;  // Nothing was trained.
  text += line("lookups", fmt::format("{} hits, {} new rows, {} not admitted", grouped(sum.hits),
                                      grouped(sum.inserted), grouped(sum.not_admitted)));
  return text + line("row updates",
                     fmt::format("{} applied, {} dropped (no row)", grouped(sum.gradients_applied),
                                 grouped(sum.gradients_dropped)));
}

}  // namespace satrap::job
