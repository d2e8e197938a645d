// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/transformer/adapter_stack.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/limits.h"

namespace ruvd::inference {
namespace {

using GroupNames = std::array<std::string_view, kLargestGroup>;
constexpr std::array<GroupNames, kGroupsPerLayer> kLinearNames = {
    GroupNames{"attn_q", "attn_k", "attn_v"}, GroupNames{"attn_output"},
    GroupNames{"ffn_gate", "ffn_up"}, GroupNames{"ffn_down"}};

const Matrix& MatrixAt(const Model& model, size_t index) {
  const size_t group = index / kLargestGroup;
  if (group == OutputGroupIndex(model.config())) {
    return model.output();
  }
  const LayerWeights& layer = model.layer(static_cast<int>(group / kGroupsPerLayer));
  using Members = std::array<const Matrix*, kLargestGroup>;
  const std::array<Members, kGroupsPerLayer> matrices = {
      Members{&layer.q, &layer.k, &layer.v}, Members{&layer.output},
      Members{&layer.gate, &layer.up}, Members{&layer.down}};
  return *matrices[group % kGroupsPerLayer][index % kLargestGroup];
}

// Adds a change of the group's matrix `member`. All changes of lower members must be added before
// it.
void Append(const LowRank& change, size_t part, size_t member, PreparedFactors::Group* group) {
  const auto rank = static_cast<size_t>(change.rank);
  if (change.scale == 0 || rank == 0) {
    return;
  }
  PreparedFactors::Change& stack = group->changes[member];
  if (stack.rank == 0) {
    stack.offset = group->rank;
    stack.out = static_cast<size_t>(change.out);
  }
  group->in = static_cast<size_t>(change.in);
  group->a.insert(group->a.end(), change.a.begin(), change.a.end());
  group->part_of.insert(group->part_of.end(), rank, part);
  for (size_t r = 0; r < rank; ++r) {
    for (size_t o = 0; o < stack.out; ++o) {
      stack.b.push_back(change.scale * change.b[o * rank + r]);
    }
  }
  stack.rank += rank;
  group->rank += rank;
}

size_t BytesOf(const PreparedFactors& factors) {
  size_t floats = 0;
  size_t packed = 0;
  for (const PreparedFactors::Group& group : factors.groups) {
    floats += group.a.size();
    packed += group.packed_a.bytes();
    for (const PreparedFactors::Change& change : group.changes) {
      floats += change.b.size();
    }
  }
  return packed + floats * sizeof(float);
}

// Returns whether the factors are those of the mix's adapters, in the same order.
bool AreFactorsOf(const PreparedFactors& factors, const AdapterMix& mix) {
  return std::equal(
      factors.adapters.begin(), factors.adapters.end(), mix.parts.begin(), mix.parts.end(),
      [](const auto& adapter, const AdapterMix::Part& part) { return adapter == part.adapter; });
}

// Returns the value of PreparedMix::weights.
std::vector<std::vector<float>> RankWeights(const AdapterMix& mix, const PreparedFactors& factors) {
  const bool plain = std::all_of(mix.parts.begin(), mix.parts.end(),
                                 [](const AdapterMix::Part& part) { return part.weight == 1; });
  std::vector<std::vector<float>> weights;
  for (size_t i = 0; i < factors.groups.size() && !plain; ++i) {
    std::vector<float>& group = weights.emplace_back();
    for (const size_t part : factors.groups[i].part_of) {
      group.push_back(mix.parts[part].weight);
    }
  }
  return weights;
}

// Returns A packed in Q8_0. It is empty if a row is not a whole number of blocks or a value is too
// large for the scales.
PackedMatrix PackA(const PreparedFactors::Group& group) {
  if (group.rank == 0 || group.in % BlockValues(TensorType::kQ8_0) != 0) {
    return {};
  }
  const auto bytes = Quantize(TensorType::kQ8_0, group.a);
  if (!bytes.ok()) {
    return {};
  }
  return PackedMatrix::Pack(SerialRunner(),
                            {.type = TensorType::kQ8_0,
                             .rows = static_cast<int>(group.rank),
                             .columns = static_cast<int>(group.in),
                             .data = reinterpret_cast<const uint8_t*>(bytes->data())});
}

// Returns low (rows x rank) = A x.
const float* ComputeLow(const PreparedFactors::Group& group, const ChangedRows& rows) {
  thread_local std::vector<float> low;
  low.resize(std::max(low.size(), rows.rows * group.rank));
  Kernels().multiply_abt({.a = rows.x + rows.begin * group.in,
                          .a_stride = group.in,
                          .rows = rows.rows,
                          .b = reinterpret_cast<const uint8_t*>(group.a.data()),
                          .b_stride = group.in * sizeof(float),
                          .b_type = TensorType::kF32,
                          .outputs = group.rank,
                          .columns = group.in,
                          .y = low.data(),
                          .y_stride = group.rank});
  return low.data();
}

// Returns the rows of `low` with each rank multiplied by its weight.
const float* Weighted(const float* low, size_t rows, std::span<const float> weights) {
  thread_local std::vector<float> weighted;
  weighted.resize(std::max(weighted.size(), rows * weights.size()));
  for (size_t row = 0; row < rows; ++row) {
    for (size_t r = 0; r < weights.size(); ++r) {
      weighted[row * weights.size() + r] = low[row * weights.size() + r] * weights[r];
    }
  }
  return weighted.data();
}

}  // namespace

size_t OutputGroupIndex(const ModelConfig& config) {
  return static_cast<size_t>(config.layers) * kGroupsPerLayer;
}

AdapterStack::AdapterStack(std::shared_ptr<const Model> model, bool pack)
    : model_(std::move(model)), pack_(pack) {
  const size_t groups = OutputGroupIndex(model_->config());
  for (size_t group = 0; group < groups; ++group) {
    const GroupNames& names = kLinearNames[group % kGroupsPerLayer];
    for (size_t m = 0; m < kLargestGroup && !names[m].empty(); ++m) {
      indices_.emplace(fmt::format("blk.{}.{}.weight", group / kGroupsPerLayer, names[m]),
                       group * kLargestGroup + m);
    }
  }
  indices_.emplace("output.weight", groups * kLargestGroup);
}

absl::Status AdapterStack::Select(std::span<const AdapterMix* const> mixes,
                                  std::vector<const PreparedMix*>* prepared) {
  prepared->clear();
  for (const AdapterMix* mix : mixes) {
    if (mix == nullptr || mix->empty()) {
      prepared->push_back(nullptr);
      continue;
    }
    ASSIGN_OR_RETURN(const PreparedMix* ready, Prepare(*mix));
    prepared->push_back(ready);
  }
  Trim(mixes.size());
  return absl::OkStatus();
}

absl::StatusOr<const PreparedMix*> AdapterStack::Prepare(const AdapterMix& mix) {
  RETURN_IF_ERROR(CheckParts(mix));
  PreparedMix prepared{.mix = mix, .factors = nullptr, .weights = {}};
  std::erase_if(prepared.mix.parts, [](const AdapterMix::Part& part) { return part.weight == 0; });
  const auto found = std::find_if(mixes_.begin(), mixes_.end(), [&](const PreparedMix& other) {
    return SameMix(other.mix, prepared.mix);
  });
  if (found != mixes_.end()) {
    mixes_.splice(mixes_.begin(), mixes_, found);
    return &mixes_.front();
  }
  ASSIGN_OR_RETURN(prepared.factors, FactorsOf(prepared.mix));
  prepared.weights = RankWeights(prepared.mix, *prepared.factors);
  mixes_.push_front(std::move(prepared));
  return &mixes_.front();
}

absl::StatusOr<std::shared_ptr<const PreparedFactors>> AdapterStack::FactorsOf(
    const AdapterMix& mix) {
  for (const PreparedMix& other : mixes_) {
    if (AreFactorsOf(*other.factors, mix)) {
      return other.factors;
    }
  }
  RETURN_IF_ERROR(Check(mix));
  auto factors = std::make_shared<PreparedFactors>();
  factors->groups.resize(OutputGroupIndex(model_->config()) + 1);
  // by matrix, in the order of the mix
  std::multimap<size_t, std::pair<const LowRank*, size_t>> changes;
  for (size_t i = 0; i < mix.parts.size(); ++i) {
    factors->adapters.push_back(mix.parts[i].adapter);
    for (const auto& [name, change] : mix.parts[i].adapter->targets) {
      changes.emplace(indices_.find(name)->second, std::pair(&change, i));
    }
  }
  for (const auto& [index, change] : changes) {
    Append(*change.first, change.second, index % kLargestGroup,
           &factors->groups[index / kLargestGroup]);
  }
  for (size_t i = 0; i < factors->groups.size(); ++i) {
    if (pack_ && HasPackedMatrix(i)) {
      factors->groups[i].packed_a = PackA(factors->groups[i]);
    }
  }
  factors->bytes = BytesOf(*factors);
  return factors;
}

bool AdapterStack::HasPackedMatrix(size_t group) const {
  const bool output = group == OutputGroupIndex(model_->config());
  const GroupNames& names = kLinearNames[group % kGroupsPerLayer];
  for (size_t m = 0; m < kLargestGroup && (output ? m == 0 : !names[m].empty()); ++m) {
    if (PackedMatrix::Supports(MatrixAt(*model_, group * kLargestGroup + m).type)) {
      return true;
    }
  }
  return false;
}

void AdapterStack::Trim(size_t in_use) {
  size_t bytes = 0;
  size_t kept = 0;
  std::set<const PreparedFactors*> counted;  // several mixes may share their factors
  for (auto it = mixes_.begin(); it != mixes_.end();) {
    bytes += counted.insert(it->factors.get()).second ? it->factors->bytes : 0;
    const bool keep = kept < in_use ||
                      (kept < limits::kMaxPreparedMixes && bytes <= limits::kMaxPreparedMixBytes);
    it = keep ? std::next(it) : mixes_.erase(it);
    kept += keep ? 1 : 0;
  }
}

absl::Status AdapterStack::CheckParts(const AdapterMix& mix) {
  const bool whole = std::all_of(mix.parts.begin(), mix.parts.end(),
                                 [](const auto& part) { return part.adapter != nullptr; });
  return whole ? absl::OkStatus()
               : Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                       "an adapter mix holds an empty part");
}

absl::Status AdapterStack::Check(const AdapterMix& mix) const {
  std::map<std::string_view, int> ranks;
  for (const AdapterMix::Part& part : mix.parts) {
    for (const auto& [name, change] : part.adapter->targets) {
      absl::Status status = CheckChange(name, change);
      int& rank = ranks[name];
      rank += status.ok() ? change.rank : 0;
      if (rank > limits::kMaxStackedRank) {
        status = Error(absl::StatusCode::kInvalidArgument, reasons::kAdapterInvalid,
                       "the mix changes {} with a total rank above {}; use fewer adapters", name,
                       limits::kMaxStackedRank);
      }
      if (!status.ok()) {
        return Annotate(status, fmt::format("adapter {}", part.adapter->name));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status AdapterStack::CheckChange(const std::string& name, const LowRank& change) const {
  const auto found = indices_.find(name);
  if (found == indices_.end()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kAdapterInvalid,
                 "changes {}, which is not a linear layer of model {}", name,
                 model_->config().name);
  }
  const Matrix& w = MatrixAt(*model_, found->second);
  const auto rank = static_cast<size_t>(std::max(change.rank, 0));
  if (change.rank < 0 || change.in != w.columns || change.out != w.rows ||
      change.a.size() != rank * static_cast<size_t>(w.columns) ||
      change.b.size() != rank * static_cast<size_t>(w.rows)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kWrongDimension,
                 "its factors for {} are {} x {} (rank {}), the matrix is {} x {}; was it trained "
                 "on another model?",
                 name, change.out, change.in, change.rank, w.rows, w.columns);
  }
  return absl::OkStatus();
}

void ApplyChange(const PreparedMix& mix, size_t index, const ChangedRows& rows) {
  const PreparedFactors::Group& group = mix.group(index);
  if (group.rank == 0 || rows.rows == 0) {
    return;
  }
  const float* low =
      rows.low == nullptr ? ComputeLow(group, rows) : rows.low + rows.begin * group.rank;
  if (!mix.weights.empty()) {
    low = Weighted(low, rows.rows, mix.weights[index]);
  }
  for (size_t m = 0; m < rows.y.size(); ++m) {
    const PreparedFactors::Change& change = group.changes[m];
    if (change.rank == 0 || rows.y[m] == nullptr) {
      continue;
    }
    Kernels().multiply_ab({.a = low + change.offset,
                           .a_stride = group.rank,
                           .rows = rows.rows,
                           .inner = change.rank,
                           .b = change.b.data(),
                           .b_stride = change.out,
                           .columns = change.out,
                           .y = rows.y[m] + rows.begin * change.out,
                           .y_stride = change.out,
                           .accumulate = true});
  }
}

}  // namespace ruvd::inference
