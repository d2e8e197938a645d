// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/status.h"

namespace ruvd::client {

// How a client reaches a node beyond its address.
struct ClientCredentials {
  bool tls = false;
  std::string roots;  // PEM of whom the server's certificate is trusted by; empty: the system's
  std::string token;  // sent with every call, over TLS only; empty: none
  // Why the files that were named are of no use: what every call fails with. Verbs that call
  // nobody do not care.
  absl::Status problem;
};

}  // namespace ruvd::client
