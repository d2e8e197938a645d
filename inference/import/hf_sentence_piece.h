// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "absl/status/status.h"
#include "inference/import/hf_tokenizer.h"

namespace ruvd::inference {

// Only ParseHfTokenizer uses this. A tokenizer.json that was made from a SentencePiece model
// expresses that model's scores as merges. This function reverses it. `out` holds tokens, types and
// merges as they are in the file; it receives scores, the types of bytes and of the unknown token,
// and loses its merges.
//
// The two kinds of merging are equivalent if every piece merges at each cut into two pieces and if
// no other piece ranks between the merges of one piece. This is checked. TOKENIZER_INVALID
// otherwise, and for a normaliser or pre-tokeniser that does more than write U+2581 for spaces.
absl::Status ToSentencePieces(const nlohmann::json& root, const nlohmann::json& model,
                              HfTokenizer* out);

}  // namespace ruvd::inference
