// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace ruvd::federation {

// What is known about the channel of a link, over TLS or otherwise. Certificates are identified by
// the SHA-256 of their DER encoding. This is a plain value.
struct LinkChannel {
  // The certificate whose key the peer proved to TLS; nullopt on a plain link
  std::optional<Digest> peer_certificate;
  // This node's certificates that the peer may have seen: the current one, and earlier ones that
  // stayed in use for a moment after a key change. Empty on a plain link
  std::vector<Digest> own_certificates;
  // True if the link runs through a relay: there is no TLS between both ends, and their nonces are
  // the public keys of a SealedChannel
  bool relayed = false;
  // The part of the peer's network address that one host cannot change at will; zero if it is not
  // known. A node that gets links from many sources is fair to them.
  std::array<uint8_t, 16> source{};
};

}  // namespace ruvd::federation
