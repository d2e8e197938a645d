// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/gossip/item.h"
#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd {

// Range-based set reconciliation (Meyer 2022; negentropy) over item ids: two nodes compare
// fingerprints of id ranges, split those that differ, and list small ones. Stateless: each message
// is answered from the current items. Traffic grows with the difference, not with the set.
using Fingerprint = std::array<uint8_t, 16>;

// First 16 bytes of SHA-256(sum of the ids mod 2^256, little endian || u64 count). Ids are hashes
// of signed messages, so nobody can choose them to cancel out.
Fingerprint FingerprintOf(std::map<Digest, Item>::const_iterator begin,
                          std::map<Digest, Item>::const_iterator end);

// The opening message: one fingerprint over everything.
federation::v1::ReconMessage OpenReconciliation(const std::map<Digest, Item>& items);

struct ReconAnswer {
  federation::v1::ReconMessage message;  // nothing to send if it has no ranges
  std::vector<Digest> missing;           // the peer has them, we do not
  std::vector<Digest> surplus;           // we have them, the peer does not
};

// Answers a message. Ranges must ascend without overlap, so that the work is linear in the items.
// What does not fit into a frame is left to the next exchange. ENVELOPE_MALFORMED,
// LIMIT_EXCEEDED.
absl::StatusOr<ReconAnswer> AnswerReconciliation(const std::map<Digest, Item>& items,
                                                 const federation::v1::ReconMessage& message);

}  // namespace ruvd
