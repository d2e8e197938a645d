// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "inference/tokenizer/vocabulary.h"

namespace ruvd::inference {

// Chooses the token that a converted model reads as MASK. `wanted` is an id or the text of a token;
// if it is empty, the choice is the mask token that the file names, else a special token spelled as
// one ("<|mask|>", "<mask>", "[MASK]"), else the last token of kind "unused". INVALID_ARGUMENT if
// there is no such token, or if it has another meaning: the file's end, beginning or unknown token.
absl::StatusOr<TokenId> ChooseMaskToken(const Vocabulary& vocabulary, std::string_view wanted);

}  // namespace ruvd::inference
