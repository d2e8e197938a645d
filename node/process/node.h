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

// A running node: the composition of all rooms. Owns every thread, socket and file.
class Node {
 public:
  // Opens the store, loads the model, starts actors and servers. On error nothing is left running
  // and the message says what to change.
  static absl::StatusOr<std::unique_ptr<Node>> Start(const config::NodeConfig& config);
  virtual ~Node() = default;

  // Where the services listen, with the real ports.
  virtual std::string api_address() const = 0;
  virtual std::string federation_address() const = 0;  // "" when off
  virtual std::string metrics_address() const = 0;     // "" when off
  // Hexadecimal node id.
  virtual std::string id() const = 0;

  // Takes new credentials without a restart: another TLS key for links, and the client API's tokens
  // as its file has them now. On an error (the tokens' file is unusable) the former ones stay.
  // Thread-safe.
  virtual absl::Status ReloadCredentials() = 0;

  // Graceful stop: not ready, refuse new work, finish streams, flush, close. Whatever is not
  // finished at the deadline is cancelled. OK if nothing accepted was lost.
  virtual absl::Status Drain(Duration deadline) = 0;
};

}  // namespace ruvd::node
