// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ruvd::bench {

// A model to be made: random weights in the shape of a real one.
struct RandomModelOptions {
  std::string shape;           // one of ShapeNames()
  std::string architecture;    // empty: the shape's own; or a name such as "qwen2"
  std::string type = "Q8_0";   // format of the matrices; case does not matter
  std::string embedding_type;  // of token_embd.weight; empty: see EmbeddingType in the .cc file
  std::string path;
  int layers = 0;  // 0: the shape's own
  uint64_t seed = 1;
};

std::vector<std::string> ShapeNames();

// Writes a GGUF file that our loader and llama.cpp accept: weights drawn so that activations keep
// their size from layer to layer, and a byte-level BPE vocabulary over strings of up to four lower
// case letters. The same options give the same bytes. Where a row cannot be divided into the blocks
// of the wanted format, the format llama.cpp falls back to takes its place (Q5_0 for Q4_K, Q5_1 for
// Q5_K, Q8_0 for Q6_K).
absl::Status WriteRandomModel(const RandomModelOptions& options);

}  // namespace ruvd::bench
