#include "config/print/wrap.hpp"

namespace satrap::config {

std::string wrap(std::string_view first, std::string_view next, std::string_view text) {
  std::string page;
  std::string line(first);
  bool is_empty = true;  // of words
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    if (!is_empty && line.size() + 1 + word.size() > kPageWidth) {
      page += line + '\n';
      line = next;
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return page + line + '\n';
}

}  // namespace satrap::config
