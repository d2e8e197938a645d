// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace ruvd::inference {

// Small dense linear algebra in double, for frames and merges: off the request path, single
// threaded, the same result for the same input. Nothing here allocates more than a few times its
// arguments.

// A row-major matrix.
struct DenseMatrix {
  size_t rows = 0;
  size_t columns = 0;
  std::vector<double> values;

  DenseMatrix() = default;
  DenseMatrix(size_t row_count, size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count) {}
  DenseMatrix(size_t row_count, size_t column_count, std::span<const float> from)
      : rows(row_count), columns(column_count), values(from.begin(), from.end()) {}

  double* row(size_t r) { return values.data() + r * columns; }
  const double* row(size_t r) const { return values.data() + r * columns; }
  double& at(size_t r, size_t c) { return values[r * columns + c]; }
  double at(size_t r, size_t c) const { return values[r * columns + c]; }
};

double Dot(const double* a, const double* b, size_t n);
DenseMatrix Transposed(const DenseMatrix& m);
// a (n x k) times b (k x m).
DenseMatrix Product(const DenseMatrix& a, const DenseMatrix& b);
// a (n x k) times b (m x k) transposed.
DenseMatrix ProductTransposed(const DenseMatrix& a, const DenseMatrix& b);

// m = Q R with k = min(rows, columns): Q (rows x k) has orthonormal columns whatever the rank of m,
// R (k x columns) is upper triangular. Householder reflections (Golub and Van Loan 5.2).
struct QrFactors {
  DenseMatrix q;
  DenseMatrix r;
};
QrFactors Qr(const DenseMatrix& m);

// m = U diag(s) V^T with k = min(rows, columns), s descending. Row i of `left` and `right` is the
// i-th singular vector; where s is zero (below rounding of the largest) they are zero. The entry of
// `right` with the largest size is positive, the first of equal ones. One-sided Jacobi (Hestenes
// 1958), accurate also for small singular values; cost of some ten products of m with itself.
struct SvdFactors {
  DenseMatrix left;  // k x rows
  std::vector<double> s;
  DenseMatrix right;  // k x columns
};
SvdFactors Svd(const DenseMatrix& m);

// Eigenvalues, descending, and unit eigenvectors as rows, signs as for Svd.
struct EigenPairs {
  std::vector<double> values;
  DenseMatrix vectors;
};
// All of a symmetric matrix, by cyclic Jacobi rotations (Golub and Van Loan 8.5); only the upper
// triangle is read. For some hundred rows.
EigenPairs SymmetricEigen(const DenseMatrix& m);

// y = C x for each row of x, with C symmetric; x and y have the same shape.
using SymmetricOperator = std::function<void(const DenseMatrix& x, DenseMatrix* y)>;

// The `count` largest eigenvalues of a symmetric positive semidefinite operator on vectors of
// length `n` >= count, by a restarted block Krylov method with Rayleigh-Ritz (Musco and Musco 2015,
// arXiv 1504.05477): from a fixed start, until each residual |C v - lambda v| is below 1e-7 of the
// largest eigenvalue or after a fixed number of restarts, which only spectra that decide nothing
// reach. Finds multiple eigenvalues. The vectors are orthonormal in every case, also for C = 0.
EigenPairs TopEigen(const SymmetricOperator& c, size_t n, size_t count);

// The same for a matrix that is given (n x n, float32, row major, symmetric).
EigenPairs TopEigen(std::span<const float> c, size_t n, size_t count);

// The `count` leading singular triples of m; fewer where its sides are shorter. Left and right
// vectors are orthonormal in every case: where singular values are zero, any that complete them.
SvdFactors TopSvd(const DenseMatrix& m, size_t count);

}  // namespace ruvd::inference
