// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/adapter_stack.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/limits.h"

namespace ruvd {
namespace {

constexpr std::array<std::string_view, kLinearsPerLayer> kLinearNames = {
    "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"};

// Rows handled together, a fixed border between tasks.
constexpr size_t kRowChunk = 16;

const Matrix& MatrixAt(const Model& model, size_t index) {
  if (index == OutputIndex(model.config())) {
    return model.output();
  }
  const LayerWeights& layer = model.layer(static_cast<int>(index / kLinearsPerLayer));
  const std::array<const Matrix*, kLinearsPerLayer> matrices = {
      &layer.q, &layer.k, &layer.v, &layer.output, &layer.gate, &layer.up, &layer.down};
  return *matrices[index % kLinearsPerLayer];
}

bool SameMix(const AdapterMix& a, const AdapterMix& b) {
  return std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(),
                    [](const AdapterMix::Part& p, const AdapterMix::Part& q) {
                      return p.adapter == q.adapter && p.weight == q.weight;
                    });
}

}  // namespace

size_t OutputIndex(const ModelConfig& config) {
  return static_cast<size_t>(config.layers) * kLinearsPerLayer;
}

std::string LinearName(const ModelConfig& config, size_t index) {
  if (index == OutputIndex(config)) {
    return "output.weight";
  }
  return fmt::format("blk.{}.{}.weight", index / kLinearsPerLayer,
                     kLinearNames[index % kLinearsPerLayer]);
}

AdapterStack::AdapterStack(std::shared_ptr<const Model> model) : model_(std::move(model)) {
  for (size_t i = 0; i <= OutputIndex(model_->config()); ++i) {
    indices_.emplace(LinearName(model_->config(), i), i);
  }
}

absl::Status AdapterStack::Select(const AdapterMix* mix) {
  if (mix == nullptr || mix->empty()) {
    mix_.parts.clear();
    stacks_.clear();
    return absl::OkStatus();
  }
  if (!stacks_.empty() && SameMix(*mix, mix_)) {
    return absl::OkStatus();
  }
  mix_.parts.clear();
  stacks_.assign(OutputIndex(model_->config()) + 1, Stack{});
  absl::Status status = Build(*mix);
  if (!status.ok()) {
    stacks_.clear();
    return status;
  }
  mix_ = *mix;
  return absl::OkStatus();
}

absl::Status AdapterStack::Build(const AdapterMix& mix) {
  for (const AdapterMix::Part& part : mix.parts) {
    if (part.adapter == nullptr) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "an adapter mix holds an empty part");
    }
    for (const auto& [name, change] : part.adapter->targets) {
      const absl::Status status = Append(name, change, part.weight);
      if (!status.ok()) {
        return Annotate(status, fmt::format("adapter {}", part.adapter->name));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status AdapterStack::Append(const std::string& name, const LowRank& change, float weight) {
  const auto found = indices_.find(name);
  if (found == indices_.end()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kAdapterInvalid,
                 "changes {}, which is not a linear layer of model {}", name,
                 model_->config().name);
  }
  const Matrix& w = MatrixAt(*model_, found->second);
  const auto rank = static_cast<size_t>(std::max(change.rank, 0));
  if (change.in != w.columns || change.out != w.rows ||
      change.a.size() != rank * static_cast<size_t>(w.columns) ||
      change.b.size() != rank * static_cast<size_t>(w.rows)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kWrongDimension,
                 "its factors for {} are {} x {} (rank {}), the matrix is {} x {}; was it trained "
                 "on another model?",
                 name, change.out, change.in, change.rank, w.rows, w.columns);
  }
  Stack& stack = stacks_[found->second];
  if (stack.rank + rank > limits::kMaxStackedRank) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kAdapterInvalid,
                 "the mix changes {} with a total rank above {}; use fewer adapters", name,
                 limits::kMaxStackedRank);
  }
  const float factor = change.scale * weight;
  if (factor == 0 || rank == 0) {
    return absl::OkStatus();
  }
  stack.in = static_cast<size_t>(change.in);
  stack.out = static_cast<size_t>(change.out);
  stack.a.insert(stack.a.end(), change.a.begin(), change.a.end());
  for (size_t r = 0; r < rank; ++r) {
    for (size_t o = 0; o < stack.out; ++o) {
      stack.b.push_back(factor * change.b[o * rank + r]);
    }
  }
  stack.rank += rank;
  return absl::OkStatus();
}

void AdapterStack::Apply(ParallelRunner& runner, size_t index, std::span<const float> x,
                         std::span<float> y) const {
  if (stacks_.empty() || stacks_[index].rank == 0) {
    return;
  }
  const Stack& stack = stacks_[index];
  const size_t rows = x.size() / stack.in;
  const size_t chunks = (rows + kRowChunk - 1) / kRowChunk;
  runner.For(chunks, 1, [&](size_t begin_chunk, size_t end_chunk) {
    for (size_t chunk = begin_chunk; chunk < end_chunk; ++chunk) {
      const size_t begin = chunk * kRowChunk;
      const size_t count = std::min(kRowChunk, rows - begin);
      ApplyRows(stack, x.data() + begin * stack.in, count, y.data() + begin * stack.out);
    }
  });
}

void AdapterStack::ApplyRows(const Stack& stack, const float* x, size_t rows, float* y) {
  thread_local std::vector<float> low;
  low.resize(std::max(low.size(), rows * stack.rank));
  Kernels().multiply_abt({.a = x,
                          .a_stride = stack.in,
                          .rows = rows,
                          .b = reinterpret_cast<const uint8_t*>(stack.a.data()),
                          .b_stride = stack.in * sizeof(float),
                          .b_type = TensorType::kF32,
                          .outputs = stack.rank,
                          .columns = stack.in,
                          .y = low.data(),
                          .y_stride = stack.rank});
  Kernels().multiply_ab({.a = low.data(),
                         .a_stride = stack.rank,
                         .rows = rows,
                         .inner = stack.rank,
                         .b = stack.b.data(),
                         .b_stride = stack.out,
                         .columns = stack.out,
                         .y = y,
                         .y_stride = stack.out,
                         .accumulate = true});
}

}  // namespace ruvd
