// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace ruvd::openai {

struct EmbeddingsRequest {
  std::vector<std::string> texts;  // at least one
  bool as_base64 = false;          // float32 in little-endian order, in base64
};

// Reads the body of POST /v1/embeddings for a model whose vectors have `dimension` numbers.
// Returns the errors of ReadChatRequest.
absl::StatusOr<EmbeddingsRequest> ReadEmbeddingsRequest(std::string_view body,
                                                        std::string_view model, uint32_t dimension);

// Returns the answer: one vector for each text, in their order.
std::string EmbeddingsAnswer(const EmbeddingsRequest& request, std::string_view model,
                             std::span<const std::vector<float>> vectors, uint64_t tokens);

}  // namespace ruvd::openai
