// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/config/config.h"

namespace ruvd::node {

struct NodeTuning;

// A running node, composed of all rooms. It owns all threads, sockets and files.
class Node {
 public:
  // Opens the store, loads the model, and starts actors and servers. After an error nothing is left
  // running, and the message says what to change.
  static absl::StatusOr<std::unique_ptr<Node>> Start(const config::NodeConfig& config);
  // Does what Start does, with values that operators do not set.
  static absl::StatusOr<std::unique_ptr<Node>> StartTuned(const config::NodeConfig& config,
                                                          const NodeTuning& tuning);
  virtual ~Node() = default;

  // Return the addresses of the services, with the real ports.
  virtual std::string api_address() const = 0;
  virtual std::string http_address() const = 0;        // "" when off
  virtual std::string federation_address() const = 0;  // "" when off
  virtual std::string metrics_address() const = 0;     // "" when off
  // Returns the node id in hexadecimal.
  virtual std::string id() const = 0;

  // Reloads credentials without a restart: makes a new TLS key for links and reads the token file
  // of the client API. After an error (the token file is unusable) the former tokens stay.
  // Thread-safe.
  virtual absl::Status ReloadCredentials() = 0;

  // Returns why the node cannot go on, so that the process has to stop it and end with an error: a
  // port is deaf (PORT_DEAF). OK while it serves. Thread-safe.
  virtual absl::Status failure() const = 0;

  // Stops gracefully: reports not ready, refuses new work, finishes streams, flushes and closes.
  // Work that is not finished at the deadline is cancelled. Returns OK if no accepted work was
  // lost.
  virtual absl::Status Drain(Duration deadline) = 0;
};

}  // namespace ruvd::node
