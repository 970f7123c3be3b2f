#include "comm/ring/layout.hpp"

#include <set>
#include <utility>

#include "core/error.hpp"

namespace satrap::comm {

namespace {

constexpr std::int64_t kMinRing = 4096;

void check_links(const std::vector<Link>& links, int ranks) {
  std::set<std::pair<WorldRank, WorldRank>> seen;
  for (const Link& link : links) {
    const auto name = fmt::format("link from rank {} to rank {}", raw(link.from), raw(link.to));
    for (const int rank : {raw(link.from), raw(link.to)}) {
      if (rank < 0 || rank >= ranks) {
        throw InternalError(name, fmt::format("there are {} ranks", ranks));
      }
    }
    if (link.bytes < kMinRing || link.bytes % kRingLine != 0) {
      throw InternalError(fmt::format("{} with a ring of {} bytes", name, link.bytes),
                          fmt::format("not a multiple of {} of at least {}", kRingLine, kMinRing),
                          "change transport.ring_bytes");
    }
    if (!seen.emplace(link.from, link.to).second) throw InternalError(name, "given twice");
  }
}

}  // namespace

Layout::Layout(const std::vector<Link>& links, int ranks)
    : places_(links.size()), landing_(static_cast<std::size_t>(ranks), 0) {
  check_links(links, ranks);
  const auto take = [&](WorldRank rank, std::int64_t bytes) {
    return std::exchange(landing_[static_cast<std::size_t>(raw(rank))],
                         landing_[static_cast<std::size_t>(raw(rank))] + bytes);
  };
  for (std::size_t i = 0; i < links.size(); ++i) places_[i].control = take(links[i].to, kRingLine);
  for (std::size_t i = 0; i < links.size(); ++i) places_[i].credit = take(links[i].from, kRingLine);
  for (std::size_t i = 0; i < links.size(); ++i)
    places_[i].ring = take(links[i].to, links[i].bytes);
}

}  // namespace satrap::comm
