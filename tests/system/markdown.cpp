#include "system/markdown.hpp"

#include <cctype>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace satrap::test {

namespace {

std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ') {
      anchor += '-';
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return anchor;
}

std::string directive_of(const std::string& line) {
  static const std::regex comment("<!-- (.*) -->");
  std::smatch match;
  return std::regex_match(line, match, comment) ? match[1].str() : std::string();
}

std::vector<std::string> links_of(const std::string& prose) {
  static const std::regex link(R"(\]\(([^)\s]+)\)|(?:^|\n)\[[^\]\n]+\]: (\S+))");
  std::vector<std::string> links;
  for (std::sregex_iterator it(prose.begin(), prose.end(), link), end; it != end; ++it) {
    links.push_back((*it)[1].matched ? (*it)[1] : (*it)[2]);
  }
  return links;
}

}  // namespace

Page::Page(const std::filesystem::path& file) : path(file) {
  std::ifstream in(file);
  text.assign(std::istreambuf_iterator<char>(in), {});
  std::istringstream lines(text);
  std::string before;
  bool fenced = false;
  int number = 0;
  for (std::string line; std::getline(lines, line); before = line) {
    ++number;
    if (line.starts_with("```")) {
      fenced = !fenced;
      if (fenced) blocks.push_back({line.substr(3), directive_of(before), {}, number});
    } else if (fenced) {
      blocks.back().text += line + "\n";
    } else {
      prose += line + "\n";
      const auto blank = line.find(' ');
      if (line.starts_with("#") && blank != line.npos) {
        anchors.insert(anchor_of(line.substr(blank + 1)));
      }
    }
  }
  if (fenced) throw std::runtime_error(file.string() + ": a fenced block does not end");
  links = links_of(prose);
}

}  // namespace satrap::test
