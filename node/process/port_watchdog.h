// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "node/process/limits.h"
#include "node/process/node_health.h"
#include "node/transport/port_dial.h"

namespace ruvd::node {

// How a node watches its own ports; tests have other values.
struct PortWatchOptions {
  Duration interval = limits::kPortDial;  // between two looks at all ports
  std::chrono::milliseconds patience = limits::kPortPatience;
  int failures = limits::kPortFailures;  // dials in a row that fail: the port is deaf
  std::function<void()> on_look;         // called after each look; may be null
};

// A port, and how it is dialled.
struct WatchedPort {
  std::string name;  // as in the status: api, federation
  // Called one at a time, on the thread of Look.
  std::function<transport::DialResult()> dial;
};

// Finds out whether the node's own ports still serve, so that the process can end for the service
// manager once one is deaf: an accept loop that stands still, or a server that takes connections
// and answers none. A port is deaf after some dials in a row that showed no sign of life. It counts
// dials and not time, because a machine that slept, or a process that was stopped, heard nothing
// meanwhile. A port that never showed one in this process is no failure: a restart would change
// nothing, for ever. It has no thread of its own. Thread-safe, except that one thread calls Look.
class PortWatchdog {
 public:
  // `clock` is borrowed; it only says since when a port does not answer. `failures` is at least 1.
  PortWatchdog(std::vector<WatchedPort> ports, int failures, const Clock& clock);

  // Dials every port once, one after the other, so that one descriptor is enough. Blocks as long as
  // the dials do.
  void Look();

  // Returns one part for each port, "port api", whose problem says since when it does not answer,
  // or that no caller finds it, which is a problem and no failure.
  std::vector<PartHealth> Parts() const;
  // Returns lines for the log, each once: ports that are not watched, because no dial of many in a
  // row got to them.
  std::vector<std::string> TakeNotes();
  // Returns PORT_DEAF once a port is deaf, for good: what is deaf, since when, and what to do.
  absl::Status failure() const;

 private:
  struct State {
    int failures = 0;  // in a row
    int64_t since_ms = 0;
    std::string detail;
    int unknown = 0;  // dials in a row that say nothing
    bool was_alive = false;
  };
  std::string ProblemOf(const State& state) const;
  void Hear(size_t port, const transport::DialResult& result) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::vector<WatchedPort> ports_;
  const int failures_;
  const Clock& clock_;
  mutable Mutex mutex_;
  std::vector<State> states_ ABSL_GUARDED_BY(mutex_);  // of ports_
  std::vector<std::string> notes_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::node
