// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/connection_table.h"

#include <algorithm>

namespace ruvd::transport {

std::string_view ConnectionEndName(ConnectionEnd end) {
  switch (end) {
    case ConnectionEnd::kPortFull:
      return "port_full";
    case ConnectionEnd::kStrangersFull:
      return "strangers_full";
    case ConnectionEnd::kUnprovenTooLong:
      return "unproven_too_long";
    case ConnectionEnd::kUnprovenBytes:
      return "unproven_bytes";
    case ConnectionEnd::kNoDescriptor:
      return "no_descriptor";
  }
  return "unknown";
}

bool ConnectionTable::Add(const PeerAddress& peer, TimePoint now, std::vector<Ended>* ended) {
  Remove(peer);  // the number of a port is used again before its former connection was seen to end
  const PeerSource source = SourceOf(peer);
  const auto own = strangers_.find(source);
  if (own != strangers_.end() && own->second.size() >= limits_.unproven_of_source) {
    EndOldest(source, ended);
  } else if (unproven_ >= limits_.unproven) {
    EndOldest(MostCrowded(), ended);
  }
  if (connections_.size() >= limits_.connections) {
    if (unproven_ == 0) {
      return false;
    }
    EndOldest(MostCrowded(), ended);
  }
  const uint64_t number = ++next_;
  connections_.emplace(peer, Connection{.opened = now, .number = number});
  strangers_[source].emplace(number, peer);
  ++unproven_;
  return true;
}

void ConnectionTable::Remove(const PeerAddress& peer) {
  const auto found = connections_.find(peer);
  if (found == connections_.end()) {
    return;
  }
  if (!found->second.proven) {
    ForgetStranger(peer, found->second);
  }
  connections_.erase(found);
}

void ConnectionTable::Prove(const PeerAddress& peer) {
  const auto found = connections_.find(peer);
  if (found != connections_.end() && !found->second.proven) {
    found->second.proven = true;
    ForgetStranger(peer, found->second);
  }
}

void ConnectionTable::ForgetStranger(const PeerAddress& peer, const Connection& connection) {
  const auto source = strangers_.find(SourceOf(peer));
  source->second.erase(connection.number);
  if (source->second.empty()) {
    strangers_.erase(source);
  }
  --unproven_;
}

void ConnectionTable::EndOldest(const PeerSource& source, std::vector<Ended>* ended) {
  const PeerAddress oldest = strangers_.at(source).begin()->second;
  ended->push_back({oldest, ConnectionEnd::kStrangersFull});
  Remove(oldest);
}

PeerSource ConnectionTable::MostCrowded() const {
  return std::ranges::max_element(strangers_, {},
                                  [](const auto& source) { return source.second.size(); })
      ->first;
}

std::vector<ConnectionTable::Ended> ConnectionTable::TakeOverdue(TimePoint now,
                                                                 const BytesOf& bytes_of) {
  std::vector<Ended> ended;
  for (const auto& [source, strangers] : strangers_) {
    for (const auto& [number, peer] : strangers) {
      if (connections_.at(peer).opened + limits_.unproven_life <= now) {
        ended.push_back({peer, ConnectionEnd::kUnprovenTooLong});
      } else if (bytes_of(peer).value_or(0) > limits_.unproven_bytes) {
        ended.push_back({peer, ConnectionEnd::kUnprovenBytes});
      }
    }
  }
  for (const Ended& one : ended) {
    Remove(one.peer);
  }
  return ended;
}

}  // namespace ruvd::transport
