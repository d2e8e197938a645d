// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"
#include "storage/db/column_family.h"

namespace ruvd {

// The bytes of a row's value: u8 format (1) | u32 schema | u32 generation | sealed plaintext. The
// header is in clear, so that a reader knows what to authenticate, and part of the seal's context,
// so that it cannot be altered.
inline constexpr uint8_t kStoredValueFormat = 1;
inline constexpr size_t kStoredValueHeaderBytes = 9;
inline constexpr size_t kStoredValueOverheadBytes = kStoredValueHeaderBytes + kSealOverheadBytes;

struct OpenedValue {
  std::string plaintext;
  uint32_t schema = 0;
  uint32_t generation = 0;
};

std::string EncodeStoredValue(const SealKey& key, ColumnFamily family, std::string_view row_key,
                              uint32_t schema, uint32_t generation, std::string_view plaintext);

// SEAL_BROKEN for bytes that EncodeStoredValue did not make for this row with this key, or whose
// generation is not the expected one: then an older value of the row was put back.
absl::StatusOr<OpenedValue> DecodeStoredValue(
    const SealKey& key, ColumnFamily family, std::string_view row_key, std::string_view stored,
    std::optional<uint32_t> expected_generation = std::nullopt);

}  // namespace ruvd
