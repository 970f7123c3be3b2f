#include "comm/ring/fabric.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "comm/mpi/stall_warning.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"

namespace satrap::comm {

namespace {

/// A word in the window of `rank`; null where it is not in memory that we share.
std::uint64_t* word_of(const Window& window, int rank, std::int64_t offset) {
  std::byte* data = window.data_of(rank);
  return data != nullptr ? reinterpret_cast<std::uint64_t*>(data + offset) : nullptr;
}

std::uint64_t* own_word(const Window& window, std::int64_t offset) {
  return reinterpret_cast<std::uint64_t*>(window.data() + offset);
}

/// Another process that loads `word` with acquire sees what we stored before.
void store(std::uint64_t* word, std::uint64_t value) {
  std::atomic_ref(*word).store(value, std::memory_order_release);
}

void check_same_links(const Communicator& communicator, const std::vector<Link>& links) {
  std::uint64_t hash = 0;
  for (const Link& link : links) {
    for (const std::int64_t part :
         {std::int64_t{raw(link.from)}, std::int64_t{raw(link.to)}, link.bytes}) {
      hash = mix(hash ^ static_cast<std::uint64_t>(part));
    }
  }
  const auto hashes = communicator.all_gather(static_cast<std::int64_t>(hash));
  for (std::size_t r = 0; r < hashes.size(); ++r) {
    if (hashes[r] != hashes[0]) {
      throw InternalError(fmt::format("rank {} and rank 0 pass different links", r), {},
                          "give every rank the same config");
    }
  }
}

}  // namespace

Fabric::Fabric(const Communicator& communicator, const std::vector<Link>& links,
               std::int64_t landing_bytes)
    : communicator_(communicator.duplicate()),
      layout_(links, communicator.size()),
      landing_bytes_(communicator_.all_gather(landing_bytes)) {
  check_same_links(communicator_, links);
  const StallWarning warning(
      fmt::format("rank {} of {} has waited 30 s for the other ranks to connect; if this does not "
                  "end, check that hosts reach each other and name the network that they share: "
                  "OMPI_MCA_btl_tcp_if_include=<interface or CIDR>",
                  communicator_.rank(), communicator_.size()),
      std::chrono::seconds(30));
  window_ = Window(communicator_, layout_.landing(communicator_.rank()) + landing_bytes);
  connect(links);
  check_delivery();
}

Fabric::Outgoing::Outgoing(const Link& link, const Layout::Place& at, const Window& window)
    : rank(raw(link.to)),
      place(at),
      tail(word_of(window, rank, at.control)),
      writer(link, tail != nullptr ? window.data_of(rank) + at.ring : nullptr,
             own_word(window, at.credit)) {}

Fabric::Incoming::Incoming(const Link& link, const Layout::Place& at, const Window& window)
    : rank(raw(link.from)),
      place(at),
      credit(word_of(window, rank, at.credit)),
      reader(link, window.data() + at.ring, own_word(window, at.control)) {}

void Fabric::connect(const std::vector<Link>& links) {
  const auto ranks = static_cast<std::size_t>(communicator_.size());
  outgoing_to_.assign(ranks, nullptr);
  incoming_from_.assign(ranks, nullptr);
  const WorldRank me{communicator_.rank()};
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    if (link.from == me) {
      outgoing_to_[static_cast<std::size_t>(raw(link.to))] =
          &outgoing_.emplace_back(link, layout_.of_link(i), window_);
    }
    if (link.to == me) {
      incoming_from_[static_cast<std::size_t>(raw(link.from))] =
          &incoming_.emplace_back(link, layout_.of_link(i), window_);
    }
  }
}

RingWriter& Fabric::to(WorldRank rank) {
  const auto index = static_cast<std::size_t>(raw(rank));
  if (index < outgoing_to_.size() && outgoing_to_[index]) return outgoing_to_[index]->writer;
  throw InternalError(
      fmt::format("there is no ring from rank {} to rank {}", communicator_.rank(), raw(rank)));
}

RingReader& Fabric::from(WorldRank rank) {
  const auto index = static_cast<std::size_t>(raw(rank));
  if (index < incoming_from_.size() && incoming_from_[index]) return incoming_from_[index]->reader;
  throw InternalError(
      fmt::format("there is no ring from rank {} to rank {}", raw(rank), communicator_.rank()));
}

std::span<std::byte> Fabric::landing() const noexcept {
  const std::int64_t begin = layout_.landing(communicator_.rank());
  return {window_.data() + begin, static_cast<std::size_t>(window_.size() - begin)};
}

void Fabric::put(WorldRank rank, std::int64_t offset, std::span<const std::byte> source) {
  const auto index = static_cast<std::size_t>(raw(rank));
  const auto bytes = static_cast<std::int64_t>(source.size());
  if (index >= landing_bytes_.size()) {
    throw InternalError(fmt::format("put to rank {} of {}", raw(rank), landing_bytes_.size()));
  }
  if (offset < 0 || bytes > landing_bytes_[index] || offset > landing_bytes_[index] - bytes) {
    throw InternalError(fmt::format("rank {} puts {} bytes at offset {} of rank {}'s landing zone",
                                    communicator_.rank(), bytes, offset, raw(rank)),
                        fmt::format("it has {} bytes", landing_bytes_[index]));
  }
  window_.put(raw(rank), layout_.landing(raw(rank)) + offset, source);
  unflushed_.push_back(raw(rank));
}

void Fabric::publish() {
  for (const Outgoing& out : outgoing_) {
    if (out.tail != nullptr || !out.writer.has_news()) continue;
    for (const RingWriter::Piece& piece : out.writer.news()) {
      if (!piece.bytes.empty()) window_.put(out.rank, out.place.ring + piece.offset, piece.bytes);
    }
    unflushed_.push_back(out.rank);
  }
  flush();
  publish_tails();
}

void Fabric::flush() {
  if (unflushed_.empty()) return;
  const int first = unflushed_.front();
  // Over TCP flush_all costs a message to every rank, but flushes one after the other wait for
  // each.
  if (std::ranges::all_of(unflushed_, [&](int target) { return target == first; })) {
    window_.flush(first);
  } else {
    window_.flush_all();
  }
  unflushed_.clear();
}

void Fabric::publish_tails() {
  int puts = 0;
  int target = 0;
  for (Outgoing& out : outgoing_) {
    if (!out.writer.has_news()) continue;
    const std::uint64_t& tail = out.writer.publish();
    if (out.tail != nullptr) {
      store(out.tail, tail);
    } else {
      window_.put(out.rank, out.place.control, tail);
      target = out.rank;
      ++puts;
    }
  }
  // Sends them on their way; nobody here needs to know when they arrive.
  if (puts == 1) window_.flush_local(target);
  if (puts > 1) window_.flush_local_all();
}

void Fabric::progress() {
  window_.sync();
  for (Incoming& in : incoming_) {
    if (!in.reader.owes_credit()) continue;
    const std::uint64_t& head = in.reader.give_credit();
    if (in.credit != nullptr) {
      store(in.credit, head);
    } else {
      window_.put(in.rank, in.place.credit, head);
      window_.flush_local(in.rank);
    }
  }
}

}  // namespace satrap::comm
