// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

#include "inference/gguf/writer.h"

namespace ruvd::bench {

// Adds the tokenizer.ggml.* keys of a byte-level BPE vocabulary of `size` entries (more than 300,
// at most some 490,000): the 256 bytes, then lower-case strings of two, three and four letters that
// may begin with a space, each made by merging its beginning with its last letter, then the special
// tokens <|endoftext|>, <|mask|>, <|pad|>, <|im_start|> and <|im_end|>.
void AddVocabulary(size_t size, inference::GgufWriter* writer);

}  // namespace ruvd::bench
