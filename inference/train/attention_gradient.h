// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>

#include "base/parallel.h"
#include "inference/transformer/attention.h"

namespace ruvd::inference::train {

// The attention of one sequence in one layer: context = softmax(q k^T / sqrt(head_size)) v over the
// keys that each query sees. Row r of `q` is the query of new token mask.RowOf(r).
template <typename T>
struct AttentionTask {
  // Which keys a query sees, and the sizes. Its prefix, suffix and cache are empty; its pointers
  // are not used.
  AttentionInput mask;
  const T* q = nullptr;   // queries x (heads * head_size), rotated
  const T* k = nullptr;   // tokens x (kv_heads * head_size), rotated
  const T* v = nullptr;   // the same shape
  T* context = nullptr;   // like q
  T* log_mass = nullptr;  // queries x heads: log of the sum of exponentials, for the backward pass
  // Backward pass: dL/dcontext, and where dL/dq, dL/dk and dL/dv are written
  const T* dcontext = nullptr;
  T* dq = nullptr;
  T* dk = nullptr;
  T* dv = nullptr;
};

// AttentionForward fills context and log_mass; AttentionBackward fills dq, dk and dv. The backward
// pass computes the weights again, a block of queries at a time (FlashAttention, arXiv 2205.14135),
// so memory does not grow with the square of the length. Both run in parallel over sequences and kv
// heads; results do not depend on the number of threads.
template <typename T>
void AttentionForward(ParallelRunner& runner, std::span<const AttentionTask<T>> tasks);
template <typename T>
void AttentionBackward(ParallelRunner& runner, std::span<const AttentionTask<T>> tasks);

extern template void AttentionForward(ParallelRunner&, std::span<const AttentionTask<float>>);
extern template void AttentionForward(ParallelRunner&, std::span<const AttentionTask<double>>);
extern template void AttentionBackward(ParallelRunner&, std::span<const AttentionTask<float>>);
extern template void AttentionBackward(ParallelRunner&, std::span<const AttentionTask<double>>);

}  // namespace ruvd::inference::train
