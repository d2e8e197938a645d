// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::federation {

// An adapter that a node learned from its own lessons, with the words of these lessons, so that
// peers can serve it where words choose it.
struct SharedExpert {
  uint32_t version = 0;    // of the adapter at its node, at least 1
  uint32_t lessons = 0;    // at least 1, as claimed by its origin: shown, never trusted
  int64_t created_ms = 0;  // above 0
  // An adapter file (GGUF) with the words of its lessons. The federation does not read it: the
  // owner of the core checks it before use.
  std::string file;
  bool operator==(const SharedExpert&) const = default;
};

// Bytes of an encoded expert besides its file
inline constexpr size_t kSharedExpertHeaderBytes = 2 + 4 + 4 + 8 + 4;

// Returns UPDATE_INVALID for a number below its minimum above, and for a file that does not begin
// with "GGUF". Outgoing and incoming experts get this check.
absl::Status CheckSharedExpert(const SharedExpert& expert);

// Encodes an expert in the payload layout of docs/wire-format.md.
std::string EncodeSharedExpert(const SharedExpert& expert);
// Decodes an expert; UPDATE_INVALID for bytes that are not exactly one encoding. Sizes are checked
// before memory is allocated.
absl::StatusOr<SharedExpert> DecodeSharedExpert(std::span<const uint8_t> bytes);

}  // namespace ruvd::federation
