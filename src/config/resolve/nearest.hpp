#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace satrap::config {

/// The candidate that `word` is most likely a misspelling of, by edit distance; empty if none is
/// near.
std::string_view nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "did you mean X?", or `otherwise`: the remedy of a message.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::string otherwise);

}  // namespace satrap::config
