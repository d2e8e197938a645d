// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/adapter/adapter.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/frame_set.h"
#include "inference/model/model.h"
#include "privacy/consent/user_consent.h"
#include "storage/patterns/pattern.h"

namespace ruvd::serving {

// What a pattern row carries besides its embedding.
struct PatternPayload {
  // The adapter that serves the pattern: its encoding (EncodeAdapter), or cores in the frame of the
  // cluster's nodes, which take a fifth to a tenth of the space. Both are empty in a pattern
  // without an adapter. Cores are stored in eight bits, so their values must be on that grid
  // (ToGrid).
  std::string adapter;
  std::optional<inference::CoreSet> cores = std::nullopt;
  bool withheld = false;  // a client made the pattern private, so it is never shared
  // Version of the deep adapter on top of which the adapter was last measured; 0: none.
  uint32_t deep_version = 0;
  // The contributors whose lessons the adapter was trained and measured on, each once; empty:
  // unknown.
  std::vector<privacy::Contributor> contributors = {};
  // Whether the cores may be shared as far as their training goes: all of these contributors agreed
  // to sharing, and no adapter that other nodes lack acted beneath the cores.
  bool shareable = false;
  // Whether the adapter is a LoRA although its node shares patterns, because a contributor did not
  // agree, or cores gained nothing.
  bool stays_here = false;
};

// Returns the name of a pattern's adapter; `content` is the AdapterId of its content. Different
// contents have different names, because adapters are cached by name and version.
std::string PatternAdapterName(const storage::PatternId& id, const Digest& content);

std::string EncodePatternPayload(const PatternPayload& payload);
// Decodes a payload. No bytes, as in a pattern without an adapter, give an empty payload. Returns
// STORE_CORRUPT for malformed bytes.
absl::StatusOr<PatternPayload> DecodePatternPayload(std::string_view bytes);

// Returns the adapter of a pattern, with the name and version of its row; null if it has none.
// `frame` is that of this node, or null. Returns FRAME_MISMATCH for cores of another frame, and the
// errors of DecodeAdapter, AdapterFromCores and CheckAdapter.
absl::StatusOr<std::shared_ptr<const inference::Adapter>> AdapterOfPattern(
    const storage::Pattern& pattern, const PatternPayload& payload, const inference::Model& model,
    const inference::FrameSet* frame);

}  // namespace ruvd::serving
