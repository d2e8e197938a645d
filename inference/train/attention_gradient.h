// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>

#include "base/parallel.h"
#include "inference/transformer/attention.h"

namespace ruvd::inference::train {

// One sequence's attention in one layer: context = softmax(q k^T / sqrt(head_size)) v over the keys
// that each query sees. Row r of `q` is the query of new token mask.RowOf(r).
template <typename T>
struct AttentionTask {
  // Which keys a query sees, and the sizes; its prefix, suffix and cache are empty, its pointers
  // unused.
  AttentionInput mask;
  const T* q = nullptr;   // queries x (heads * head_size), rotated
  const T* k = nullptr;   // tokens x (kv_heads * head_size), rotated
  const T* v = nullptr;   // the same shape
  T* context = nullptr;   // like q
  T* log_mass = nullptr;  // queries x heads: log of the sum of exponentials, for the way back
  // The way back: dL/dcontext, and where dL/dq, dL/dk, dL/dv are written.
  const T* dcontext = nullptr;
  T* dq = nullptr;
  T* dk = nullptr;
  T* dv = nullptr;
};

// Fill context and log_mass; fill dq, dk and dv. Weights are computed again on the way back, a
// block of queries at a time (FlashAttention, arXiv 2205.14135), so memory does not grow with the
// square of the length. Parallel over sequences and kv heads; results do not depend on the threads.
template <typename T>
void AttentionForward(ParallelRunner& runner, std::span<const AttentionTask<T>> tasks);
template <typename T>
void AttentionBackward(ParallelRunner& runner, std::span<const AttentionTask<T>> tasks);

extern template void AttentionForward(ParallelRunner&, std::span<const AttentionTask<float>>);
extern template void AttentionForward(ParallelRunner&, std::span<const AttentionTask<double>>);
extern template void AttentionBackward(ParallelRunner&, std::span<const AttentionTask<float>>);
extern template void AttentionBackward(ParallelRunner&, std::span<const AttentionTask<double>>);

}  // namespace ruvd::inference::train
