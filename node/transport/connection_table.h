// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "node/transport/peer_address.h"

namespace ruvd::transport {

// What a port allows. A connection is unproven until its other end has shown that it may use the
// port.
struct ConnectionLimits {
  size_t connections = 0;         // in total
  size_t unproven = 0;            // among them
  size_t unproven_of_source = 0;  // among these, of one source
  Duration unproven_life{};       // how long one may stay unproven
  uint64_t unproven_bytes = 0;    // how much it may send until then
};

// Why a connection was refused or ended.
enum class ConnectionEnd : uint8_t {
  kPortFull,         // all connections are proven
  kStrangersFull,    // it was the oldest unproven one of the source with the most of them
  kUnprovenTooLong,  // it stayed unproven for longer than unproven_life
  kUnprovenBytes,    // it sent more than unproven_bytes
  kNoDescriptor,     // the process has no descriptor left
};
inline constexpr size_t kConnectionEnds = 5;
// Returns a stable lower-case name, for a metric's label.
std::string_view ConnectionEndName(ConnectionEnd end);

// The open connections of a port, and which of them have to end. It has no sockets of its own. A
// newcomer displaces unproven connections only, and first those of the source that has the most: a
// host that opens many harms itself. Not thread-safe.
class ConnectionTable {
 public:
  explicit ConnectionTable(const ConnectionLimits& limits) : limits_(limits) {}

  struct Ended {
    PeerAddress peer;
    ConnectionEnd why = ConnectionEnd::kPortFull;
  };
  // Adds a connection, unless the port is full. Returns whether it was added, and those that must
  // end for it, which are no longer in the table.
  bool Add(const PeerAddress& peer, TimePoint now, std::vector<Ended>* ended);
  void Remove(const PeerAddress& peer);
  // Notes that the other end may use the port. Does nothing for a connection that is not there.
  void Prove(const PeerAddress& peer);
  // Returns unproven connections that are too old, or have sent too much by `bytes_of` (nullopt:
  // not known), and removes them.
  using BytesOf = std::function<std::optional<uint64_t>(const PeerAddress&)>;
  std::vector<Ended> TakeOverdue(TimePoint now, const BytesOf& bytes_of);

  size_t size() const { return connections_.size(); }
  size_t unproven() const { return unproven_; }

 private:
  struct Connection {
    TimePoint opened;
    uint64_t number = 0;  // grows with every connection
    bool proven = false;
  };
  // The unproven connections of a source, by number.
  using Strangers = std::map<uint64_t, PeerAddress>;

  void ForgetStranger(const PeerAddress& peer, const Connection& connection);
  // Ends the oldest unproven connection of a source, which has one.
  void EndOldest(const PeerSource& source, std::vector<Ended>* ended);
  // Returns the source with the most unproven connections; there is one.
  PeerSource MostCrowded() const;

  const ConnectionLimits limits_;
  std::map<PeerAddress, Connection> connections_;
  std::map<PeerSource, Strangers> strangers_;
  size_t unproven_ = 0;
  uint64_t next_ = 0;
};

}  // namespace ruvd::transport
