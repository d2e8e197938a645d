// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/numerics/dense.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/status.h"

namespace ruvd::inference {
namespace {

constexpr int kMaxSweeps = 60;  // Jacobi needs fewer than ten; this is only a safety limit

void AddScaled(double factor, const double* x, size_t n, double* y) {
  for (size_t i = 0; i < n; ++i) {
    y[i] += factor * x[i];
  }
}

// Adds `count` rows of length n, each times its factor, in their order. Four at a time, y is read
// and written once for all of them; this changes no bit.
void AddScaledRows(const double* factors, const double* rows, size_t count, size_t n, double* y) {
  size_t k = 0;
  for (; k + 4 <= count; k += 4) {
    const double* x = rows + k * n;
    const double* factor = factors + k;
    for (size_t i = 0; i < n; ++i) {
      double sum = y[i] + factor[0] * x[i];
      sum += factor[1] * x[n + i];
      sum += factor[2] * x[2 * n + i];
      y[i] = sum + factor[3] * x[3 * n + i];
    }
  }
  for (; k < count; ++k) {
    AddScaled(factors[k], rows + k * n, n, y);
  }
}

// Rotates the pair of vectors.
void Rotate(double cosine, double sine, size_t n, double* x, double* y) {
  for (size_t i = 0; i < n; ++i) {
    const double first = x[i];
    x[i] = cosine * first - sine * y[i];
    y[i] = sine * first + cosine * y[i];
  }
}

// Returns the cosine and sine of the rotation that makes two vectors orthogonal, given their
// squared lengths a and b and their inner product c.
std::pair<double, double> Rotation(double a, double b, double c) {
  const double zeta = (b - a) / (2 * c);
  // std::hypot is not used, because its last bit differs between machines.
  const double tangent = std::copysign(1.0, zeta) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
  const double cosine = 1 / std::sqrt(1 + tangent * tangent);
  return {cosine, cosine * tangent};
}

// Flips signs so that the entry of largest magnitude is positive. Returns true if the signs
// changed.
bool FixSign(double* x, size_t n) {
  const double* largest =
      std::max_element(x, x + n, [](double a, double b) { return std::abs(a) < std::abs(b); });
  if (n == 0 || *largest >= 0) {
    return false;
  }
  std::for_each(x, x + n, [](double& value) { value = -value; });
  return true;
}

// Returns the indices of `values` in descending order of value. Equal values keep their order.
std::vector<size_t> Descending(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] > values[b]; });
  return order;
}

// Applies I - 2 v v^T / (v^T v) to m, where v is column `pivot` of `reflectors` from row `pivot`
// on.
void Reflect(const DenseMatrix& reflectors, size_t pivot, size_t first_column, DenseMatrix* m) {
  double norm = 0;
  for (size_t r = pivot; r < m->rows; ++r) {
    norm += reflectors.at(r, pivot) * reflectors.at(r, pivot);
  }
  if (norm == 0) {
    return;
  }
  std::vector<double> sums(m->columns);
  for (size_t r = pivot; r < m->rows; ++r) {
    AddScaled(reflectors.at(r, pivot), m->row(r), m->columns, sums.data());
  }
  for (size_t r = pivot; r < m->rows; ++r) {
    AddScaled(-2 / norm * reflectors.at(r, pivot), sums.data() + first_column,
              m->columns - first_column, m->row(r) + first_column);
  }
}

// Rotates pairs of rows until all are orthogonal to each other. Returns the product of the
// rotations.
DenseMatrix OrthogonaliseRows(DenseMatrix* a) {
  const size_t k = a->rows;
  const size_t n = a->columns;
  DenseMatrix basis(k, k);
  for (size_t i = 0; i < k; ++i) {
    basis.at(i, i) = 1;
  }
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < kMaxSweeps; ++sweep) {
    rotated = false;
    for (size_t i = 0; i < k; ++i) {
      for (size_t j = i + 1; j < k; ++j) {
        const double ii = Dot(a->row(i), a->row(i), n);
        const double jj = Dot(a->row(j), a->row(j), n);
        const double ij = Dot(a->row(i), a->row(j), n);
        if (std::abs(ij) <= 1e-15 * std::sqrt(ii * jj) || ij == 0) {
          continue;
        }
        const auto [cosine, sine] = Rotation(ii, jj, ij);
        Rotate(cosine, sine, n, a->row(i), a->row(j));
        Rotate(cosine, sine, k, basis.row(i), basis.row(j));
        rotated = true;
      }
    }
  }
  return basis;
}

// Rotates rows and columns of the symmetric matrix a until it is diagonal, and the rows of
// `vectors` with them. Entries of at most `small` count as zero.
void Diagonalise(double small, DenseMatrix* a, DenseMatrix* vectors) {
  const size_t n = a->rows;
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < kMaxSweeps; ++sweep) {
    rotated = false;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = i + 1; j < n; ++j) {
        if (std::abs(a->at(i, j)) <= small) {
          continue;
        }
        const auto [cosine, sine] = Rotation(a->at(i, i), a->at(j, j), a->at(i, j));
        for (size_t r = 0; r < n; ++r) {
          Rotate(cosine, sine, 1, &a->at(r, i), &a->at(r, j));
        }
        Rotate(cosine, sine, n, a->row(i), a->row(j));
        Rotate(cosine, sine, n, vectors->row(i), vectors->row(j));
        rotated = true;
      }
    }
  }
}

}  // namespace

double Dot(const double* a, const double* b, size_t n) {
  // Four separate sums, so that the processor does not have to wait for each addition.
  double sums[4] = {0, 0, 0, 0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (size_t lane = 0; lane < 4; ++lane) {
      sums[lane] += a[i + lane] * b[i + lane];
    }
  }
  for (; i < n; ++i) {
    sums[0] += a[i] * b[i];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

DenseMatrix Transposed(const DenseMatrix& m) {
  DenseMatrix result(m.columns, m.rows);
  for (size_t r = 0; r < m.rows; ++r) {
    for (size_t c = 0; c < m.columns; ++c) {
      result.at(c, r) = m.at(r, c);
    }
  }
  return result;
}

DenseMatrix Product(const DenseMatrix& a, const DenseMatrix& b) {
  RUVD_CHECK(a.columns == b.rows);
  DenseMatrix result(a.rows, b.columns);
  for (size_t r = 0; r < a.rows; ++r) {
    AddScaledRows(a.row(r), b.values.data(), a.columns, b.columns, result.row(r));
  }
  return result;
}

DenseMatrix ProductTransposed(const DenseMatrix& a, const DenseMatrix& b) {
  RUVD_CHECK(a.columns == b.columns);
  DenseMatrix result(a.rows, b.rows);
  for (size_t r = 0; r < a.rows; ++r) {
    for (size_t c = 0; c < b.rows; ++c) {
      result.at(r, c) = Dot(a.row(r), b.row(c), a.columns);
    }
  }
  return result;
}

QrFactors Qr(const DenseMatrix& m) {
  const size_t k = std::min(m.rows, m.columns);
  DenseMatrix work = m;
  DenseMatrix reflectors(m.rows, k);
  for (size_t pivot = 0; pivot < k; ++pivot) {
    double norm = 0;
    for (size_t r = pivot; r < m.rows; ++r) {
      reflectors.at(r, pivot) = work.at(r, pivot);
      norm += work.at(r, pivot) * work.at(r, pivot);
    }
    // The sign is the one that avoids cancellation. For a zero column the reflector stays zero,
    // which means no reflection.
    reflectors.at(pivot, pivot) += std::copysign(std::sqrt(norm), work.at(pivot, pivot));
    Reflect(reflectors, pivot, pivot, &work);
  }
  QrFactors factors{.q = DenseMatrix(m.rows, k), .r = DenseMatrix(k, m.columns)};
  for (size_t i = 0; i < k; ++i) {
    factors.q.at(i, i) = 1;
    std::copy(work.row(i) + i, work.row(i) + m.columns, factors.r.row(i) + i);
  }
  for (size_t pivot = k; pivot-- > 0;) {
    Reflect(reflectors, pivot, 0, &factors.q);
  }
  return factors;
}

SvdFactors Svd(const DenseMatrix& m) {
  const bool wide = m.columns > m.rows;
  DenseMatrix a = wide ? m : Transposed(m);
  const size_t k = a.rows;
  const DenseMatrix basis = OrthogonaliseRows(&a);
  std::vector<double> norms(k);
  for (size_t i = 0; i < k; ++i) {
    norms[i] = std::sqrt(Dot(a.row(i), a.row(i), a.columns));
  }
  const std::vector<size_t> order = Descending(norms);
  const double rounding = std::numeric_limits<double>::epsilon() * static_cast<double>(k);
  const double least = k == 0 ? 0 : norms[order[0]] * rounding;
  SvdFactors factors{.left = DenseMatrix(k, m.rows),
                     .s = std::vector<double>(k),
                     .right = DenseMatrix(k, m.columns)};
  for (size_t i = 0; i < k && norms[order[i]] > least; ++i) {
    factors.s[i] = norms[order[i]];
    double* spread = wide ? factors.right.row(i) : factors.left.row(i);
    double* turned = wide ? factors.left.row(i) : factors.right.row(i);
    AddScaled(1 / factors.s[i], a.row(order[i]), a.columns, spread);
    std::copy_n(basis.row(order[i]), k, turned);
    if (FixSign(factors.right.row(i), m.columns)) {
      std::for_each_n(factors.left.row(i), m.rows, [](double& value) { value = -value; });
    }
  }
  return factors;
}

EigenPairs SymmetricEigen(const DenseMatrix& m) {
  RUVD_CHECK(m.rows == m.columns);
  const size_t n = m.rows;
  DenseMatrix a(n, n);
  DenseMatrix vectors(n, n);
  double norm = 0;
  for (size_t i = 0; i < n; ++i) {
    vectors.at(i, i) = 1;
    for (size_t j = i; j < n; ++j) {
      a.at(i, j) = a.at(j, i) = m.at(i, j);
      norm += m.at(i, j) * m.at(i, j) * (i == j ? 1 : 2);
    }
  }
  Diagonalise(1e-16 * std::sqrt(norm), &a, &vectors);
  EigenPairs pairs{.values = std::vector<double>(n), .vectors = DenseMatrix(n, n)};
  std::vector<double> diagonal(n);
  for (size_t i = 0; i < n; ++i) {
    diagonal[i] = a.at(i, i);
  }
  const std::vector<size_t> order = Descending(diagonal);
  for (size_t i = 0; i < n; ++i) {
    pairs.values[i] = diagonal[order[i]];
    std::copy_n(vectors.row(order[i]), n, pairs.vectors.row(i));
    FixSign(pairs.vectors.row(i), n);
  }
  return pairs;
}

}  // namespace ruvd::inference
