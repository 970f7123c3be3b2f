#include "data/synthetic.hpp"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "core/error.hpp"
#include "data/text_sink.hpp"

namespace satrap::data {

namespace {

void append_row(fmt::memory_buffer& text, const TeacherSample& sample) {
  auto out = std::back_inserter(text);
  *out++ = sample.label ? '1' : '0';
  for (const std::int64_t x : sample.integers) fmt::format_to(out, "\t{}", x);
  for (const std::uint32_t id : sample.categories) fmt::format_to(out, "\t{:08x}", id);
  *out++ = '\n';
}

template <class OnSample>
void write_split(const Teacher& teacher, Teacher::Split split, const std::string& path,
                 std::int64_t samples, OnSample on_sample) {
  TextSink sink(path);
  fmt::memory_buffer text;
  for (std::int64_t i = 0; i < samples; ++i) {
    const TeacherSample sample = teacher.draw(split, i);
    on_sample(sample);
    text.clear();
    append_row(text, sample);
    sink.write({text.data(), text.size()});
  }
  sink.commit();
}

}  // namespace

metrics::Evaluation make_synthetic_data(const SyntheticOptions& options) {
  if (options.train_samples < 0 || options.valid_samples < 0) {
    throw ConfigError("the number of samples must not be negative");
  }
  const Teacher teacher(options.teacher);
  write_split(teacher, Teacher::Split::train, options.train_path, options.train_samples,
              [](const TeacherSample&) {});
  std::vector<metrics::Scored> scored;
  write_split(teacher, Teacher::Split::valid, options.valid_path, options.valid_samples,
              [&](const TeacherSample& sample) {
                scored.push_back({static_cast<float>(sample.logit), sample.label ? 1.0f : 0.0f});
              });
  return metrics::evaluate(scored);
}

}  // namespace satrap::data
