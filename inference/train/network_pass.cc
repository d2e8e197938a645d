// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/network_pass.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/status.h"
#include "inference/train/limits.h"
#include "inference/train/ops.h"

namespace ruvd::inference::train {
namespace {

template <typename T>
uint64_t BytesOf(const std::vector<std::vector<T>>& buffers) {
  uint64_t bytes = 0;
  for (const std::vector<T>& buffer : buffers) {
    bytes += buffer.capacity() * sizeof(T);
  }
  return bytes;
}

}  // namespace

template <typename T>
uint64_t FrozenPrefix<T>::bytes() const {
  return BytesOf(streams);
}

template <typename T>
uint64_t FrozenStates<T>::bytes() const {
  return BytesOf(hidden);
}

template <typename T>
NetworkPass<T>::NetworkPass(NetworkWeights<T>& weights, ParallelRunner& runner,
                            const PassOptions& options)
    : weights_(weights),
      runner_(runner),
      options_(options),
      layers_(weights, runner),
      shape_(layers_.shape()),
      kept_(shape_.layers) {}

template <typename T>
void NetworkPass<T>::Begin(std::span<const TrainingSequence> batch, const PassUse<T>& use) {
  RUVD_CHECK(use.gradients.empty() || use.gradients.size() == batch.size());
  batch_ = batch;
  gradients_.assign(use.gradients.begin(), use.gradients.end());
  gradients_.resize(batch.size());
  changes_ = use.changes;
  prefix_ = use.prefix;
  record_ = use.record;
  frozen_ = use.frozen;
  RUVD_CHECK(record_ == nullptr ||
             (use.changes == nullptr && use.gradients.empty() && use.observer == nullptr));
  RUVD_CHECK(frozen_ == nullptr || frozen_->hidden.size() == batch.size());
  if (record_ != nullptr) {
    record_->hidden.clear();
  }
  by_t_ = use.changes != nullptr && use.changes->banked();
  FindFirst(use);
  layers_.Use(use.changes, use.observer, first_);
  backward_ = use.observer != nullptr || (!use.gradients.empty() && first_.layer <= shape_.layers);
  nats_begin_.assign(1, 0);
  for (const TrainingSequence& sequence : batch) {
    nats_begin_.push_back(nats_begin_.back() + sequence.predictions.size());
  }
  nats_.assign(nats_begin_.back(), 0.0);
  PlanGroups();
  group_ = 0;
  phase_ = Phase::kDone;
  if (!groups_.empty()) {
    BeginGroup();
  }
}

template <typename T>
void NetworkPass<T>::FindFirst(const PassUse<T>& use) {
  first_ = {shape_.layers + 1, Linear::kHead};  // after all sites
  if (use.changes != nullptr) {
    first_ = use.changes->first().value_or(first_);
  }
  if (use.observer != nullptr) {
    first_ =
        std::min(first_, {std::min(options_.observe_from, shape_.layers),
                          options_.observe_from < shape_.layers ? Linear::kQuery : Linear::kHead});
  }
}

template <typename T>
void NetworkPass<T>::PlanGroups() {
  const size_t trained =
      backward_ && first_.layer < shape_.layers ? shape_.layers - first_.layer : 0;
  const size_t layer = layers_.ActivationFloats();
  // The values of one layer whose activations are not kept, of the products, and four rows of the
  // residual stream.
  const size_t scratch = layer + layers_.ScratchFloats() + 4 * shape_.width;
  const size_t head_row = (frozen_ == nullptr ? 1 : 2) * (shape_.vocabulary + 2 * shape_.width);
  const size_t floats = static_cast<size_t>(options_.memory_bytes / sizeof(T));
  head_rows_ = std::clamp<size_t>(floats / limits::kHeadShareOf / head_row, 1, limits::kHeadRows);
  const size_t head = head_rows_ * head_row;
  const size_t budget = floats > head ? floats - head : 1;
  const size_t affordable = std::max<size_t>(1, budget / (scratch + trained * layer));
  size_t total = 0;
  for (const TrainingSequence& sequence : batch_) {
    total += sequence.tokens.size();
  }
  // Groups of equal size are better than full groups and a small rest.
  const size_t groups = (total + affordable - 1) / affordable;
  const size_t target = groups == 0 ? 0 : (total + groups - 1) / groups;
  groups_.clear();
  size_t rows = 0;
  for (size_t i = 0; i < batch_.size(); ++i) {
    const size_t tokens = batch_[i].tokens.size();
    if (groups_.empty() || rows >= target || rows + tokens > affordable) {
      groups_.push_back({.begin = i, .end = i});
      rows = 0;
    }
    rows += tokens;
    Group& group = groups_.back();
    group.end = i + 1;
    const size_t left = budget / rows;
    const size_t base = scratch + trained * shape_.width;
    const size_t more = layer - shape_.width;
    group.kept = left > base ? std::min(trained, (left - base) / more) : 0;
  }
}

template <typename T>
void NetworkPass<T>::BeginGroup() {
  const Group& group = groups_[group_];
  const size_t count = group.end - group.begin;
  packed_.Pack(batch_.subspan(group.begin, count),
               std::span<T* const>(gradients_).subspan(group.begin, count), by_t_);
  AttachStates();
  layers_.SetGroup(packed_);
  phase_ = Phase::kForward;
  layer_ = 0;
  prediction_ = 0;
  if (prefix_ != nullptr && group_ < prefix_->streams.size()) {
    layer_ = std::min(first_.layer, shape_.layers);
    stream_ = prefix_->streams[group_];
    RUVD_CHECK(stream_.size() ==
               shape_.width * (layer_ == shape_.layers ? packed_.wanted.size() : packed_.rows()));
    if (layer_ == shape_.layers) {
      BeginHead();
    }
  }
}

template <typename T>
void NetworkPass<T>::EndGroup() {
  ++group_;
  phase_ = Phase::kDone;
  if (group_ < groups_.size()) {
    BeginGroup();
  }
}

template <typename T>
bool NetworkPass<T>::Advance() {
  weights_.SetPurpose(backward_);  // other passes may have used them since
  switch (phase_) {
    case Phase::kForward:
      Forward();
      break;
    case Phase::kHead:
      Head();
      if (prediction_ == packed_.targets.size()) {
        if (backward_ && first_.layer < shape_.layers) {
          BeginBackward();
          phase_ = Phase::kBackward;
        } else {
          EndGroup();
        }
      }
      break;
    case Phase::kBackward:
      Backward(--layer_);
      if (layer_ == first_.layer) {
        RowBackward();
        EndGroup();
      }
      break;
    case Phase::kDone:
      break;
  }
  return phase_ == Phase::kDone;
}

template <typename T>
double NetworkPass<T>::Run(std::span<const TrainingSequence> batch, const PassUse<T>& use) {
  Begin(batch, use);
  while (!Advance()) {
  }
  return loss();
}

template <typename T>
double NetworkPass<T>::loss() const {
  double sum = 0;
  for (size_t s = 0; s < batch_.size(); ++s) {
    for (size_t i = 0; i < batch_[s].predictions.size(); ++i) {
      sum += batch_[s].predictions[i].weight * nats_[nats_begin_[s] + i];
    }
  }
  return sum;
}

template <typename T>
std::span<const double> NetworkPass<T>::nats(size_t sequence) const {
  return std::span(nats_).subspan(nats_begin_[sequence],
                                  nats_begin_[sequence + 1] - nats_begin_[sequence]);
}

template <typename T>
uint64_t NetworkPass<T>::bytes() const {
  uint64_t bytes = layers_.bytes() + scratch_.bytes() + weights_.scratch_bytes();
  for (const LayerActivations<T>& kept : kept_) {
    bytes += kept.bytes();
  }
  for (const Buffer* buffer : {&stream_, &next_, &hidden_, &dhidden_, &d_, &head_in_, &logits_,
                               &dhead_, &frozen_in_, &frozen_logits_}) {
    bytes += buffer->capacity() * sizeof(T);
  }
  return bytes + BytesOf(head_z_);
}

// Runs the next layer.
template <typename T>
void NetworkPass<T>::Forward() {
  if (layer_ == 0) {
    stream_.resize(packed_.rows() * shape_.width);
    weights_.Embed(packed_.tokens, stream_);
    UseRow();
  }
  const bool trained = backward_ && layer_ >= first_.layer;
  const bool kept = trained && layer_ + groups_[group_].kept >= shape_.layers;
  layers_.Forward(layer_, stream_, kept ? &kept_[layer_] : &scratch_, &next_);
  if (trained) {
    kept_[layer_].x.swap(stream_);
  }
  stream_.swap(next_);
  ++layer_;
  if (prefix_ != nullptr && layer_ == first_.layer && prefix_->streams.size() == group_ &&
      prefix_->bytes() + stream_.size() * sizeof(T) <= prefix_->max_bytes) {
    prefix_->streams.push_back(stream_);
  }
  if (layer_ == shape_.layers) {
    BeginHead();
  }
}

template <typename T>
void NetworkPass<T>::BeginHead() {
  layers_.Norm(stream_, packed_.wanted.size(), weights_.output_norm(), &hidden_);
  if (record_ != nullptr) {
    RecordStates();
    EndGroup();
    return;
  }
  dhidden_.assign(backward_ && first_.layer < shape_.layers ? hidden_.size() : 0, T{0});
  phase_ = Phase::kHead;
}

template <typename T>
void NetworkPass<T>::RecordStates() {
  const size_t width = shape_.width;
  size_t target = 0;
  for (const TrainingSequence& sequence : packed_.sequences) {
    std::vector<T>& hidden = record_->hidden.emplace_back();
    for (size_t i = 0; i < sequence.predictions.size(); ++i) {
      const T* row = hidden_.data() + packed_.targets[target++].wanted * width;
      hidden.insert(hidden.end(), row, row + width);
    }
  }
}

template <typename T>
void NetworkPass<T>::AttachStates() {
  size_t target = 0;
  for (size_t s = groups_[group_].begin; s < groups_[group_].end; ++s) {
    const bool follows = batch_[s].follows_frozen && record_ == nullptr;
    const size_t count = batch_[s].predictions.size();
    RUVD_CHECK(!follows ||
               (frozen_ != nullptr && frozen_->hidden[s].size() == count * shape_.width));
    for (size_t i = 0; i < count; ++i, ++target) {
      packed_.targets[target].frozen =
          follows ? frozen_->hidden[s].data() + i * shape_.width : nullptr;
    }
  }
}

// Turns logits_ into losses and, in a pass with gradients, into derivatives by the logits.
template <typename T>
void NetworkPass<T>::PredictionLosses(std::span<const typename PackedGroup<T>::Target> targets,
                                      std::span<double> nats) {
  const size_t vocabulary = shape_.vocabulary;
  std::vector<size_t> place(targets.size());
  frozen_in_.clear();
  for (size_t i = 0; i < targets.size(); ++i) {
    place[i] = frozen_in_.size() / shape_.width;
    if (targets[i].frozen != nullptr) {
      frozen_in_.insert(frozen_in_.end(), targets[i].frozen, targets[i].frozen + shape_.width);
    }
  }
  if (!frozen_in_.empty()) {
    frozen_logits_.resize(frozen_in_.size() / shape_.width * vocabulary);
    weights_.Multiply({shape_.layers, Linear::kHead}, frozen_in_, frozen_logits_);
  }
  runner_.For(targets.size(), 1, [&](size_t begin, size_t end) {
    Buffer scratch(frozen_in_.empty() ? 0 : vocabulary);
    for (size_t i = begin; i < end; ++i) {
      const std::span<T> row = std::span(logits_).subspan(i * vocabulary, vocabulary);
      const auto weight = static_cast<T>(targets[i].weight);
      nats[i] = targets[i].frozen == nullptr
                    ? CrossEntropy(row, targets[i].token, weight)
                    : KlDivergence<T>(
                          std::span(frozen_logits_).subspan(place[i] * vocabulary, vocabulary), row,
                          weight, scratch);
    }
  });
}

// Computes the logits of the next predictions, their losses and, in a pass with gradients, the
// derivatives.
template <typename T>
void NetworkPass<T>::Head() {
  const size_t width = shape_.width;
  const size_t count = std::min(head_rows_, packed_.targets.size() - prediction_);
  const auto targets = std::span(packed_.targets).subspan(prediction_, count);
  const auto nats =
      std::span(nats_).subspan(nats_begin_[groups_[group_].begin] + prediction_, count);
  const Site site{shape_.layers, Linear::kHead};
  prediction_ += count;
  std::vector<size_t> rows;
  std::vector<typename PackedGroup<T>::Range> ranges;
  for (const auto& target : targets) {
    rows.push_back(target.wanted);
    PackedGroup<T>::Append(1, target.gradient, target.t, &ranges);
  }
  layers_.GatherRows(hidden_, rows, width, &head_in_);
  layers_.linears().Forward(site, head_in_, ranges, &head_z_, &logits_);
  UseRowAsOutput();
  PredictionLosses(targets, nats);
  if (!backward_) {
    return;
  }
  const bool deeper = first_.layer < shape_.layers;
  RowAsOutputBackward(targets);
  layers_.linears().Backward(site, head_in_, head_z_, logits_, ranges, deeper ? &dhead_ : nullptr,
                             false);
  for (size_t i = 0; i < row_slopes_.size(); ++i) {
    AddScaled(changes_->RowParameters().data(), width, row_slopes_[i], dhead_.data() + i * width);
  }
  for (size_t i = 0; deeper && i < count; ++i) {
    AddTo(dhead_.data() + i * width, width, dhidden_.data() + rows[i] * width);
  }
}

template <typename T>
void NetworkPass<T>::BeginBackward() {
  d_.assign(dhidden_.size(), T{0});
  layers_.NormBackward(stream_, packed_.wanted.size(), weights_.output_norm(), dhidden_, &d_);
}

template <typename T>
void NetworkPass<T>::Backward(size_t layer) {
  LayerActivations<T>* a = &kept_[layer];
  if (layer + groups_[group_].kept < shape_.layers) {
    layers_.Forward(layer, kept_[layer].x, &scratch_, nullptr);
    scratch_.x.swap(kept_[layer].x);
    a = &scratch_;
  }
  layers_.Backward(layer, a, &d_);
}

template <typename T>
void NetworkPass<T>::UseRow() {
  if (changes_ == nullptr || !changes_->row()) {
    return;
  }
  const std::span<const T> row = changes_->RowParameters();
  for (size_t i = 0; i < packed_.tokens.size(); ++i) {
    if (packed_.tokens[i] == changes_->row()->token) {
      std::ranges::copy(row, stream_.begin() + static_cast<ptrdiff_t>(i * shape_.width));
    }
  }
}

template <typename T>
void NetworkPass<T>::UseRowAsOutput() {
  if (changes_ == nullptr || !changes_->row() || !changes_->row()->tied) {
    return;
  }
  const std::span<const T> row = changes_->RowParameters();
  const size_t count = head_in_.size() / shape_.width;
  for (size_t i = 0; i < count; ++i) {
    logits_[i * shape_.vocabulary + changes_->row()->token] = std::inner_product(
        row.begin(), row.end(), head_in_.begin() + static_cast<ptrdiff_t>(i * shape_.width), T{0});
  }
}

// Moves the derivative by the row's logits out of logits_, because there it would meet the frozen
// row.
template <typename T>
void NetworkPass<T>::RowAsOutputBackward(std::span<const typename PackedGroup<T>::Target> targets) {
  row_slopes_.clear();
  if (changes_ == nullptr || !changes_->row() || !changes_->row()->tied) {
    return;
  }
  const auto& [token, tied, offset] = *changes_->row();
  for (size_t i = 0; i < targets.size(); ++i) {
    T& slope = logits_[i * shape_.vocabulary + token];
    row_slopes_.push_back(std::exchange(slope, T{0}));
    if (targets[i].gradient != nullptr) {
      AddScaled(head_in_.data() + i * shape_.width, shape_.width, row_slopes_.back(),
                targets[i].gradient + offset);
    }
  }
}

// On entry, d_ is the derivative by the input of layer 0.
template <typename T>
void NetworkPass<T>::RowBackward() {
  if (changes_ == nullptr || !changes_->row()) {
    return;
  }
  const auto& [token, tied, offset] = *changes_->row();
  for (const auto& [begin, end, gradient, t] : packed_.row_ranges) {
    for (size_t i = begin; gradient != nullptr && i < end; ++i) {
      if (packed_.tokens[i] == token) {
        AddTo(d_.data() + i * shape_.width, shape_.width, gradient + offset);
      }
    }
  }
}

template struct FrozenPrefix<float>;
template struct FrozenPrefix<double>;
template struct FrozenStates<float>;
template struct FrozenStates<double>;
template class NetworkPass<float>;
template class NetworkPass<double>;

}  // namespace ruvd::inference::train
