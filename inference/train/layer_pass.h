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

// The values of a layer that the backward pass needs: x, k and v for all rows; the others, in the
// last layer, only for the wanted rows.
template <typename T>
struct LayerActivations {
  std::vector<T> x, q, k, v, raw_q, raw_k, context, log_mass, h1, gate, up;
  std::array<std::vector<std::vector<T>>, kLayerLinears> z;  // what each change keeps, per linear

  uint64_t bytes() const;
};

// Runs single layers of the network forwards and backwards over a group:
//   h1 = x + O attention(norm(x));  out = h1 + D(silu(G norm(h1)) * U norm(h1)).
// It keeps its scratch memory and borrows all its arguments. Not thread-safe.
template <typename T>
class LayerPass {
 public:
  using Buffer = std::vector<T>;
  using Range = typename PackedGroup<T>::Range;

  LayerPass(NetworkWeights<T>& weights, ParallelRunner& runner);

  const NetworkShape& shape() const { return shape_; }
  // Changes and observer may be null. `first` is the first site that is trained or observed: the
  // backward pass ends there, or at the input of layer 0 if the changes train a row of the
  // embedding.
  void Use(ChangeSet<T>* changes, LinearObserver<T>* observer, const Site& first);
  void SetGroup(const PackedGroup<T>& group);

  // Returns the number of rows of the layer's output; for the last layer, only the wanted rows.
  size_t RowsAbove(size_t layer) const;
  // Fills all of `a` except x. If `out` is null, the output is not computed.
  void Forward(size_t layer, const Buffer& x, LayerActivations<T>* a, Buffer* out);
  // On entry, `d` is the derivative by the layer's output; on return, by its input (unless the
  // backward pass ends in this layer). Overwrites gate and up of `a`.
  void Backward(size_t layer, LayerActivations<T>* a, Buffer* d);

  LinearPass<T>& linears() { return linears_; }
  // Computes y = rms_norm(x). NormBackward adds its derivative to dx.
  void Norm(const Buffer& x, size_t rows, std::span<const T> w, Buffer* y);
  void NormBackward(const Buffer& x, size_t rows, std::span<const T> w, const Buffer& dy,
                    Buffer* dx);
  void GatherRows(const Buffer& from, std::span<const size_t> rows, size_t width, Buffer* to);

  uint64_t bytes() const;
  // Floats per row: of a layer's activations, and of scratch memory
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
  // Returns whether the derivative by the layer's input is needed.
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
