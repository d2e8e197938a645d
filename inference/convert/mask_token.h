// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "inference/tokenizer/vocabulary.h"

namespace ruvd::inference {

// The token that a converted model reads as MASK. `wanted` is an id or a token's text; empty: the
// mask token that the file names, else a special token spelled as one ("<|mask|>", "<mask>",
// "[MASK]"), else the last one of kind "unused". INVALID_ARGUMENT where there is none, or for one
// that means something else: the file's end, beginning or unknown token.
absl::StatusOr<TokenId> ChooseMaskToken(const Vocabulary& vocabulary, std::string_view wanted);

}  // namespace ruvd::inference
