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

// Single linear layers with their changes, each acting on the rows of its bank. Borrows everything
// it is given; not thread-safe.
template <typename T>
class LinearPass {
 public:
  using Buffer = std::vector<T>;
  using Range = typename PackedGroup<T>::Range;

  LinearPass(NetworkWeights<T>& weights, ParallelRunner& runner)
      : weights_(weights), runner_(runner) {}

  // Both may be null.
  void Use(ChangeSet<T>* changes, LinearObserver<T>* observer) {
    changes_ = changes;
    observer_ = observer;
  }

  // y = W x and the changes' parts for the rows of `ranges`, which begin at row 0. z: what each
  // change keeps. y null: only z is wanted.
  void Forward(const Site& site, const Buffer& x, std::span<const Range> ranges,
               std::vector<Buffer>* z, Buffer* y);
  // The way back: gradients of the changes, the observer, and dx (null: not wanted; added to it
  // with `accumulate`). x may be stale where NeedsInput says no.
  void Backward(const Site& site, const Buffer& x, const std::vector<Buffer>& z, const Buffer& dy,
                std::span<const Range> ranges, Buffer* dx, bool accumulate);
  bool NeedsInput(const Site& site) const;

  uint64_t bytes() const { return ignored_.capacity() * sizeof(T); }

 private:
  using Entry = typename ChangeSet<T>::Entry;
  // Rows that a change treats alike.
  struct Run {
    size_t begin = 0;
    size_t end = 0;
    T* gradient = nullptr;
    T weight{1};
  };
  std::span<const size_t> ChangesAt(const Site& site) const {
    return changes_ == nullptr ? std::span<const size_t>() : changes_->At(site);
  }
  // The runs of a change in their order, those without weight left out. Without `gradients` rows
  // stay together wherever their gradients go. Valid until the next call.
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
