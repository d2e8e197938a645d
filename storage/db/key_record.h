// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "privacy/seal/data_key.h"

namespace ruvd::storage {

// A row of the family "key": a data key before the node's key seals it.
struct KeyRecord {
  enum class State : uint8_t {
    kActive = 1,     // seals new values of its scope; there is at most one
    kRetired = 2,    // opens older values until they are sealed anew with the active one
    kDestroyed = 3,  // erased: its values can never be read again
  };
  State state = State::kActive;
  int64_t created_ms = 0;
  std::string scope;                    // "family/vec", "user/alice", "collection/0"
  std::optional<privacy::DataKey> key;  // absent when it was destroyed
};

// Returns u8 version (1) | u8 state | u16 length of the scope | i64 created ms | scope | 32 bytes
// of key, absent when it was destroyed. The caller must wipe the result.
std::string EncodeKeyRecord(const KeyRecord& record);

// Returns STORE_CORRUPT for bytes that EncodeKeyRecord did not make.
absl::StatusOr<KeyRecord> DecodeKeyRecord(std::string_view bytes);

// Returns the row's key: the number of the data key, big-endian.
std::string KeyRowKey(uint64_t id);

}  // namespace ruvd::storage
