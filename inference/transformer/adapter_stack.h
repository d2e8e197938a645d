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

// The matrices that adapters may change, in groups that share their input. One product with all
// stacked A factors serves a whole group.
enum class LinearGroup : uint8_t { kQkv, kOutput, kGateUp, kDown };
inline constexpr size_t kGroupsPerLayer = 4;
inline constexpr size_t kLargestGroup = 3;

// Returns the number of a group of a model. The output matrix is a group of its own.
inline size_t GroupIndex(size_t layer, LinearGroup group) {
  return layer * kGroupsPerLayer + static_cast<size_t>(group);
}
size_t OutputGroupIndex(const ModelConfig& config);

// The adapters of a mix in the form that the products need, independent of their weights: for each
// group the A factors of all parts below each other, and for each matrix all B factors, already
// scaled, side by side.
struct PreparedFactors {
  struct Change {
    size_t rank = 0;
    size_t offset = 0;     // of this change's rows in `a`
    size_t out = 0;        // rows of the matrix
    std::vector<float> b;  // rank x out, which is B transposed
  };
  struct Group {
    size_t rank = 0;  // of all changes; 0 if nothing changes
    size_t in = 0;
    std::vector<float> a;         // rank x in
    std::vector<size_t> part_of;  // by rank: the index of its part in the mix
    // `a` for the integer kernels, in groups with at least one packed matrix; else empty.
    PackedMatrix packed_a;
    std::array<Change, kLargestGroup> changes;
  };
  // kept alive, so that equal pointers mean equal adapters
  std::vector<std::shared_ptr<const Adapter>> adapters;
  std::vector<Group> groups;
  size_t bytes = 0;
};

// A mix in the form that the products need. Mixes of the same adapters share their factors, so that
// changing only the weights from step to step costs little.
struct PreparedMix {
  AdapterMix mix;  // without parts of weight 0
  std::shared_ptr<const PreparedFactors> factors;
  // The weight of each rank's part, by group and rank. Empty if all weights are 1.
  std::vector<std::vector<float>> weights;

  const PreparedFactors::Group& group(size_t index) const { return factors->groups[index]; }
};

// Rows [begin, begin + rows) of a product with the matrices of a group: x (all rows x in) and y[m]
// (all rows x out of matrix m). A matrix with a null y[m] is skipped.
struct ChangedRows {
  size_t begin = 0;
  size_t rows = 0;
  const float* x = nullptr;
  std::span<float* const> y;
  // A x of all rows (rows x rank), without weights, if it is known already; else null.
  const float* low = nullptr;
};

// Adds the change of each matrix m of the group to y[m]. The result of a row does not depend on
// other rows.
void ApplyChange(const PreparedMix& mix, size_t group, const ChangedRows& rows);

// The adapters of a batch. Prepared mixes are kept, because a completion uses one mix for many
// steps, or the same adapters with other weights. Not thread-safe.
class AdapterStack {
 public:
  // With `pack` the A factors are prepared for the integer kernels, rounded to Q8_0, if the group
  // has a packed matrix and the factors' scales fit the format.
  AdapterStack(std::shared_ptr<const Model> model, bool pack);

  // Sets prepared[i] to the prepared form of mixes[i], or to null for a null or empty mix. The
  // pointers are valid until the next call. Errors: ADAPTER_INVALID for a target that the model
  // does not have, or for a total rank above limits::kMaxStackedRank on one matrix; WRONG_DIMENSION
  // for factors that do not fit their matrix.
  absl::Status Select(std::span<const AdapterMix* const> mixes,
                      std::vector<const PreparedMix*>* prepared);

 private:
  absl::StatusOr<const PreparedMix*> Prepare(const AdapterMix& mix);
  // Returns the factors of a prepared mix of the same adapters, or new ones.
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
