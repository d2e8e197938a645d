// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ruvd::openai {

// A name under which a node serves: its model, or the model with one adapter.
struct ModelEntry {
  std::string id;        // "MODEL" or "MODEL:ADAPTER"
  int64_t created = 0;   // seconds since the Unix epoch
  uint32_t context = 0;  // most tokens of prompt and completion together
  std::string adapter;   // empty: the model as configured
  uint32_t version = 0;  // of the adapter
};

// Returns the answer to GET /v1/models.
std::string ModelsAnswer(std::span<const ModelEntry> models);
// Returns the answer to GET /v1/models/ID; nullopt for an unknown name.
std::optional<std::string> ModelAnswer(std::span<const ModelEntry> models, std::string_view id);

}  // namespace ruvd::openai
