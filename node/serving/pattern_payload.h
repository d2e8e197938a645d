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

// What a pattern row carries besides its embedding: the encoded adapter that serves it, and the
// R-core that says the same in the cluster's frame, for sharing (empty where none was trained).
struct PatternPayload {
  std::string adapter;
  std::vector<float> core;
  // Of t, ascending within 0 to 1: then `core` holds one core for each bank, one after the other.
  std::vector<float> core_boundaries = {};
  Digest frame_id{};
  bool withheld = false;  // a client made the pattern private: never to be shared
  // Of the adapter that deep rounds publish, on top of which `adapter` was trained; 0: without.
  // The core never is: peers have other versions.
  uint32_t deep_version = 0;
  // Whose lessons the core was trained and judged on (node/actors/contributors.h), each once;
  // empty: nobody knows.
  std::vector<privacy::Contributor> contributors = {};
  // The embedding and the adapter also hold lessons of somebody who did not agree to sharing: the
  // core may be part of a noised update, the pattern stays.
  bool holds_others = false;
};

// The name of a pattern's adapter, of its content's AdapterId: no two contents share one, because
// those who serve adapters keep them by name and version.
std::string PatternAdapterName(const storage::PatternId& id, const Digest& content);

std::string EncodePatternPayload(const PatternPayload& payload);
// No bytes, as of a pattern without an adapter, are an empty payload. STORE_CORRUPT for bytes that
// are none.
absl::StatusOr<PatternPayload> DecodePatternPayload(std::string_view bytes);

}  // namespace ruvd::serving
