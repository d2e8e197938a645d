// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "privacy/masking/clique.h"

namespace ruvd::privacy::masking {

// The messages of a masked sum; docs/wire-format.md has their bytes. Offers and cliques are bodies
// of signed envelopes, a masked update is a payload. Every decoder accepts exactly what its encoder
// returns. It fails with UPDATE_INVALID for anything else and with LIMIT_EXCEEDED for too many
// values.

// A node's offer to take part in a round with a key.
struct MaskOffer {
  uint64_t round = 0;
  Digest layout{};
  MaskPublicKey key{};
  bool operator==(const MaskOffer&) const = default;
};
std::string EncodeOffer(const MaskOffer& offer);
absl::StatusOr<MaskOffer> DecodeOffer(std::span<const uint8_t> bytes);

// The list of the participants. The cluster is not in these bytes but in their envelope.
std::string EncodeClique(const Clique& clique);
absl::StatusOr<Clique> DecodeClique(std::span<const uint8_t> bytes, const ClusterId& cluster);

// A participant's share of the sum. Without all other shares it is only noise.
struct MaskedUpdate {
  uint64_t round = 0;
  NodeId sender{};
  Digest set{};  // Clique::SetHash
  Digest layout{};
  std::vector<uint32_t> values;
  bool operator==(const MaskedUpdate&) const = default;
};
std::string EncodeMaskedUpdate(const MaskedUpdate& update);
absl::StatusOr<MaskedUpdate> DecodeMaskedUpdate(std::span<const uint8_t> bytes);
// Decodes everything but the values, which stay empty; whether they are there is not checked.
absl::StatusOr<MaskedUpdate> DecodeMaskedUpdateHead(std::span<const uint8_t> bytes);

}  // namespace ruvd::privacy::masking
