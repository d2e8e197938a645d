// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "inference/train/change.h"
#include "inference/train/network.h"
#include "inference/train/packed_group.h"

namespace ruvd::inference::train {

// Runs single linear layers with their changes, each of which acts on the rows of its bank. Borrows
// all its arguments. Not thread-safe.
template <typename T>
class LinearPass {
 public:
  using Buffer = std::vector<T>;
  using Range = typename PackedGroup<T>::Range;

  LinearPass(NetworkWeights<T>& weights, ParallelRunner& runner)
      : weights_(weights), runner_(runner) {}

  // Both arguments may be null.
  void Use(ChangeSet<T>* changes, LinearObserver<T>* observer) {
    changes_ = changes;
    observer_ = observer;
  }

  // Computes y = W x plus the changes' parts for the rows of `ranges`, which begin at row 0. `z`
  // receives what each change keeps. If y is null, only z is computed.
  void Forward(const Site& site, const Buffer& x, std::span<const Range> ranges,
               std::vector<Buffer>* z, Buffer* y);
  // Runs the backward pass: gradients of the changes, the observer, and dx (not computed if null;
  // added to its old value with `accumulate`). x may be outdated if NeedsInput returns false.
  void Backward(const Site& site, const Buffer& x, const std::vector<Buffer>& z, const Buffer& dy,
                std::span<const Range> ranges, Buffer* dx, bool accumulate);
  bool NeedsInput(const Site& site) const;

  uint64_t bytes() const { return ignored_.capacity() * sizeof(T); }

 private:
  using Entry = typename ChangeSet<T>::Entry;
  // Consecutive rows that a change treats in the same way.
  struct Run {
    size_t begin = 0;
    size_t end = 0;
    T* gradient = nullptr;
    T weight{1};
  };
  std::span<const size_t> ChangesAt(const Site& site) const {
    return changes_ == nullptr ? std::span<const size_t>() : changes_->At(site);
  }
  // Returns the runs of a change in order, without those of weight zero. If `gradients` is false,
  // neighbouring rows are joined even if their gradients go to different places. The result is
  // valid until the next call.
  std::span<const Run> RunsOf(const Entry& entry, std::span<const Range> ranges, bool gradients);

  NetworkWeights<T>& weights_;
  ParallelRunner& runner_;
  ChangeSet<T>* changes_ = nullptr;
  LinearObserver<T>* observer_ = nullptr;
  std::vector<Run> runs_;
  Buffer ignored_;
};

extern template class LinearPass<float>;
extern template class LinearPass<double>;

}  // namespace ruvd::inference::train
