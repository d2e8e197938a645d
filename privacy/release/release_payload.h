// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/dp/grid_release.h"
#include "privacy/ledger/ledger_entry.h"
#include "privacy/masking/clique.h"

namespace ruvd::privacy {

// A noised update as it leaves a node: whole numbers and the unit they are multiples of, and no
// other data. docs/wire-format.md has the bytes. It is a plain value.
struct ReleasePayload {
  PrivacyUnit unit = PrivacyUnit::kNode;  // whose presence the noise hides
  Digest layout{};                        // MaskLayout::Hash, which says what the values mean
  int32_t exponent = 0;                   // a value is units * 2^exponent
  uint32_t clip_units = 0;
  uint32_t sigma_units = 0;
  std::vector<int32_t> units;

  std::string Encode() const;
  // Decodes a payload. Fails with UPDATE_INVALID unless the bytes are exactly one encoded payload,
  // and with LIMIT_EXCEEDED for more than kMaxMaskedValues values.
  static absl::StatusOr<ReleasePayload> Parse(std::span<const uint8_t> bytes);
  bool operator==(const ReleasePayload&) const = default;
};

}  // namespace ruvd::privacy
