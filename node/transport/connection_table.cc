// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/connection_table.h"

namespace ruvd::transport {
namespace {

// Sources whose last connections are remembered; if there are more, all are forgotten.
constexpr size_t kMaxRememberedSources = 4096;

}  // namespace

std::string_view ConnectionEndName(ConnectionEnd end) {
  switch (end) {
    case ConnectionEnd::kPortFull:
      return "port_full";
    case ConnectionEnd::kTooOften:
      return "too_often";
    case ConnectionEnd::kStrangersFull:
      return "strangers_full";
    case ConnectionEnd::kSourceFull:
      return "source_full";
    case ConnectionEnd::kUnprovenTooLong:
      return "unproven_too_long";
    case ConnectionEnd::kUnprovenBytes:
      return "unproven_bytes";
    case ConnectionEnd::kReplaced:
      return "replaced";
    case ConnectionEnd::kNoDescriptor:
      return "no_descriptor";
    case ConnectionEnd::kForeignUser:
      return "foreign_user";
    case ConnectionEnd::kHeldPort:
      return "held_port";
  }
  return "unknown";
}

std::optional<ConnectionEnd> ConnectionTable::Add(const PeerAddress& peer, TimePoint now,
                                                  std::vector<Ended>* ended) {
  const PeerSource source = SourceOf(peer);
  if (!TakeTurn(source, now)) {
    return ConnectionEnd::kTooOften;
  }
  if (opened_.contains(peer)) {  // to another address of this machine, or its end is not known yet
    ended->push_back({peer, ConnectionEnd::kReplaced});
    Remove(peer);
  }
  if (strangers_.CountOf(source) >= limits_.unproven_of_source) {
    EndStranger(strangers_.OldestOf(source), ConnectionEnd::kSourceFull, ended);
  } else if (strangers_.size() >= limits_.unproven) {
    EndStranger(strangers_.OldestOfMost(), ConnectionEnd::kStrangersFull, ended);
  }
  if (opened_.size() >= limits_.connections) {
    if (strangers_.size() == 0) {
      return ConnectionEnd::kPortFull;
    }
    EndStranger(strangers_.OldestOfMost(), ConnectionEnd::kStrangersFull, ended);
  }
  opened_.emplace(peer, Connection{.since = now});
  strangers_.Add(peer, source);
  return std::nullopt;
}

bool ConnectionTable::TakeTurn(const PeerSource& source, TimePoint now) {
  if (turns_.size() >= kMaxRememberedSources && !turns_.contains(source)) {
    turns_.clear();  // each of them gets a burst again, which the other limits bear
  }
  return turns_
      .try_emplace(source, TokenBucket(limits_.opened_per_second, limits_.opened_burst, now))
      .first->second.Take(now);
}

void ConnectionTable::EndStranger(const std::optional<PeerAddress>& stranger, ConnectionEnd why,
                                  std::vector<Ended>* ended) {
  ended->push_back({*stranger, why});
  Remove(*stranger);
}

void ConnectionTable::Remove(const PeerAddress& peer) {
  opened_.erase(peer);
  strangers_.Remove(peer);
}

bool ConnectionTable::Prove(const PeerAddress& peer) {
  const bool unproven = IsUnproven(peer);
  strangers_.Remove(peer);
  return unproven;
}

bool ConnectionTable::Unprove(const PeerAddress& peer, TimePoint now, uint64_t bytes) {
  const auto opened = opened_.find(peer);
  if (opened == opened_.end() || IsUnproven(peer)) {
    return false;
  }
  opened->second = {.since = now, .bytes = bytes};
  strangers_.Add(peer, SourceOf(peer));
  return true;
}

bool ConnectionTable::IsTooMuch(const PeerAddress& peer, uint64_t bytes) const {
  return IsUnproven(peer) && bytes > opened_.at(peer).bytes + limits_.unproven_bytes;
}

std::vector<ConnectionTable::Ended> ConnectionTable::TakeOverdue(TimePoint now,
                                                                 const BytesOf& bytes_of) {
  std::vector<Ended> ended;
  strangers_.ForEach([&](const PeerAddress& peer) {
    if (opened_.at(peer).since + limits_.unproven_life <= now) {
      ended.push_back({peer, ConnectionEnd::kUnprovenTooLong});
    } else if (IsTooMuch(peer, bytes_of(peer).value_or(0))) {
      ended.push_back({peer, ConnectionEnd::kUnprovenBytes});
    }
  });
  for (const Ended& one : ended) {
    Remove(one.peer);
  }
  return ended;
}

}  // namespace ruvd::transport
