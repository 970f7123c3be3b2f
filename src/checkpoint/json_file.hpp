#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace satrap::checkpoint {

// JSON files that guard themselves: the member "checksum" is the XXH3 of the document without it,
// printed with sorted names and no spaces, as 16 hexadecimal digits. Members "format" and "version"
// say how to read the rest.

/// 16 hexadecimal digits, for JSON readers that know no 64-bit integers.
std::string to_hex(std::uint64_t value);
/// Throws std::invalid_argument or std::out_of_range if the text is anything else.
std::uint64_t from_hex(const std::string& text);

/// Adds format, version and checksum to `document` and replaces the file atomically.
void write_json(const std::filesystem::path& path, const std::string& format,
                nlohmann::json document);

/// The document, checked. Throws CheckpointError: missing, not JSON, of another format or version,
/// or its checksum differs.
nlohmann::json read_json(const std::filesystem::path& path, const std::string& format);

}  // namespace satrap::checkpoint
