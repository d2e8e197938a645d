// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "inference/train/change.h"
#include "inference/train/ops.h"

namespace ruvd::train {

// The frozen linear layers of the last layer's tail, in the order they run.
enum class TailLinear : uint8_t { kAttentionOutput, kGate, kUp, kDown, kHead };

struct TailShape {
  size_t attention = 0;  // concatenated heads
  size_t width = 0;
  size_t ffn = 0;
  size_t vocabulary = 0;
  double epsilon = 0;

  size_t In(TailLinear linear) const {
    return linear == TailLinear::kAttentionOutput ? attention
           : linear == TailLinear::kDown          ? ffn
                                                  : width;
  }
  size_t Out(TailLinear linear) const {
    return linear == TailLinear::kHead                                ? vocabulary
           : linear == TailLinear::kGate || linear == TailLinear::kUp ? ffn
                                                                      : width;
  }
};

// The frozen weights, quantised or not, with whatever adapters are active beneath the trained one.
template <typename T>
class TailWeights {
 public:
  virtual ~TailWeights() = default;
  virtual const TailShape& shape() const = 0;
  virtual std::span<const T> ffn_norm() const = 0;
  virtual std::span<const T> output_norm() const = 0;
  // y (rows x out) = x (rows x in) W^T.
  virtual void Multiply(TailLinear linear, std::span<const T> x, std::span<T> y) = 0;
  // dx (rows x in) = dy (rows x out) W.
  virtual void MultiplyTransposed(TailLinear linear, std::span<const T> dy, std::span<T> dx) = 0;
};

// Rows whose token is to be predicted, with what the tail is computed from.
template <typename T>
struct TailRows {
  std::vector<T> attention;  // rows x attention
  std::vector<T> residual;   // rows x width
  std::vector<uint32_t> targets;
  std::vector<T> weights;  // of each row's cross-entropy in the loss

  size_t size() const { return targets.size(); }
};

// The last layer after its attention, and the head:
//   h1 = residual + O ctx;  h2 = h1 + D(silu(G n1) * U n1), n1 = rmsnorm(h1);
//   loss = sum_i weight_i * CE(H rmsnorm(h2), target_i)
// Row by row; nothing earlier in the model depends on a change of these layers. Keeps its buffers
// between calls. Not thread-safe.
template <typename T>
class Tail {
 public:
  // `change` (may be null) is added to the layer `site`. Borrows both.
  Tail(TailWeights<T>& weights, TailLinear site, Change<T>* change)
      : weights_(weights), shape_(weights.shape()), site_(site), change_(change) {}

  // The loss of rows [begin, begin + rows); with `backward`, adds its derivative to the change's
  // gradient.
  double Run(const TailRows<T>& batch, size_t begin, size_t rows, bool backward);

 private:
  using Buffer = std::vector<T>;

  void Linear(TailLinear linear, const Buffer& x, Buffer* y);
  void LinearBackward(TailLinear linear, const Buffer& dy, Buffer* dx);
  // True if the change sits at `linear`; its gradient is taken and the backward pass is over.
  bool Reached(TailLinear linear, std::span<const T> x, const Buffer& dy);
  void Norm(const Buffer& x, std::span<const T> w, Buffer* inverse, Buffer* y);
  void NormBackward(const Buffer& x, std::span<const T> w, const Buffer& inverse, const Buffer& dy,
                    Buffer* dx);
  void Forward(const TailRows<T>& batch, size_t begin, size_t rows);
  void Backward();

  TailWeights<T>& weights_;
  TailShape shape_;
  TailLinear site_;
  Change<T>* change_;
  Buffer attention_, h1_, n1_, gate_, up_, product_, h2_, n2_, logits_, inverse1_, inverse2_;
  Buffer branch_, dn2_, dh2_, dproduct_, dgate_, dup_, dn1_;
};

template <typename T>
double Tail<T>::Run(const TailRows<T>& batch, size_t begin, size_t rows, bool backward) {
  Forward(batch, begin, rows);
  double loss = 0;
  for (size_t row = 0; row < rows; ++row) {
    const T weight = batch.weights[begin + row];
    const double cross_entropy =
        CrossEntropy(std::span(logits_).subspan(row * shape_.vocabulary, shape_.vocabulary),
                     batch.targets[begin + row], weight);
    loss += static_cast<double>(weight) * cross_entropy;
  }
  if (backward && change_ != nullptr) {
    Backward();
  }
  return loss;
}

template <typename T>
void Tail<T>::Linear(TailLinear linear, const Buffer& x, Buffer* y) {
  y->resize(x.size() / shape_.In(linear) * shape_.Out(linear));
  weights_.Multiply(linear, x, *y);
  if (change_ != nullptr && linear == site_) {
    change_->Forward(x, *y);
  }
}

template <typename T>
void Tail<T>::LinearBackward(TailLinear linear, const Buffer& dy, Buffer* dx) {
  dx->resize(dy.size() / shape_.Out(linear) * shape_.In(linear));
  weights_.MultiplyTransposed(linear, dy, *dx);
}

template <typename T>
bool Tail<T>::Reached(TailLinear linear, std::span<const T> x, const Buffer& dy) {
  if (linear == site_) {
    change_->Backward(x, dy);
  }
  return linear == site_;
}

template <typename T>
void Tail<T>::Norm(const Buffer& x, std::span<const T> w, Buffer* inverse, Buffer* y) {
  const size_t width = shape_.width;
  y->resize(x.size());
  inverse->resize(x.size() / width);
  for (size_t row = 0; row < inverse->size(); ++row) {
    (*inverse)[row] = RmsNorm<T>(std::span(x).subspan(row * width, width), w, shape_.epsilon,
                                 std::span(*y).subspan(row * width, width));
  }
}

template <typename T>
void Tail<T>::NormBackward(const Buffer& x, std::span<const T> w, const Buffer& inverse,
                           const Buffer& dy, Buffer* dx) {
  const size_t width = shape_.width;
  for (size_t row = 0; row < inverse.size(); ++row) {
    RmsNormBackward<T>(std::span(x).subspan(row * width, width), w, inverse[row],
                       std::span(dy).subspan(row * width, width),
                       std::span(*dx).subspan(row * width, width));
  }
}

template <typename T>
void Tail<T>::Forward(const TailRows<T>& batch, size_t begin, size_t rows) {
  const auto slice = [&](const Buffer& all, size_t width) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin * width);
    return Buffer(first, first + static_cast<std::ptrdiff_t>(rows * width));
  };
  const auto add = [this](Buffer* to) {
    for (size_t i = 0; i < to->size(); ++i) {
      (*to)[i] += branch_[i];
    }
  };
  attention_ = slice(batch.attention, shape_.attention);
  h1_ = slice(batch.residual, shape_.width);
  Linear(TailLinear::kAttentionOutput, attention_, &branch_);
  add(&h1_);
  Norm(h1_, weights_.ffn_norm(), &inverse1_, &n1_);
  Linear(TailLinear::kGate, n1_, &gate_);
  Linear(TailLinear::kUp, n1_, &up_);
  product_.resize(gate_.size());
  SwiGlu<T>(gate_, up_, product_);
  Linear(TailLinear::kDown, product_, &branch_);
  h2_ = h1_;
  add(&h2_);
  Norm(h2_, weights_.output_norm(), &inverse2_, &n2_);
  Linear(TailLinear::kHead, n2_, &logits_);
}

template <typename T>
void Tail<T>::Backward() {
  if (Reached(TailLinear::kHead, n2_, logits_)) {  // logits_ holds their gradient now
    return;
  }
  LinearBackward(TailLinear::kHead, logits_, &dn2_);
  dh2_.assign(h2_.size(), T{0});
  NormBackward(h2_, weights_.output_norm(), inverse2_, dn2_, &dh2_);
  if (Reached(TailLinear::kDown, product_, dh2_)) {
    return;
  }
  LinearBackward(TailLinear::kDown, dh2_, &dproduct_);
  dgate_.resize(gate_.size());
  dup_.resize(up_.size());
  SwiGluBackward<T>(gate_, up_, dproduct_, dgate_, dup_);
  if (Reached(TailLinear::kUp, n1_, dup_) || Reached(TailLinear::kGate, n1_, dgate_)) {
    return;
  }
  LinearBackward(TailLinear::kGate, dgate_, &dn1_);
  LinearBackward(TailLinear::kUp, dup_, &branch_);
  for (size_t i = 0; i < dn1_.size(); ++i) {
    dn1_[i] += branch_[i];
  }
  NormBackward(h1_, weights_.ffn_norm(), inverse1_, dn1_,
               &dh2_);  // the residual path is dh2 itself
  Reached(TailLinear::kAttentionOutput, attention_, dh2_);
}

}  // namespace ruvd::train
