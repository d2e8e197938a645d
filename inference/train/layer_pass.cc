// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/layer_pass.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "inference/train/attention_gradient.h"
#include "inference/train/ops.h"

namespace ruvd::inference::train {
namespace {

// Rows of element-wise work that a thread gets at a time
constexpr size_t kRowGrain = 16;

// The stage of a layer that a linear belongs to. The backward pass ends at the first trained stage.
constexpr size_t kQkvStage = 0;
constexpr size_t kOutputStage = 1;
constexpr size_t kGateUpStage = 2;
constexpr size_t kDownStage = 3;

size_t StageOf(Linear linear) {
  switch (linear) {
    case Linear::kAttentionOutput:
      return kOutputStage;
    case Linear::kGate:
    case Linear::kUp:
      return kGateUpStage;
    case Linear::kDown:
      return kDownStage;
    default:
      return kQkvStage;
  }
}

template <typename T>
std::span<const T> RowOf(const std::vector<T>& buffer, size_t row, size_t width) {
  return std::span(buffer).subspan(row * width, width);
}

}  // namespace

template <typename T>
uint64_t LayerActivations<T>::bytes() const {
  uint64_t floats = 0;
  for (const std::vector<T>* buffer :
       {&x, &q, &k, &v, &raw_q, &raw_k, &context, &log_mass, &h1, &gate, &up}) {
    floats += buffer->capacity();
  }
  for (const std::vector<std::vector<T>>& changes : z) {
    for (const std::vector<T>& kept : changes) {
      floats += kept.capacity();
    }
  }
  return floats * sizeof(T);
}

template <typename T>
LayerPass<T>::LayerPass(NetworkWeights<T>& weights, ParallelRunner& runner)
    : weights_(weights), runner_(runner), shape_(weights.shape()), linears_(weights, runner) {}

template <typename T>
void LayerPass<T>::Use(ChangeSet<T>* changes, LinearObserver<T>* observer, const Site& first) {
  changes_ = changes;
  linears_.Use(changes, observer);
  first_ = first;
}

template <typename T>
void LayerPass<T>::SetGroup(const PackedGroup<T>& group) {
  group_ = &group;
  GrowRope(*std::ranges::max_element(group.positions) + 1);
}

template <typename T>
size_t LayerPass<T>::RowsAbove(size_t layer) const {
  return narrow(layer) ? group_->wanted.size() : group_->rows();
}

template <typename T>
uint64_t LayerPass<T>::bytes() const {
  uint64_t floats = 0;
  for (const Buffer* buffer : {&normed_, &gathered_, &branch_, &product_, &dnormed_, &dcontext_,
                               &dq_, &dk_, &dv_, &dproduct_}) {
    floats += buffer->capacity();
  }
  return floats * sizeof(T) + linears_.bytes();
}

template <typename T>
size_t LayerPass<T>::ActivationFloats() const {
  size_t ranks = 0;
  for (size_t i = 0; changes_ != nullptr && i < kLayerLinears; ++i) {
    size_t most = 0;
    for (size_t layer = 0; layer < shape_.layers; ++layer) {
      size_t own = 0;
      for (const size_t at : changes_->At({layer, static_cast<Linear>(i)})) {
        own += changes_->entries()[at].change.spec().rank;
      }
      most = std::max(most, own);
    }
    ranks += most;
  }
  const size_t q = shape_.q_width();
  const size_t kv = shape_.kv_width();
  const size_t raw = weights_.q_norm(0).empty() ? 0 : q + kv;
  return 2 * shape_.width + 2 * q + 2 * kv + raw + shape_.heads + 2 * shape_.ffn + ranks;
}

template <typename T>
size_t LayerPass<T>::ScratchFloats() const {
  return 4 * shape_.width + 2 * shape_.q_width() + 2 * shape_.kv_width() + 2 * shape_.ffn;
}

// ---- Forward pass

template <typename T>
void LayerPass<T>::Forward(size_t layer, const Buffer& x, LayerActivations<T>* a, Buffer* out) {
  const size_t rows = RowsAbove(layer);
  Norm(x, group_->rows(), weights_.attn_norm(layer), &normed_);
  if (narrow(layer)) {
    GatherRows(normed_, group_->wanted, shape_.width, &gathered_);
  }
  const Buffer& query_input = narrow(layer) ? gathered_ : normed_;
  const std::span<const Range> above = RangesAbove(layer);
  linears_.Forward({layer, Linear::kQuery}, query_input, above, &a->z[0], &a->q);
  linears_.Forward({layer, Linear::kKey}, normed_, group_->row_ranges, &a->z[1], &a->k);
  linears_.Forward({layer, Linear::kValue}, normed_, group_->row_ranges, &a->z[2], &a->v);
  FinishHeads({layer, Linear::kQuery}, weights_.q_norm(layer),
              narrow(layer) ? group_->wanted_positions : group_->positions, &a->raw_q, &a->q);
  FinishHeads({layer, Linear::kKey}, weights_.k_norm(layer), group_->positions, &a->raw_k, &a->k);
  FinishHeads({layer, Linear::kValue}, {}, {}, nullptr, &a->v);
  a->context.resize(rows * shape_.q_width());
  a->log_mass.resize(rows * shape_.heads);
  Attend(layer, a, false);
  linears_.Forward({layer, Linear::kAttentionOutput}, a->context, above, &a->z[3], &branch_);
  if (narrow(layer)) {
    GatherRows(x, group_->wanted, shape_.width, &a->h1);
  } else {
    a->h1.assign(x.begin(), x.begin() + static_cast<ptrdiff_t>(rows * shape_.width));
  }
  AddRows(branch_, rows, &a->h1);
  Norm(a->h1, rows, weights_.ffn_norm(layer), &normed_);
  linears_.Forward({layer, Linear::kGate}, normed_, above, &a->z[4], &a->gate);
  linears_.Forward({layer, Linear::kUp}, normed_, above, &a->z[5], &a->up);
  SwiGluRows(*a, rows);
  linears_.Forward({layer, Linear::kDown}, product_, above, &a->z[6],
                   out == nullptr ? nullptr : &branch_);
  if (out != nullptr) {
    *out = a->h1;
    AddRows(branch_, rows, out);
  }
}

template <typename T>
void LayerPass<T>::FinishHeads(const Site& site, std::span<const T> norm,
                               std::span<const size_t> positions, Buffer* raw, Buffer* heads) {
  const size_t width = shape_.Out(site.linear);
  const size_t size = shape_.head_size;
  const size_t pairs = shape_.rope_frequencies.size();
  const std::span<const T> bias = weights_.Bias(site);
  const size_t rows = heads->size() / width;
  if (!norm.empty()) {
    raw->resize(heads->size());
  }
  if (bias.empty() && norm.empty() && positions.empty()) {
    return;
  }
  runner_.For(rows, kRowGrain, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      T* values = heads->data() + row * width;
      if (!bias.empty()) {
        AddTo(bias.data(), width, values);
      }
      if (!norm.empty()) {
        std::copy_n(values, width, raw->data() + row * width);
      }
      for (size_t h = 0; h < width; h += size) {
        if (!norm.empty()) {
          RmsNorm<T>({raw->data() + row * width + h, size}, norm, shape_.epsilon, values + h);
        }
        if (!positions.empty()) {
          Rotate(values + h, cosines_.data() + positions[row] * pairs,
                 sines_.data() + positions[row] * pairs, pairs, shape_.rope_adjacent);
        }
      }
    }
  });
}

template <typename T>
void LayerPass<T>::Attend(size_t layer, LayerActivations<T>* a, bool backward) {
  std::vector<AttentionTask<T>> tasks;
  const size_t q_width = shape_.q_width();
  const size_t kv_width = shape_.kv_width();
  size_t begin = 0;
  for (size_t s = 0; s < group_->sequences.size(); ++s) {
    const TrainingSequence& sequence = group_->sequences[s];
    const size_t first = narrow(layer) ? group_->wanted_begin[s] : begin;
    AttentionTask<T> task;
    task.mask.attention = sequence.attention;
    task.mask.attention.window = static_cast<int>(shape_.sliding_window);
    task.mask.tokens = sequence.tokens.size();
    task.mask.heads = shape_.heads;
    task.mask.kv_heads = shape_.kv_heads;
    task.mask.head_size = shape_.head_size;
    if (narrow(layer)) {
      task.mask.rows = std::span<const size_t>(group_->wanted_in)
                           .subspan(first, group_->wanted_begin[s + 1] - first);
    }
    task.q = a->q.data() + first * q_width;
    task.k = a->k.data() + begin * kv_width;
    task.v = a->v.data() + begin * kv_width;
    task.context = a->context.data() + first * q_width;
    task.log_mass = a->log_mass.data() + first * shape_.heads;
    if (backward) {
      task.dcontext = dcontext_.data() + first * q_width;
      task.dq = dq_.data() + first * q_width;
      task.dk = dk_.data() + begin * kv_width;
      task.dv = dv_.data() + begin * kv_width;
    }
    tasks.push_back(task);
    begin += sequence.tokens.size();
  }
  if (backward) {
    AttentionBackward<T>(runner_, tasks);
  } else {
    AttentionForward<T>(runner_, tasks);
  }
}

// ---- Backward pass

template <typename T>
void LayerPass<T>::Backward(size_t layer, LayerActivations<T>* a, Buffer* d) {
  const size_t stage = deeper(layer) ? kQkvStage : StageOf(first_.linear);
  BackwardFfn(layer, a, stage, d);
  if (stage > kOutputStage) {
    return;
  }
  linears_.Backward({layer, Linear::kAttentionOutput}, a->context, a->z[3], *d, RangesAbove(layer),
                    stage < kOutputStage ? &dcontext_ : nullptr, false);
  if (stage < kOutputStage) {
    BackwardAttention(layer, a, deeper(layer), d);
  }
}

template <typename T>
void LayerPass<T>::BackwardFfn(size_t layer, LayerActivations<T>* a, size_t stage, Buffer* d) {
  const size_t rows = RowsAbove(layer);
  const size_t ffn = shape_.ffn;
  const Site down{layer, Linear::kDown};
  const Site gate{layer, Linear::kGate};
  const Site up{layer, Linear::kUp};
  const std::span<const Range> ranges = RangesAbove(layer);
  if (linears_.NeedsInput(down)) {
    SwiGluRows(*a, rows);
  }
  linears_.Backward(down, product_, a->z[6], *d, ranges, stage < kDownStage ? &dproduct_ : nullptr,
                    false);
  if (stage == kDownStage) {
    return;
  }
  runner_.For(rows, kRowGrain, [&](size_t begin, size_t end) {
    SwiGluBackward(dproduct_.data() + begin * ffn, (end - begin) * ffn,
                   a->gate.data() + begin * ffn, a->up.data() + begin * ffn);
  });
  if (linears_.NeedsInput(gate) || linears_.NeedsInput(up)) {
    Norm(a->h1, rows, weights_.ffn_norm(layer), &normed_);
  }
  Buffer* dnormed = stage < kGateUpStage ? &dnormed_ : nullptr;
  linears_.Backward(gate, normed_, a->z[4], a->gate, ranges, dnormed, false);
  linears_.Backward(up, normed_, a->z[5], a->up, ranges, dnormed, true);
  if (stage < kGateUpStage) {  // for the residual path, d itself is the derivative
    NormBackward(a->h1, rows, weights_.ffn_norm(layer), dnormed_, d);
  }
}

template <typename T>
void LayerPass<T>::BackwardAttention(size_t layer, LayerActivations<T>* a, bool deeper, Buffer* d) {
  const size_t width = shape_.width;
  const Site query{layer, Linear::kQuery};
  const Site key{layer, Linear::kKey};
  const Site value{layer, Linear::kValue};
  dq_.resize(RowsAbove(layer) * shape_.q_width());
  dk_.resize(group_->rows() * shape_.kv_width());
  dv_.resize(group_->rows() * shape_.kv_width());
  Attend(layer, a, true);
  BackwardHeads(query, weights_.q_norm(layer),
                narrow(layer) ? group_->wanted_positions : group_->positions, a->raw_q, &dq_);
  BackwardHeads(key, weights_.k_norm(layer), group_->positions, a->raw_k, &dk_);
  if (linears_.NeedsInput(query) || linears_.NeedsInput(key) || linears_.NeedsInput(value)) {
    Norm(a->x, group_->rows(), weights_.attn_norm(layer), &normed_);
  }
  Buffer* dnormed = deeper ? &dnormed_ : nullptr;
  linears_.Backward(key, normed_, a->z[1], dk_, group_->row_ranges, dnormed, false);
  linears_.Backward(value, normed_, a->z[2], dv_, group_->row_ranges, dnormed, true);
  if (!narrow(layer)) {
    linears_.Backward(query, normed_, a->z[0], dq_, group_->row_ranges, dnormed, true);
  } else {
    if (linears_.NeedsInput(query)) {
      GatherRows(normed_, group_->wanted, width, &gathered_);
    }
    linears_.Backward(query, gathered_, a->z[0], dq_, group_->wanted_ranges,
                      deeper ? &branch_ : nullptr, false);
    if (deeper) {
      d->swap(gathered_);
      d->assign(group_->rows() * width, T{0});
      for (size_t i = 0; i < group_->wanted.size(); ++i) {
        AddTo(branch_.data() + i * width, width, dnormed_.data() + group_->wanted[i] * width);
        std::copy_n(gathered_.data() + i * width, width, d->data() + group_->wanted[i] * width);
      }
    }
  }
  if (deeper) {
    NormBackward(a->x, group_->rows(), weights_.attn_norm(layer), dnormed_, d);
  }
}

template <typename T>
void LayerPass<T>::BackwardHeads(const Site& site, std::span<const T> norm,
                                 std::span<const size_t> positions, const Buffer& raw,
                                 Buffer* dheads) {
  const size_t width = shape_.Out(site.linear);
  const size_t size = shape_.head_size;
  const size_t pairs = shape_.rope_frequencies.size();
  runner_.For(dheads->size() / width, kRowGrain, [&](size_t begin, size_t end) {
    Buffer turned(size);
    for (size_t row = begin; row < end; ++row) {
      for (size_t h = 0; h < width; h += size) {
        T* values = dheads->data() + row * width + h;
        Rotate(values, cosines_.data() + positions[row] * pairs,
               negated_sines_.data() + positions[row] * pairs, pairs, shape_.rope_adjacent);
        if (!norm.empty()) {
          turned.assign(values, values + size);
          std::fill_n(values, size, T{0});
          RmsNormBackward<T>(RowOf(raw, 0, raw.size()).subspan(row * width + h, size), norm,
                             shape_.epsilon, turned.data(), values);
        }
      }
    }
  });
}

// ---- Rows

template <typename T>
void LayerPass<T>::Norm(const Buffer& x, size_t rows, std::span<const T> w, Buffer* y) {
  const size_t width = shape_.width;
  y->resize(rows * width);
  runner_.For(rows, kRowGrain, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      RmsNorm<T>(RowOf(x, row, width), w, shape_.epsilon, y->data() + row * width);
    }
  });
}

template <typename T>
void LayerPass<T>::NormBackward(const Buffer& x, size_t rows, std::span<const T> w,
                                const Buffer& dy, Buffer* dx) {
  const size_t width = shape_.width;
  runner_.For(rows, kRowGrain, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      RmsNormBackward<T>(RowOf(x, row, width), w, shape_.epsilon, dy.data() + row * width,
                         dx->data() + row * width);
    }
  });
}

template <typename T>
void LayerPass<T>::GatherRows(const Buffer& from, std::span<const size_t> rows, size_t width,
                              Buffer* to) {
  to->resize(rows.size() * width);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(from.data() + rows[i] * width, width, to->data() + i * width);
  }
}

template <typename T>
void LayerPass<T>::AddRows(const Buffer& x, size_t rows, Buffer* y) {
  const size_t width = shape_.width;
  runner_.For(rows, kRowGrain, [&](size_t begin, size_t end) {
    AddTo(x.data() + begin * width, (end - begin) * width, y->data() + begin * width);
  });
}

template <typename T>
void LayerPass<T>::SwiGluRows(const LayerActivations<T>& a, size_t rows) {
  const size_t ffn = shape_.ffn;
  product_.resize(rows * ffn);
  runner_.For(rows, kRowGrain, [&](size_t begin, size_t end) {
    SwiGlu(a.gate.data() + begin * ffn, a.up.data() + begin * ffn, (end - begin) * ffn,
           product_.data() + begin * ffn);
  });
}

template <typename T>
void LayerPass<T>::GrowRope(size_t positions) {
  const std::vector<double>& frequencies = shape_.rope_frequencies;
  for (size_t p = frequencies.empty() ? positions : cosines_.size() / frequencies.size();
       p < positions; ++p) {
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(p) * frequency;
      cosines_.push_back(static_cast<T>(shape_.rope_magnitude * std::cos(angle)));
      sines_.push_back(static_cast<T>(shape_.rope_magnitude * std::sin(angle)));
      negated_sines_.push_back(-sines_.back());
    }
  }
}

template struct LayerActivations<float>;
template struct LayerActivations<double>;
template class LayerPass<float>;
template class LayerPass<double>;

}  // namespace ruvd::inference::train
