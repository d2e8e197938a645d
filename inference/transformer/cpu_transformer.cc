// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/transformer/cpu_transformer.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/status.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/limits.h"
#include "inference/model/linear.h"
#include "inference/model/rope.h"
#include "inference/transformer/adapter_stack.h"
#include "inference/transformer/attention.h"
#include "inference/transformer/batch.h"
#include "inference/transformer/group_products.h"

namespace ruvd::inference {
namespace {

// Rows of element-wise work given to a thread at a time, without and with adapters. Adapter factors
// are read once for this many rows.
constexpr size_t kRowGrain = 8;
constexpr size_t kAdaptedRowGrain = 16;

size_t KvWidth(const ModelConfig& config) {
  return static_cast<size_t>(config.kv_heads) * static_cast<size_t>(config.head_size);
}

size_t QWidth(const ModelConfig& config) {
  return static_cast<size_t>(config.heads) * static_cast<size_t>(config.head_size);
}

// Buffers do not shrink between passes, so that memory is not cleared again; see ReleaseMemory.
void Grow(size_t size, std::vector<float>* buffer) {
  buffer->resize(std::max(size, buffer->size()));
}

// Copies rows[i] of `from`, with `width` values each, to row i of `to`.
void Gather(const std::vector<float>& from, std::span<const size_t> rows, size_t width,
            std::vector<float>* to) {
  Grow(rows.size() * width, to);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(from.data() + rows[i] * width, width, to->data() + i * width);
  }
}

void AddBias(const std::vector<float>& bias, float* row) {
  if (!bias.empty()) {
    Kernels().add(bias.data(), bias.size(), row);
  }
}

}  // namespace

// One forward pass: its steps, and its buffers, which are kept between calls. Sizes are those of
// the current batch.
struct CpuTransformer::Pass {
  Pass(const std::shared_ptr<const Model>& loaded, const PackedWeights* weights,
       ParallelRunner& threads)
      : model(*loaded),
        packed(weights),
        config(loaded->config()),
        runner(threads),
        products(threads),
        width(static_cast<size_t>(config.width)),
        rope(config),
        adapters(loaded, weights != nullptr) {}

  absl::Status Begin(std::span<const ForwardInput> inputs);
  absl::Status ReservePages();
  // Returns all activation buffers, whose memory depends on the number of rows.
  auto Buffers() {
    return std::to_array(
        {&x, &normed, &gathered, &q, &context, &keys, &values, &projected, &gate, &up});
  }
  // Frees the memory that a forward longer than limits::kKeptRows took, as soon as a shorter one
  // follows.
  void ReleaseMemory();
  void Embed();
  void RunLayer(size_t index);
  // Computes queries, keys and values from `normed`. With `drop`, queries are computed only for the
  // wanted rows.
  void ProjectAll(size_t index, bool drop);
  // Applies adapters, biases, norms and rotation to the products.
  void FinishKeysAndValues(const LayerWeights& layer, bool with_queries);
  void FinishQueries(const LayerWeights& layer, size_t begin, size_t end);
  // After this call only the wanted rows exist.
  void DropUnwantedRows();
  // Norms every head of a row in place, if the model has norms of heads.
  void NormHeads(const std::vector<float>& weight, size_t row_width, float* row) const {
    for (size_t i = 0; !weight.empty() && i < row_width; i += weight.size()) {
      Kernels().rms_norm(row + i, weight.data(), config.rms_epsilon, weight.size(), row + i);
    }
  }
  void AttendAll(size_t index);
  void RunFfn(size_t index);
  // Computes projected += the adapters' change; x += projected; normed = rms_norm(x).
  void AddAndNorm(const std::vector<float>& weight);
  void End(std::span<ForwardOutput> outputs) const;
  size_t RowGrain() const { return products.changes() ? kAdaptedRowGrain : kRowGrain; }
  // Returns the rows of a buffer that the current layer uses, `row_width` values each.
  std::span<const float> Used(const std::vector<float>& buffer, size_t row_width) const {
    return std::span(buffer).first(rows * row_width);
  }
  // Returns the packed form of a layer's matrix, or null without packed weights.
  const PackedMatrix* Packed(size_t layer, PackedMatrix PackedWeights::Layer::* matrix) const {
    return packed == nullptr ? nullptr : &(packed->layer(layer).*matrix);
  }

  const Model& model;
  const PackedWeights* packed;  // null: all weights are read from the file
  const ModelConfig& config;
  ParallelRunner& runner;
  GroupProducts products;
  const size_t width;
  RopeTable rope;
  AdapterStack adapters;

  ForwardBatch batch;
  std::vector<const AdapterMix*> mixes;
  std::vector<const PreparedMix*> prepared;  // by sequence
  std::vector<AdaptedRows> adapted;          // by sequence: its rows in the current layer
  size_t rows = 0;                           // in the current layer
  size_t held_rows = 0;                      // rows for which the buffers have memory
  bool narrow = false;                       // whether only the wanted rows are left
  std::vector<size_t> wanted;                // by wanted row: its row in its sequence
  std::vector<AttentionInput> attended;      // by sequence
  std::vector<float> x;                      // the residual stream, rows x width
  std::vector<float> normed;                 // rows x width
  std::vector<float> gathered;
  std::vector<float> q, context;    // rows x heads * head_size
  std::vector<float> keys, values;  // tokens x kv_heads * head_size
  std::vector<float> projected;     // rows x width
  std::vector<float> gate, up;      // rows x ffn
};

void CpuTransformer::Pass::ReleaseMemory() {
  if (held_rows > limits::kKeptRows && batch.tokens <= limits::kKeptRows) {
    for (std::vector<float>* buffer : Buffers()) {
      *buffer = std::vector<float>();
    }
    products.ReleaseMemory();
    held_rows = 0;
  }
  held_rows = std::max(held_rows, batch.tokens);
}

absl::Status CpuTransformer::Pass::Begin(std::span<const ForwardInput> inputs) {
  RETURN_IF_ERROR(LayOutBatch(config, inputs, &batch));
  mixes.clear();
  for (const ForwardInput& input : inputs) {
    RUVD_CHECK(input.cache == nullptr || input.cache->layers() == config.layers);
    mixes.push_back(input.adapters);
  }
  RETURN_IF_ERROR(adapters.Select(mixes, &prepared));
  adapted.clear();
  for (size_t i = 0; i < prepared.size(); ++i) {
    const BatchSequence& sequence = batch.sequences[i];
    adapted.push_back({.mix = prepared[i], .begin = sequence.begin, .rows = sequence.tokens});
  }
  products.SetRows(adapted);
  rows = batch.tokens;
  narrow = false;
  ReleaseMemory();
  rope.Grow(batch.positions);
  for (std::vector<float>* buffer : {&x, &normed, &projected}) {
    Grow(rows * width, buffer);
  }
  Grow(rows * QWidth(config), &q);
  Grow(rows * QWidth(config), &context);
  Grow(rows * KvWidth(config), &keys);
  Grow(rows * KvWidth(config), &values);
  Grow(rows * static_cast<size_t>(config.ffn), &gate);
  Grow(rows * static_cast<size_t>(config.ffn), &up);
  return ReservePages();
}

// This is the last step that may fail.
absl::Status CpuTransformer::Pass::ReservePages() {
  for (const BatchSequence& sequence : batch.sequences) {
    KvCache* cache = sequence.input->cache;
    if (cache == nullptr || !sequence.input->extend_cache) {
      continue;
    }
    const absl::Status reserved =
        cache->Reserve(static_cast<int>(sequence.position), static_cast<int>(sequence.tokens));
    if (!reserved.ok()) {
      for (const BatchSequence& any : batch.sequences) {
        if (any.input->cache != nullptr) {
          any.input->cache->Truncate(any.input->cache->length());  // frees empty pages
        }
      }
      return reserved;
    }
  }
  return absl::OkStatus();
}

void CpuTransformer::Pass::Embed() {
  const std::vector<float>& weight = model.layer(0).attn_norm;
  runner.For(rows, RowGrain(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const BatchSequence& sequence = batch.sequences[batch.sequence_of_row[i]];
      const std::span<float> row = std::span(x).subspan(i * width, width);
      DecodeRow(model.token_embedding(), sequence.input->tokens[i - sequence.begin], row);
      Kernels().rms_norm(row.data(), weight.data(), config.rms_epsilon, width,
                         normed.data() + i * width);
    }
  });
}

void CpuTransformer::Pass::ProjectAll(size_t index, bool drop) {
  using L = PackedWeights::Layer;
  const LayerWeights& layer = model.layer(static_cast<int>(index));
  const size_t group = GroupIndex(index, LinearGroup::kQkv);
  const GroupProduct query{&layer.q, Packed(index, &L::q), q.data()};
  const GroupProduct key{&layer.k, Packed(index, &L::k), keys.data()};
  const GroupProduct value{&layer.v, Packed(index, &L::v), values.data()};
  const GroupProduct none;
  products.Run(group, Used(normed, width), std::to_array({drop ? none : query, key, value}));
  FinishKeysAndValues(layer, /*with_queries=*/!drop);
  if (drop) {
    DropUnwantedRows();
    products.Run(group, Used(normed, width), std::to_array({query}));
    runner.For(rows, RowGrain(), [&](size_t begin, size_t end) {
      products.Change(begin, end);
      FinishQueries(layer, begin, end);
    });
  }
}

void CpuTransformer::Pass::FinishKeysAndValues(const LayerWeights& layer, bool with_queries) {
  const size_t kv_width = KvWidth(config);
  runner.For(batch.tokens, RowGrain(), [&](size_t begin, size_t end) {
    products.Change(begin, end);
    for (size_t i = begin; i < end; ++i) {
      const BatchSequence& sequence = batch.sequences[batch.sequence_of_row[i]];
      AddBias(layer.v_bias, values.data() + i * kv_width);
      AddBias(layer.k_bias, keys.data() + i * kv_width);
      NormHeads(layer.k_norm, kv_width, keys.data() + i * kv_width);
      rope.Rotate(sequence.PositionOf(i - sequence.begin), static_cast<size_t>(config.kv_heads),
                  keys.data() + i * kv_width);
    }
    if (with_queries) {
      FinishQueries(layer, begin, end);
    }
  });
}

void CpuTransformer::Pass::FinishQueries(const LayerWeights& layer, size_t begin, size_t end) {
  const size_t q_width = QWidth(config);
  for (size_t i = begin; i < end; ++i) {
    const size_t row = narrow ? batch.wanted_rows[i] : i;
    const BatchSequence& sequence = batch.sequences[batch.sequence_of_row[row]];
    AddBias(layer.q_bias, q.data() + i * q_width);
    NormHeads(layer.q_norm, q_width, q.data() + i * q_width);
    rope.Rotate(sequence.PositionOf(row - sequence.begin), static_cast<size_t>(config.heads),
                q.data() + i * q_width);
  }
}

void CpuTransformer::Pass::DropUnwantedRows() {
  Gather(x, batch.wanted_rows, width, &gathered);
  x.swap(gathered);
  Gather(normed, batch.wanted_rows, width, &gathered);
  normed.swap(gathered);
  rows = batch.wanted;
  narrow = true;
  wanted.resize(rows);
  for (size_t i = 0; i < rows; ++i) {
    wanted[i] = batch.wanted_rows[i] - batch.sequences[batch.sequence_of_want[i]].begin;
  }
  for (size_t i = 0; i < adapted.size(); ++i) {
    adapted[i].begin = batch.sequences[i].wanted_begin;
    adapted[i].rows = batch.sequences[i].wanted;
  }
  products.SetRows(adapted);
}

void CpuTransformer::Pass::AttendAll(size_t index) {
  const size_t kv_width = KvWidth(config);
  const size_t q_width = QWidth(config);
  attended.clear();
  for (const BatchSequence& sequence : batch.sequences) {
    const size_t first = narrow ? sequence.wanted_begin : sequence.begin;
    attended.push_back({.attention = sequence.input->attention,
                        .prefix = sequence.position,
                        .tokens = sequence.tokens,
                        .suffix = sequence.suffix,
                        .cache = sequence.input->cache,
                        .layer = index,
                        .heads = static_cast<size_t>(config.heads),
                        .kv_heads = static_cast<size_t>(config.kv_heads),
                        .head_size = static_cast<size_t>(config.head_size),
                        .q = q.data() + first * q_width,
                        .keys = keys.data() + sequence.begin * kv_width,
                        .values = values.data() + sequence.begin * kv_width,
                        .context = context.data() + first * q_width});
    attended.back().attention.window = config.sliding_window;
    if (narrow) {
      attended.back().rows =
          std::span<const size_t>(wanted).subspan(sequence.wanted_begin, sequence.wanted);
    }
  }
  Attend(runner, attended);
  for (const BatchSequence& sequence : batch.sequences) {
    if (KvCache* cache = sequence.input->cache; cache != nullptr && sequence.input->extend_cache) {
      cache->Write(index, static_cast<int>(sequence.position), static_cast<int>(sequence.tokens),
                   keys.data() + sequence.begin * kv_width,
                   values.data() + sequence.begin * kv_width);
    }
  }
}

void CpuTransformer::Pass::AddAndNorm(const std::vector<float>& weight) {
  runner.For(rows, RowGrain(), [&](size_t begin, size_t end) {
    products.Change(begin, end);
    for (size_t i = begin; i < end; ++i) {
      float* row = x.data() + i * width;
      Kernels().add(projected.data() + i * width, width, row);
      Kernels().rms_norm(row, weight.data(), config.rms_epsilon, width, normed.data() + i * width);
    }
  });
}

void CpuTransformer::Pass::RunFfn(size_t index) {
  using L = PackedWeights::Layer;
  const LayerWeights& layer = model.layer(static_cast<int>(index));
  const auto ffn = static_cast<size_t>(config.ffn);
  products.Run(GroupIndex(index, LinearGroup::kGateUp), Used(normed, width),
               std::to_array<GroupProduct>({{&layer.gate, Packed(index, &L::gate), gate.data()},
                                            {&layer.up, Packed(index, &L::up), up.data()}}));
  runner.For(rows, RowGrain(), [&](size_t begin, size_t end) {
    products.Change(begin, end);
    Kernels().swiglu(gate.data() + begin * ffn, up.data() + begin * ffn, (end - begin) * ffn,
                     gate.data() + begin * ffn);
  });
  products.Run(
      GroupIndex(index, LinearGroup::kDown), Used(gate, ffn),
      std::to_array<GroupProduct>({{&layer.down, Packed(index, &L::down), projected.data()}}));
}

void CpuTransformer::Pass::RunLayer(size_t index) {
  const LayerWeights& layer = model.layer(static_cast<int>(index));
  const bool last = index + 1 == static_cast<size_t>(config.layers);
  ProjectAll(index, last && !batch.all_wanted);
  AttendAll(index);
  products.Run(
      GroupIndex(index, LinearGroup::kOutput), Used(context, QWidth(config)),
      std::to_array<GroupProduct>(
          {{&layer.output, Packed(index, &PackedWeights::Layer::output), projected.data()}}));
  AddAndNorm(layer.ffn_norm);
  RunFfn(index);
  AddAndNorm(last ? model.output_norm() : model.layer(static_cast<int>(index) + 1).attn_norm);
}

void CpuTransformer::Pass::End(std::span<ForwardOutput> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const BatchSequence& sequence = batch.sequences[i];
    const float* hidden = normed.data() + sequence.wanted_begin * width;
    outputs[i].hidden.assign(hidden, hidden + sequence.wanted * width);
    KvCache* cache = sequence.input->cache;
    if (cache != nullptr && sequence.input->extend_cache) {
      cache->Commit(static_cast<int>(sequence.position + sequence.tokens));
    }
  }
}

CpuTransformer::CpuTransformer(std::shared_ptr<const Model> model, ParallelRunner& runner)
    : model_(std::move(model)),
      runner_(runner),
      pass_(std::make_unique<Pass>(model_, nullptr, runner)) {}

CpuTransformer::CpuTransformer(std::shared_ptr<const PackedWeights> weights, ParallelRunner& runner)
    : model_(weights->model()),
      packed_(std::move(weights)),
      runner_(runner),
      pass_(std::make_unique<Pass>(model_, packed_.get(), runner)) {}

CpuTransformer::~CpuTransformer() = default;

absl::Status CpuTransformer::Forward(std::span<const ForwardInput> batch,
                                     std::span<ForwardOutput> outputs) {
  RUVD_CHECK(batch.size() == outputs.size());
  if (batch.empty()) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(pass_->Begin(batch));
  pass_->Embed();
  for (size_t i = 0; i < static_cast<size_t>(model_->config().layers); ++i) {
    pass_->RunLayer(i);
  }
  pass_->End(outputs);
  return absl::OkStatus();
}

uint64_t CpuTransformer::activation_bytes() const {
  uint64_t bytes = pass_->products.bytes();
  for (const std::vector<float>* buffer : pass_->Buffers()) {
    bytes += buffer->capacity() * sizeof(float);
  }
  return bytes;
}

void CpuTransformer::Logits(std::span<const LogitsInput> batch, std::span<float> logits) {
  Pass& pass = *pass_;
  pass.mixes.clear();
  pass.gathered.clear();
  for (const LogitsInput& input : batch) {
    pass.mixes.push_back(input.adapters);
    if (batch.size() > 1) {
      pass.gathered.insert(pass.gathered.end(), input.hidden.begin(), input.hidden.end());
    }
  }
  const std::span<const float> hidden =
      batch.size() == 1 ? batch.front().hidden : std::span<const float>(pass.gathered);
  RUVD_CHECK(pass.adapters.Select(pass.mixes, &pass.prepared).ok());
  pass.adapted.clear();
  size_t rows = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    const size_t count = batch[i].hidden.size() / pass.width;
    pass.adapted.push_back({.mix = pass.prepared[i], .begin = rows, .rows = count});
    rows += count;
  }
  pass.products.SetRows(pass.adapted);
  pass.products.Run(
      OutputGroupIndex(model_->config()), hidden,
      std::to_array<GroupProduct>(
          {{&model_->output(), packed_ == nullptr ? nullptr : &packed_->output(), logits.data()}}));
  if (pass.products.changes()) {
    runner_.For(rows, pass.RowGrain(),
                [&](size_t begin, size_t end) { pass.products.Change(begin, end); });
  }
}

}  // namespace ruvd::inference
