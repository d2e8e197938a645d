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
  std::string shape;          // one of ShapeNames()
  std::string architecture;   // empty: the shape's own; or a name such as "qwen2"
  std::string type = "q8_0";  // a scheme as `ruvd model quantize` knows them
  std::string path;
  int layers = 0;  // 0: the shape's own
  uint64_t seed = 1;
};

std::vector<std::string> ShapeNames();

// Writes a GGUF file that our loader and llama.cpp accept: weights drawn so that activations keep
// their size from layer to layer, a byte-level BPE vocabulary over strings of up to four lower case
// letters, each tensor in the format that quantising a real model would give it
// (inference/gguf/scheme.h). Equal options give equal bytes.
absl::Status WriteRandomModel(const RandomModelOptions& options);

}  // namespace ruvd::bench
