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
#include "storage/db/key_ring.h"

namespace ruvd::storage {

// The value of a row is sealed by a data key:
//   u8 format (2) | u32 schema | u32 generation | u64 number of the data key | sealed plaintext
// or by the node's key (wrapped data keys, the check row, the places of sweeps):
//   u8 format (1) | u32 schema | u32 generation | sealed plaintext
// The header is not encrypted, so that a reader knows what to authenticate. It is part of the
// seal's context, so it cannot be changed.
inline constexpr uint8_t kNodeSealedFormat = 1;
inline constexpr uint8_t kKeySealedFormat = 2;
inline constexpr size_t kNodeSealedHeaderBytes = 9;
inline constexpr size_t kKeySealedHeaderBytes = 17;
inline constexpr size_t kStoredValueOverheadBytes =
    kKeySealedHeaderBytes + privacy::kSealOverheadBytes;

struct OpenedValue {
  std::string plaintext;
  uint32_t schema = 0;
  uint32_t generation = 0;
};

struct StoredHeader {
  uint8_t format = 0;
  uint32_t schema = 0;
  uint32_t generation = 0;
  uint64_t key_id = 0;  // 0 in format 1
  size_t bytes = 0;     // length of the header
};

std::string EncodeStoredValue(const privacy::SealKey& key, ColumnFamily family,
                              std::string_view row_key, uint32_t schema, uint32_t generation,
                              std::string_view plaintext);
std::string EncodeStoredValue(const KeyRing::Held& key, ColumnFamily family,
                              std::string_view row_key, uint32_t schema, uint32_t generation,
                              std::string_view plaintext);

// Returns the content of the header, unauthenticated. Returns SEAL_BROKEN for an unknown format.
absl::StatusOr<StoredHeader> DecodeStoredHeader(ColumnFamily family, std::string_view row_key,
                                                std::string_view stored);

// Opens a stored value. Returns SEAL_BROKEN for bytes that EncodeStoredValue did not make for this
// row with one of these keys, and for another generation than the expected one: then an older value
// of the row was put back. Returns KEY_DESTROYED (not found) for an erased value. `node_key` or
// `ring` may be null: values of its format are then SEAL_BROKEN.
absl::StatusOr<OpenedValue> DecodeStoredValue(
    const privacy::SealKey* node_key, const KeyRing::View* ring, ColumnFamily family,
    std::string_view row_key, std::string_view stored,
    std::optional<uint32_t> expected_generation = std::nullopt);

}  // namespace ruvd::storage
