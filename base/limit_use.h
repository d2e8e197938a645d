// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string_view>

namespace ruvd {

// What counts for itself against a limit.
enum class LimitScope : uint8_t {
  kSystem,           // all together
  kUnauthenticated,  // all that have proved nothing yet
  kSource,           // an address, or a network of addresses
  kOrigin,           // a member, by what it signs
  kLink,             // a connection, or a link between two nodes
};

// A limit that protects a node, and what became of it since the start. The texts are literals.
struct LimitUse {
  std::string_view name;  // of lower-case letters, digits and _, for a metric's label
  LimitScope scope = LimitScope::kSystem;
  std::string_view unit;  // of limit and used, such as "connections" or "frames a second"
  double limit = 0;       // 0: no number says it
  uint64_t used = 0;      // now, in all scopes together; 0 for limits of how often
  uint64_t refused = 0;   // refused, ended, displaced or put off
};

}  // namespace ruvd
