// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "inference/train/change.h"
#include "inference/train/linear_pass.h"
#include "inference/train/network.h"
#include "inference/train/packed_group.h"

namespace ruvd::inference::train {

// What the way back needs of a layer: x, k, v for all rows; the others, in the last layer, for the
// wanted rows only.
template <typename T>
struct LayerActivations {
  std::vector<T> x, q, k, v, raw_q, raw_k, context, log_mass, h1, gate, up;
  std::array<std::vector<std::vector<T>>, kLayerLinears> z;  // what changes keep, one for each

  uint64_t bytes() const;
};

// Single layers of the network, forwards and backwards over a group:
//   h1 = x + O attention(norm(x));  out = h1 + D(silu(G norm(h1)) * U norm(h1)).
// Keeps its scratch memory. Borrows everything it is given; not thread-safe.
template <typename T>
class LayerPass {
 public:
  using Buffer = std::vector<T>;
  using Range = typename PackedGroup<T>::Range;

  LayerPass(NetworkWeights<T>& weights, ParallelRunner& runner);

  const NetworkShape& shape() const { return shape_; }
  // Changes and observer may be null. `first` is the first site that is trained or observed: the
  // way back ends there, or where the changes train a row of the embedding, at the input of layer
  // 0.
  void Use(ChangeSet<T>* changes, LinearObserver<T>* observer, const Site& first);
  void SetGroup(const PackedGroup<T>& group);

  // Rows of the layer's output: of the last layer the wanted ones.
  size_t RowsAbove(size_t layer) const;
  // Fills all of `a` but x. With `out` null the output is not wanted.
  void Forward(size_t layer, const Buffer& x, LayerActivations<T>* a, Buffer* out);
  // `d` is the derivative by the layer's output before, by its input afterwards (unless the way
  // back ends in this layer). Overwrites gate and up of `a`.
  void Backward(size_t layer, LayerActivations<T>* a, Buffer* d);

  LinearPass<T>& linears() { return linears_; }
  // y = rms_norm(x); dx += its derivative.
  void Norm(const Buffer& x, size_t rows, std::span<const T> w, Buffer* y);
  void NormBackward(const Buffer& x, size_t rows, std::span<const T> w, const Buffer& dy,
                    Buffer* dx);
  void GatherRows(const Buffer& from, std::span<const size_t> rows, size_t width, Buffer* to);

  uint64_t bytes() const;
  // Floats that a row takes: of a layer's activations, and of scratch.
  size_t ActivationFloats() const;
  size_t ScratchFloats() const;

 private:
  void FinishHeads(const Site& site, std::span<const T> norm, std::span<const size_t> positions,
                   Buffer* raw, Buffer* heads);
  void Attend(size_t layer, LayerActivations<T>* a, bool backward);
  void BackwardFfn(size_t layer, LayerActivations<T>* a, size_t stage, Buffer* d);
  void BackwardAttention(size_t layer, LayerActivations<T>* a, bool deeper, Buffer* d);
  void BackwardHeads(const Site& site, std::span<const T> norm, std::span<const size_t> positions,
                     const Buffer& raw, Buffer* dheads);
  void AddRows(const Buffer& x, size_t rows, Buffer* y);
  void SwiGluRows(const LayerActivations<T>& a, size_t rows);
  void GrowRope(size_t positions);
  // Whether the derivative by the layer's input is wanted.
  bool deeper(size_t layer) const {
    return layer > first_.layer || (changes_ != nullptr && changes_->row().has_value());
  }
  bool narrow(size_t layer) const { return layer + 1 == shape_.layers && !group_->all_wanted(); }
  std::span<const Range> RangesAbove(size_t layer) const {
    return narrow(layer) ? group_->wanted_ranges : group_->row_ranges;
  }

  NetworkWeights<T>& weights_;
  ParallelRunner& runner_;
  const NetworkShape shape_;
  LinearPass<T> linears_;
  ChangeSet<T>* changes_ = nullptr;
  Site first_;
  const PackedGroup<T>* group_ = nullptr;
  Buffer normed_, gathered_, branch_, product_;
  Buffer dnormed_, dcontext_, dq_, dk_, dv_, dproduct_;
  Buffer cosines_, sines_, negated_sines_;
};

extern template struct LayerActivations<float>;
extern template struct LayerActivations<double>;
extern template class LayerPass<float>;
extern template class LayerPass<double>;

}  // namespace ruvd::inference::train
