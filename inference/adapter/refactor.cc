// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/refactor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "inference/adapter/merge.h"

namespace ruvd::inference {
namespace {

DenseMatrix FactorA(const LowRank& change) {
  return {static_cast<size_t>(change.rank), static_cast<size_t>(change.in), change.a};
}
DenseMatrix FactorB(const LowRank& change) {
  return {static_cast<size_t>(change.out), static_cast<size_t>(change.rank), change.b};
}

// Returns B = the left vectors times the singular values, A = the right vectors, without those
// whose singular value is zero.
LowRank FromTriples(const SvdFactors& factors, int most) {
  const auto nonzero =
      std::count_if(factors.s.begin(), factors.s.end(), [](double value) { return value > 0; });
  const auto rank =
      std::max<size_t>(1, std::min(static_cast<size_t>(most), static_cast<size_t>(nonzero)));
  LowRank change{.rank = static_cast<int>(rank),
                 .in = static_cast<int>(factors.right.columns),
                 .out = static_cast<int>(factors.left.columns)};
  change.a.assign(factors.right.row(0), factors.right.row(0) + rank * factors.right.columns);
  change.b.resize(rank * factors.left.columns);
  for (size_t row = 0; row < factors.left.columns; ++row) {
    for (size_t r = 0; r < rank; ++r) {
      change.b[row * rank + r] = static_cast<float>(factors.s[r] * factors.left.at(r, row));
    }
  }
  return change;
}

}  // namespace

LowRank StackChanges(std::span<const WeightedChange> changes) {
  LowRank sum{.in = changes[0].change->in, .out = changes[0].change->out};
  for (const auto& [change, weight] : changes) {
    sum.rank += change->rank;
    sum.a.insert(sum.a.end(), change->a.begin(), change->a.end());
  }
  const auto rank = static_cast<size_t>(sum.rank);
  sum.b.resize(static_cast<size_t>(sum.out) * rank);
  size_t offset = 0;
  for (const auto& [change, weight] : changes) {
    const auto own = static_cast<size_t>(change->rank);
    const double factor = weight * static_cast<double>(change->scale);
    for (size_t row = 0; row < static_cast<size_t>(sum.out); ++row) {
      for (size_t r = 0; r < own; ++r) {
        sum.b[row * rank + offset + r] =
            static_cast<float>(factor * static_cast<double>(change->b[row * own + r]));
      }
    }
    offset += own;
  }
  return sum;
}

DenseMatrix ToDenseMatrix(const LowRank& change) {
  DenseMatrix full = Product(FactorB(change), FactorA(change));
  for (double& value : full.values) {
    value *= static_cast<double>(change.scale);
  }
  return full;
}

LowRank TruncateRank(const LowRank& change, int rank) {
  const QrFactors b = Qr(FactorB(change));
  const QrFactors a = Qr(Transposed(FactorA(change)));
  SvdFactors middle = Svd(ProductTransposed(b.r, a.r));
  for (double& value : middle.s) {
    value *= std::abs(static_cast<double>(change.scale));
  }
  if (change.scale < 0) {
    for (double& value : middle.left.values) {
      value = -value;
    }
  }
  const SvdFactors factors{.left = ProductTransposed(middle.left, b.q),
                           .s = std::move(middle.s),
                           .right = ProductTransposed(middle.right, a.q)};
  return FromTriples(factors, rank);
}

LowRank TruncateDenseRank(const DenseMatrix& full, int rank) {
  return FromTriples(TopSvd(full, static_cast<size_t>(rank)), rank);
}

double ChangeDot(const LowRank& a, const LowRank& b) {
  // The formula is <B A, B' A'> = <B^T B', A A'^T>, where both factors are rank x rank'.
  const DenseMatrix left = ProductTransposed(Transposed(FactorB(a)), Transposed(FactorB(b)));
  const DenseMatrix right = ProductTransposed(FactorA(a), FactorA(b));
  return static_cast<double>(a.scale) * static_cast<double>(b.scale) *
         Dot(left.values.data(), right.values.data(), left.values.size());
}

}  // namespace ruvd::inference
