// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Computes leading eigenvectors and singular vectors of larger matrices.

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "base/status.h"
#include "inference/numerics/dense.h"

namespace ruvd::inference {
namespace {

constexpr size_t kSpareVectors = 8;  // vectors beyond those wanted, which speed up convergence
constexpr double kTolerance = 1e-7;  // relative to the largest eigenvalue
constexpr uint64_t kStartSeed = 0x9e3779b97f4a7c15;

// Returns a uniform value, because the logarithm in a normal one differs between machines.
double RandomValue(Random& random) {
  return 2 * random.Uniform() - 1;
}

// Appends to `basis` orthonormal rows that span the rows of `block` and are orthogonal to the first
// `count` rows of `basis`. A row that lies in the span of the others is replaced by a random one.
// Gram-Schmidt, done twice (Giraud, Langou, Rozloznik 2005). `basis` never gets more than
// basis.rows rows.
void AppendOrthonormal(const DenseMatrix& block, Random& random, DenseMatrix* basis,
                       size_t* count) {
  const size_t n = basis->columns;
  for (size_t b = 0; b < block.rows && *count < basis->rows; ++b) {
    double* row = basis->row(*count);
    std::copy_n(block.row(b), n, row);
    double before = std::sqrt(Dot(row, row, n));
    for (bool done = false; !done;) {
      for (int pass = 0; pass < 2; ++pass) {
        for (size_t i = 0; i < *count; ++i) {
          const double dot = Dot(row, basis->row(i), n);
          for (size_t k = 0; k < n; ++k) {
            row[k] -= dot * basis->at(i, k);
          }
        }
      }
      const double norm = std::sqrt(Dot(row, row, n));
      done = norm > 1e-10 * before && norm > 0;
      before = 0;
      for (size_t k = 0; k < n; ++k) {
        row[k] = done ? row[k] / norm : RandomValue(random);
        before += row[k] * row[k];
      }
      before = std::sqrt(before);
    }
    ++*count;
  }
}

DenseMatrix RandomRows(size_t rows, size_t columns, Random& random) {
  DenseMatrix block(rows, columns);
  for (double& value : block.values) {
    value = RandomValue(random);
  }
  return block;
}

// Returns the rows from `begin` to `end`.
DenseMatrix Rows(const DenseMatrix& m, size_t begin, size_t end) {
  DenseMatrix rows(end - begin, m.columns);
  std::copy(m.row(begin), m.row(begin) + rows.values.size(), rows.values.begin());
  return rows;
}

// Computes an orthonormal basis of `start` and its images under C, and the images of that basis.
void BuildKrylov(const SymmetricOperator& c, const DenseMatrix& start, size_t rows, Random& random,
                 DenseMatrix* basis, DenseMatrix* images) {
  *basis = DenseMatrix(rows, start.columns);
  *images = DenseMatrix(rows, start.columns);
  size_t count = 0;
  AppendOrthonormal(start, random, basis, &count);
  for (size_t begin = 0; begin < count;) {
    const DenseMatrix block = Rows(*basis, begin, count);
    DenseMatrix image(block.rows, block.columns);
    c(block, &image);
    std::copy(image.values.begin(), image.values.end(), images->row(begin));
    begin = count;
    AppendOrthonormal(image, random, basis, &count);
  }
}

// Returns the largest residual of the first `count` pairs. `images` are those of the vectors.
double LargestResidual(const EigenPairs& pairs, const DenseMatrix& images, size_t count) {
  double largest = 0;
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (size_t k = 0; k < images.columns; ++k) {
      const double difference = images.at(i, k) - pairs.values[i] * pairs.vectors.at(i, k);
      sum += difference * difference;
    }
    largest = std::max(largest, std::sqrt(sum));
  }
  return largest;
}

}  // namespace

EigenPairs TopEigen(const SymmetricOperator& c, size_t n, size_t count,
                    const SearchEffort& effort) {
  RUVD_CHECK(count <= n);
  Random random(kStartSeed);
  const size_t block = std::min(n, count + kSpareVectors);
  const size_t dimension = std::min(n, block * effort.blocks);
  DenseMatrix start = RandomRows(block, n, random);
  EigenPairs pairs;
  for (int restart = 0; restart < effort.restarts; ++restart) {
    DenseMatrix basis;
    DenseMatrix images;
    BuildKrylov(c, start, dimension, random, &basis, &images);
    const EigenPairs small = SymmetricEigen(ProductTransposed(basis, images));
    const DenseMatrix chosen = Rows(small.vectors, 0, block);
    pairs.values.assign(small.values.begin(), small.values.begin() + static_cast<long>(block));
    pairs.vectors = Product(chosen, basis);
    const double residual = LargestResidual(pairs, Product(chosen, images), count);
    if (dimension == n || residual <= kTolerance * std::abs(pairs.values[0])) {
      break;
    }
    start = pairs.vectors;
  }
  // Products lose a little orthogonality, which is restored here. The eigenvalues stay.
  DenseMatrix vectors(count, n);
  size_t done = 0;
  AppendOrthonormal(Rows(pairs.vectors, 0, count), random, &vectors, &done);
  for (size_t i = 0; i < count; ++i) {
    const double* row = vectors.row(i);
    const double* largest = std::max_element(
        row, row + n, [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (*largest < 0) {
      std::for_each_n(vectors.row(i), n, [](double& value) { value = -value; });
    }
  }
  pairs.values.resize(count);
  pairs.vectors = std::move(vectors);
  return pairs;
}

EigenPairs TopEigen(std::span<const float> c, size_t n, size_t count) {
  RUVD_CHECK(c.size() == n * n);
  return TopEigen(
      [c, n](const DenseMatrix& x, DenseMatrix* y) {
        std::vector<double> wide(n);
        for (size_t r = 0; r < n; ++r) {  // each row of C is read once for all vectors
          std::copy_n(c.begin() + static_cast<std::ptrdiff_t>(r * n), n, wide.begin());
          for (size_t v = 0; v < x.rows; ++v) {
            y->at(v, r) = Dot(wide.data(), x.row(v), n);
          }
        }
      },
      n, count);
}

SvdFactors TopSvd(const DenseMatrix& m, size_t count, const SearchEffort& effort) {
  const bool wide = m.columns > m.rows;
  const DenseMatrix transposed = Transposed(m);
  // The singular vectors of the shorter side are eigenvectors of m m^T or m^T m. The other singular
  // vectors are their images.
  const DenseMatrix& tall = wide ? transposed : m;  // longer x shorter
  const DenseMatrix& flat = wide ? m : transposed;  // shorter x longer
  const size_t k = std::min(count, flat.rows);
  const EigenPairs pairs =
      TopEigen([&](const DenseMatrix& x, DenseMatrix* y) { *y = Product(Product(x, flat), tall); },
               flat.rows, k, effort);
  DenseMatrix images = Product(pairs.vectors, flat);
  SvdFactors factors{.left = {}, .s = std::vector<double>(k), .right = {}};
  for (size_t i = 0; i < k; ++i) {
    factors.s[i] = std::sqrt(Dot(images.row(i), images.row(i), images.columns));
  }
  Random random(kStartSeed);
  DenseMatrix other(k, images.columns);
  size_t done = 0;
  AppendOrthonormal(images, random, &other, &done);
  factors.left = wide ? pairs.vectors : std::move(other);
  factors.right = wide ? std::move(other) : pairs.vectors;
  return factors;
}

}  // namespace ruvd::inference
