// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/string_map.h"
#include "inference/adapter/adapter.h"
#include "inference/model/linear.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// The matrices that adapters may change, in groups that share their input: one product with all
// their stacked A factors serves a group.
enum class LinearGroup : uint8_t { kQkv, kOutput, kGateUp, kDown };
inline constexpr size_t kGroupsPerLayer = 4;
inline constexpr size_t kLargestGroup = 3;

// Number of a group of a model; the output matrix is a group of its own.
inline size_t GroupIndex(size_t layer, LinearGroup group) {
  return layer * kGroupsPerLayer + static_cast<size_t>(group);
}
size_t OutputGroupIndex(const ModelConfig& config);

// The adapters of a mix as the products want them, whatever their weights: per group all parts' A
// below each other, per matrix all B, already scaled, side by side.
struct PreparedFactors {
  struct Change {
    size_t rank = 0;
    size_t offset = 0;     // of its rows in `a`
    size_t out = 0;        // rows of the matrix
    std::vector<float> b;  // rank x out: transposed
  };
  struct Group {
    size_t rank = 0;  // of all changes; 0: nothing changes
    size_t in = 0;
    std::vector<float> a;         // rank x in
    std::vector<size_t> part_of;  // by rank: the part of the mix it belongs to
    // The same for the integer kernels, in groups of which any matrix is packed; else empty.
    PackedMatrix packed_a;
    std::array<Change, kLargestGroup> changes;
  };
  std::vector<std::shared_ptr<const Adapter>> adapters;  // kept alive: equal pointers, equal ones
  std::vector<Group> groups;
  size_t bytes = 0;
};

// A mix ready for the products. Mixes of the same adapters share their factors, so that weights may
// change from step to step at little cost.
struct PreparedMix {
  AdapterMix mix;  // without parts of weight 0
  std::shared_ptr<const PreparedFactors> factors;
  // By group and rank: the weight of its part. Empty where all weights are 1.
  std::vector<std::vector<float>> weights;

  const PreparedFactors::Group& group(size_t index) const { return factors->groups[index]; }
};

// Rows [begin, begin + rows) of a product with the matrices of a group: x (all rows x in) and y[m]
// (all rows x out of matrix m); a null y[m] is left out.
struct ChangedRows {
  size_t begin = 0;
  size_t rows = 0;
  const float* x = nullptr;
  std::span<float* const> y;
  // A x of all rows (rows x rank), without weights, where it is known already, else null.
  const float* low = nullptr;
};

// y[m] += the change of matrix m of the group. A row's result depends on no other row.
void ApplyChange(const PreparedMix& mix, size_t group, const ChangedRows& rows);

// The adapters of a batch. Prepared mixes are kept, because a generation uses the same one for many
// steps, or the same adapters with other weights. Not thread-safe.
class AdapterStack {
 public:
  // With `pack` the A factors are prepared for the integer kernels, rounded to Q8_0, where the
  // group has a packed matrix and the factors' scales fit the format.
  AdapterStack(std::shared_ptr<const Model> model, bool pack);

  // prepared[i] = mixes[i] made ready, null for null or an empty mix; valid until the next call.
  // ADAPTER_INVALID for a target that the model does not have or more ranks than
  // limits::kMaxStackedRank on one matrix, WRONG_DIMENSION for factors that do not fit it.
  absl::Status Select(std::span<const AdapterMix* const> mixes,
                      std::vector<const PreparedMix*>* prepared);

 private:
  absl::StatusOr<const PreparedMix*> Prepare(const AdapterMix& mix);
  // Those of a prepared mix of the same adapters, or new ones.
  absl::StatusOr<std::shared_ptr<const PreparedFactors>> FactorsOf(const AdapterMix& mix);
  static absl::Status CheckParts(const AdapterMix& mix);
  absl::Status Check(const AdapterMix& mix) const;
  absl::Status CheckChange(const std::string& name, const LowRank& change) const;
  bool HasPackedMatrix(size_t group) const;
  void Trim(size_t in_use);

  std::shared_ptr<const Model> model_;
  bool pack_;
  StringMap<size_t> indices_;     // group * kLargestGroup + member, by tensor name
  std::list<PreparedMix> mixes_;  // most recently used first
};

}  // namespace ruvd::inference
