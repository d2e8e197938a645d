// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "inference/import/hf_tokenizer.h"

namespace ruvd::inference {

// Internal to ParseHfTokenizer. A tokenizer.json that was made of a SentencePiece model says in
// merges what that model said in scores. This turns it back: `out` holds tokens, types and merges
// as they are in the file and gets scores, types of bytes and of the unknown token, and no merges.
//
// The two kinds of merging agree where every piece merges at each cut into two pieces and no other
// piece ranks between the merges of one: checked, TOKENIZER_INVALID otherwise, as for a normaliser
// or pre-tokeniser that does more than write U+2581 for spaces.
absl::Status ToSentencePieces(const nlohmann::json& root, const nlohmann::json& model,
                              HfTokenizer* out);

}  // namespace ruvd::inference
