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

// A noised update as it leaves a node: whole numbers and what they are multiples of, nothing else.
// docs/wire-format.md has the bytes. A plain value.
struct ReleasePayload {
  PrivacyUnit unit = PrivacyUnit::kNode;  // whose presence the noise hides
  Digest layout{};                        // MaskLayout::Hash of what the values mean
  int32_t exponent = 0;                   // a value is units * 2^exponent
  uint32_t clip_units = 0;
  uint32_t sigma_units = 0;
  std::vector<int32_t> units;

  std::string Encode() const;
  // UPDATE_INVALID unless the bytes are exactly one encoded payload, LIMIT_EXCEEDED for more than
  // kMaxMaskedValues.
  static absl::StatusOr<ReleasePayload> Parse(std::span<const uint8_t> bytes);
  bool operator==(const ReleasePayload&) const = default;
};

// What a person is shown before bytes leave: each field by its name, then all bytes in
// hexadecimal. Errors of Parse.
absl::StatusOr<std::string> PreviewText(std::span<const uint8_t> payload);

}  // namespace ruvd::privacy
