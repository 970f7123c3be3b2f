#include "config/config.hpp"
#include "config/value.hpp"
#include "core/error.hpp"

namespace satrap::config {

// Not left to Boost's command line parser, which refuses "--key=" (an empty value, which sets a
// list back to nothing) and takes a following option for a value.
CommandLine parse_command_line(const std::vector<std::string>& args) {
  CommandLine result;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "--") {
      result.rest.insert(result.rest.end(), args.begin() + static_cast<std::ptrdiff_t>(i),
                         args.end());
      break;
    }
    const auto equals = arg.find('=');
    const auto option = std::string_view(arg).substr(0, equals);
    if (!option.starts_with("--") || option.find('.') == option.npos) {
      result.rest.push_back(arg);
      continue;
    }
    std::string value;
    if (equals != arg.npos) {
      value = arg.substr(equals + 1);
    } else if (i + 1 < args.size() && !args[i + 1].starts_with("--")) {
      value = args[++i];
    } else {
      throw ConfigError(fmt::format("command line: {} has no value", option), {},
                        fmt::format("write {}=VALUE", option));
    }
    result.settings.push_back(
        {std::string(option.substr(2)), std::string(trim(value)), kCommandLine});
  }
  return result;
}

}  // namespace satrap::config
