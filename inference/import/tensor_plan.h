// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/gguf/scheme.h"
#include "inference/import/hf_config.h"
#include "inference/import/hf_weights.h"

namespace ruvd::inference {

// One tensor of the GGUF file to write.
struct ImportedTensor {
  std::string name;
  const SafetensorsTensor* source = nullptr;  // from the weights; if null, `computed` is used
  std::vector<float> computed;
  std::vector<uint64_t> shape;  // as in TensorInfo: row length first
  TensorType type = TensorType::kF32;
  // If not 0, the rows of a head, which are permuted from RoPE's half splits to adjacent pairs.
  uint64_t permuted_head = 0;

  // Returns the source's row for row `row` of the result. In a head of n rows, rows 2i and 2i + 1
  // are the source's rows i and i + n / 2, which RoPE rotates together.
  uint64_t SourceRow(uint64_t row) const;
};

// Decides the place of every tensor, in the order of GGUF's layers, and its format by `scheme`.
// `architecture` is one of GGUF's names; llada and llama pair adjacent values in RoPE, so the rows
// of q and k are permuted. MODEL_CORRUPT for a tensor that is missing or has another shape than the
// configuration requires; MODEL_UNSUPPORTED for a tensor that no such network has. Tensors of the
// result point into `weights`.
absl::StatusOr<std::vector<ImportedTensor>> PlanTensors(const HfConfig& config,
                                                        const std::string& architecture,
                                                        const QuantizationScheme& scheme,
                                                        const HfWeights& weights);

}  // namespace ruvd::inference
