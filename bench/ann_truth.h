// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/ann_data.h"

namespace ruvd::bench {

// The inner product in float, by the widest vectors of this machine.
float FloatDot(const float* a, const float* b, size_t n);

// For each query the k-th greatest inner product with the admitted rows (all where `admitted` is
// empty), fewer rows than k: the least of them. An answer counts as right if its product reaches
// this, so that equal rows are interchangeable.
std::vector<float> Thresholds(const Matrix& base, const Matrix& queries, size_t k,
                              const std::vector<bool>& admitted);

// The part of the k best (or of `possible`, if fewer) that an answer of row numbers holds.
double RecallOf(const Matrix& base, std::span<const float> query, std::span<const uint32_t> answer,
                size_t possible, float threshold);

}  // namespace ruvd::bench
