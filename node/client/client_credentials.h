// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/status.h"

namespace ruvd::client {

// The TLS settings and the key of a client.
struct ClientCredentials {
  bool tls = false;
  std::string roots;  // PEM of the trusted root certificates; empty: the roots of the system
  std::string key;    // sent with every call, over TLS only; empty: no key
  // The error of the named files, which every call returns. Verbs that make no calls ignore it.
  absl::Status problem;
};

}  // namespace ruvd::client
