// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace ruvd::inference {

// Small dense linear algebra in double precision, for frames and merges. It is off the request path
// and single threaded, and gives the same result for the same input on every machine: it uses only
// + - * / and square roots, in one order. No function allocates more than a few times the size of
// its arguments.

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
// Returns a (n x k) times b (k x m).
DenseMatrix Product(const DenseMatrix& a, const DenseMatrix& b);
// Returns a (n x k) times the transpose of b (m x k).
DenseMatrix ProductTransposed(const DenseMatrix& a, const DenseMatrix& b);

// The factors of m = Q R with k = min(rows, columns). Q (rows x k) has orthonormal columns whatever
// the rank of m; R (k x columns) is upper triangular. They are computed by Householder reflections
// (Golub and Van Loan, section 5.2).
struct QrFactors {
  DenseMatrix q;
  DenseMatrix r;
};
QrFactors Qr(const DenseMatrix& m);

// The factors of m = U diag(s) V^T with k = min(rows, columns) and s descending. Row i of `left`
// and of `right` is the i-th singular vector. If s is zero (below the rounding error of the largest
// value), both vectors are zero. The entry of `right` with the largest magnitude (the first of
// equal ones) is positive. One-sided Jacobi rotations (Hestenes 1958) are accurate for small
// singular values too. The cost is about that of ten products of m with itself.
struct SvdFactors {
  DenseMatrix left;  // k x rows
  std::vector<double> s;
  DenseMatrix right;  // k x columns
};
SvdFactors Svd(const DenseMatrix& m);

// Eigenvalues in descending order, and unit eigenvectors as rows with the signs of SvdFactors.
struct EigenPairs {
  std::vector<double> values;
  DenseMatrix vectors;
};
// Returns all eigenvalues and eigenvectors of a symmetric matrix, by cyclic Jacobi rotations (Golub
// and Van Loan, section 8.5). Only the upper triangle is read. Made for up to a few hundred rows.
EigenPairs SymmetricEigen(const DenseMatrix& m);

// How long a search for leading vectors may go on.
struct SearchEffort {
  int restarts = 60;  // only spectra without a clear order reach this number
  size_t blocks = 4;  // of the Krylov space of one restart
};

// Computes y = C x for each row of x, with C symmetric. x and y have the same shape.
using SymmetricOperator = std::function<void(const DenseMatrix& x, DenseMatrix* y)>;

// Returns the `count` largest eigenvalues of a symmetric positive semidefinite operator on vectors
// of length `n` >= count, by a restarted block Krylov method with Rayleigh-Ritz (Musco and Musco
// 2015, arXiv 1504.05477). It starts from a fixed block and stops when each residual |C v - lambda
// v| is below 1e-7 of the largest eigenvalue, or when the effort is spent. Multiple eigenvalues are
// found. The vectors are always orthonormal, even for C = 0.
EigenPairs TopEigen(const SymmetricOperator& c, size_t n, size_t count,
                    const SearchEffort& effort = {});

// Does what the function above does, for a given matrix (n x n, float32, row major, symmetric).
EigenPairs TopEigen(std::span<const float> c, size_t n, size_t count);

// Returns the `count` leading singular triples of m, or fewer if a side of m is shorter. Left and
// right vectors are always orthonormal: for singular values of zero, any vectors that complete the
// set.
SvdFactors TopSvd(const DenseMatrix& m, size_t count, const SearchEffort& effort = {});

}  // namespace ruvd::inference
