// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/parallel.h"
#include "base/string_map.h"
#include "inference/adapter/adapter.h"
#include "inference/model/model.h"

namespace ruvd {

// The matrices of a layer that adapters may change, in the order of LinearIndex.
enum class Linear : uint8_t { kQ, kK, kV, kOutput, kGate, kUp, kDown };
inline constexpr size_t kLinearsPerLayer = 7;

// Number of a matrix of a model; the output matrix has OutputIndex.
inline size_t LinearIndex(size_t layer, Linear linear) {
  return layer * kLinearsPerLayer + static_cast<size_t>(linear);
}
size_t OutputIndex(const ModelConfig& config);

// The tensor name of a matrix, e.g. "blk.7.attn_output.weight".
std::string LinearName(const ModelConfig& config, size_t index);

// The adapters of a mix, stacked per matrix: y += B (A x) with all parts' A below each other and
// all B, already scaled and weighted, side by side. Keeps the last mix, because a generation uses
// the same one for many steps. Not thread-safe.
class AdapterStack {
 public:
  explicit AdapterStack(std::shared_ptr<const Model> model);

  // Makes `mix` (null: none) the current one. ADAPTER_INVALID for a target that the model does not
  // have or more ranks than limits::kMaxStackedRank on one matrix, WRONG_DIMENSION for factors that
  // do not fit it. On an error no mix is current.
  absl::Status Select(const AdapterMix* mix);

  // y (rows x out) += the current mix's change of matrix `index` for x (rows x in).
  void Apply(ParallelRunner& runner, size_t index, std::span<const float> x,
             std::span<float> y) const;

 private:
  struct Stack {
    size_t rank = 0;
    size_t in = 0;
    size_t out = 0;
    std::vector<float> a;  // rank x in
    std::vector<float> b;  // rank x out: transposed
  };
  static void ApplyRows(const Stack& stack, const float* x, size_t rows, float* y);
  absl::Status Build(const AdapterMix& mix);
  absl::Status Append(const std::string& name, const LowRank& change, float weight);

  std::shared_ptr<const Model> model_;
  StringMap<size_t> indices_;  // matrix number by tensor name
  AdapterMix mix_;
  std::vector<Stack> stacks_;  // by matrix number; rank 0 where nothing changes; empty for no mix
};

}  // namespace ruvd
