// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/adapter_stack.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/limits.h"

namespace ruvd {
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

// Adds a change of the group's matrix `member`. Those of a lower member must all come before it.
void Append(const LowRank& change, float weight, size_t member, PreparedMix::Group* group) {
  const float factor = change.scale * weight;
  const auto rank = static_cast<size_t>(change.rank);
  if (factor == 0 || rank == 0) {
    return;
  }
  PreparedMix::Change& stack = group->changes[member];
  if (stack.rank == 0) {
    stack.offset = group->rank;
    stack.out = static_cast<size_t>(change.out);
  }
  group->in = static_cast<size_t>(change.in);
  group->a.insert(group->a.end(), change.a.begin(), change.a.end());
  for (size_t r = 0; r < rank; ++r) {
    for (size_t o = 0; o < stack.out; ++o) {
      stack.b.push_back(factor * change.b[o * rank + r]);
    }
  }
  stack.rank += rank;
  group->rank += rank;
}

size_t BytesOf(const PreparedMix& prepared) {
  size_t floats = 0;
  size_t packed = 0;
  for (const PreparedMix::Group& group : prepared.groups) {
    floats += group.a.size();
    packed += group.packed_a.bytes();
    for (const PreparedMix::Change& change : group.changes) {
      floats += change.b.size();
    }
  }
  return packed + floats * sizeof(float);
}

// A in Q8_0, packed; empty where a row is no whole number of blocks or a value is beyond its
// scales.
PackedMatrix PackA(const PreparedMix::Group& group) {
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

// low (rows x rank) = A x.
const float* ComputeLow(const PreparedMix::Group& group, const ChangedRows& rows) {
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
  const auto found = std::find_if(mixes_.begin(), mixes_.end(), [&](const PreparedMix& prepared) {
    return SameMix(prepared.mix, mix);
  });
  if (found != mixes_.end()) {
    mixes_.splice(mixes_.begin(), mixes_, found);
    return &mixes_.front();
  }
  RETURN_IF_ERROR(Check(mix));
  PreparedMix prepared{.mix = mix};
  prepared.groups.resize(OutputGroupIndex(model_->config()) + 1);
  std::multimap<size_t, std::pair<const LowRank*, float>> changes;  // by matrix, in mix order
  for (const AdapterMix::Part& part : mix.parts) {
    for (const auto& [name, change] : part.adapter->targets) {
      changes.emplace(indices_.find(name)->second, std::pair(&change, part.weight));
    }
  }
  for (const auto& [index, change] : changes) {
    Append(*change.first, change.second, index % kLargestGroup,
           &prepared.groups[index / kLargestGroup]);
  }
  for (size_t i = 0; i < prepared.groups.size(); ++i) {
    if (pack_ && HasPackedMatrix(i)) {
      prepared.groups[i].packed_a = PackA(prepared.groups[i]);
    }
  }
  prepared.bytes = BytesOf(prepared);
  mixes_.push_front(std::move(prepared));
  return &mixes_.front();
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
  for (auto it = mixes_.begin(); it != mixes_.end();) {
    bytes += it->bytes;
    const bool keep = kept < in_use ||
                      (kept < limits::kMaxPreparedMixes && bytes <= limits::kMaxPreparedMixBytes);
    it = keep ? std::next(it) : mixes_.erase(it);
    kept += keep ? 1 : 0;
  }
}

absl::Status AdapterStack::Check(const AdapterMix& mix) const {
  std::map<std::string_view, int> ranks;
  for (const AdapterMix::Part& part : mix.parts) {
    if (part.adapter == nullptr) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "an adapter mix holds an empty part");
    }
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

void ApplyChange(const PreparedMix::Group& group, const ChangedRows& rows) {
  if (group.rank == 0 || rows.rows == 0) {
    return;
  }
  const float* low =
      rows.low == nullptr ? ComputeLow(group, rows) : rows.low + rows.begin * group.rank;
  for (size_t m = 0; m < rows.y.size(); ++m) {
    const PreparedMix::Change& change = group.changes[m];
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

}  // namespace ruvd
