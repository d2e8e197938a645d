// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/adapter/adapter.h"
#include "privacy/consent/user_consent.h"
#include "storage/patterns/pattern.h"

namespace ruvd::serving {

// What a pattern row carries besides its embedding: the encoded adapter that serves it, and for
// sharing the core R that expresses the same change in the cluster's frame (empty if none was
// trained).
struct PatternPayload {
  std::string adapter;
  std::vector<float> core;
  // Boundaries of t, ascending within [0, 1]; if set, `core` holds one core per bank, one after the
  // other.
  std::vector<float> core_boundaries = {};
  Digest frame_id{};
  bool withheld = false;  // a client made the pattern private, so it is never shared
  // Version of the deep adapter that `adapter` was trained on top of; 0: none. The core is never
  // trained on top of it, because peers have other versions.
  uint32_t deep_version = 0;
  // The contributors whose lessons the core was trained and judged on, each once; empty: unknown.
  std::vector<privacy::Contributor> contributors = {};
  // The embedding and the adapter also hold lessons of a user who did not agree to sharing. The
  // core may still be part of a noised update, but the pattern is not shared.
  bool holds_others = false;
};

// Returns the name of a pattern's adapter; `content` is the AdapterId of its content. Different
// contents have different names, because adapters are cached by name and version.
std::string PatternAdapterName(const storage::PatternId& id, const Digest& content);

std::string EncodePatternPayload(const PatternPayload& payload);
// Decodes a payload. No bytes, as in a pattern without an adapter, give an empty payload. Returns
// STORE_CORRUPT for malformed bytes.
absl::StatusOr<PatternPayload> DecodePatternPayload(std::string_view bytes);

}  // namespace ruvd::serving
