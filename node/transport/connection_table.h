// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/crowd.h"
#include "base/token_bucket.h"
#include "node/transport/peer_address.h"

namespace ruvd::transport {

// What a port allows. A connection is unproven until its other end has shown that it may use the
// port.
struct ConnectionLimits {
  size_t connections = 0;         // in total
  size_t unproven = 0;            // among them
  size_t unproven_of_source = 0;  // among these, of one source
  Duration unproven_life{};       // how long one may stay unproven
  // How much an unproven one may send, and how much of that may wait to be read
  uint64_t unproven_bytes = 0;
  int unproven_buffer = 0;
  // New connections of one source
  double opened_per_second = 0;
  double opened_burst = 0;
  // How long the server may be kept busy by a connection that it takes over while others wait. It
  // parses the largest request in a tenth of a second.
  Duration hand_over = std::chrono::seconds(2);
};

// Why a connection was refused or ended.
enum class ConnectionEnd : uint8_t {
  kPortFull,         // all connections are proven
  kTooOften,         // its source opens more than opened_per_second
  kStrangersFull,    // it was the oldest unproven one of the source with the most of them
  kSourceFull,       // it was the oldest unproven one of a source that opened too many
  kUnprovenTooLong,  // it stayed unproven for longer than unproven_life
  kUnprovenBytes,    // it sent more than unproven_bytes
  kReplaced,         // the same address and port opened another one
  kNoDescriptor,     // the process has no descriptor left
  kForeignUser,      // another user of the machine opened it to the unix socket
  kHeldPort,         // it kept the server from taking over others for longer than hand_over
};
inline constexpr size_t kConnectionEnds = 10;
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
  // Adds a connection, or returns why it is refused. `ended` gets those that must end for it; they
  // are no longer in the table.
  std::optional<ConnectionEnd> Add(const PeerAddress& peer, TimePoint now,
                                   std::vector<Ended>* ended);
  void Remove(const PeerAddress& peer);
  // Notes that the other end may use the port; returns false for a connection that is not there, or
  // is proven already.
  bool Prove(const PeerAddress& peer);
  // Takes that back: it has to prove itself anew, within unproven_life from now and unproven_bytes
  // more than the `bytes` that it has sent. Returns false for a connection that is not there, or is
  // unproven.
  bool Unprove(const PeerAddress& peer, TimePoint now, uint64_t bytes);
  // Returns whether an unproven connection has sent too much.
  bool IsTooMuch(const PeerAddress& peer, uint64_t bytes) const;
  bool IsUnproven(const PeerAddress& peer) const { return strangers_.Contains(peer); }
  // Returns unproven connections that are too old, or have sent too much by `bytes_of` (nullopt:
  // not known), and removes them.
  using BytesOf = std::function<std::optional<uint64_t>(const PeerAddress&)>;
  std::vector<Ended> TakeOverdue(TimePoint now, const BytesOf& bytes_of);

  size_t size() const { return opened_.size(); }
  size_t unproven() const { return strangers_.size(); }

 private:
  // Whether a source may open one more connection now.
  bool TakeTurn(const PeerSource& source, TimePoint now);
  void EndStranger(const std::optional<PeerAddress>& stranger, ConnectionEnd why,
                   std::vector<Ended>* ended);

  const ConnectionLimits limits_;
  struct Connection {
    TimePoint since;     // it was opened, or its proof was taken back
    uint64_t bytes = 0;  // that it had sent then
  };
  std::map<PeerAddress, Connection> opened_;  // all connections
  Crowd<PeerAddress, PeerSource> strangers_;  // the unproven ones
  std::map<PeerSource, TokenBucket> turns_;   // of sources that opened connections lately
};

}  // namespace ruvd::transport
