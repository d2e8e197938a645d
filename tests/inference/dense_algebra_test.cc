// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "base/random.h"
#include "inference/numerics/dense.h"
#include "inference/numerics/orthonormal.h"

namespace ruvd::inference {
namespace {

DenseMatrix RandomMatrix(size_t rows, size_t columns, uint64_t seed) {
  Random random(seed);
  DenseMatrix m(rows, columns);
  for (double& value : m.values) {
    value = random.Normal();
  }
  return m;
}

double LargestDifference(const DenseMatrix& a, const DenseMatrix& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.columns, b.columns);
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    largest = std::max(largest, std::abs(a.values[i] - b.values[i]));
  }
  return largest;
}

// Returns the largest entry of |rows rows^T - 1|.
double Skew(const DenseMatrix& rows) {
  DenseMatrix gram = ProductTransposed(rows, rows);
  for (size_t i = 0; i < gram.rows; ++i) {
    gram.at(i, i) -= 1;
  }
  return LargestDifference(gram, DenseMatrix(gram.rows, gram.columns));
}

// Returns the sum of s_i left_i right_i^T.
DenseMatrix Assembled(const SvdFactors& factors) {
  DenseMatrix scaled = factors.right;
  for (size_t i = 0; i < scaled.rows; ++i) {
    for (size_t c = 0; c < scaled.columns; ++c) {
      scaled.at(i, c) *= factors.s[i];
    }
  }
  return Product(Transposed(factors.left), scaled);
}

// Returns a symmetric matrix with these eigenvalues and random eigenvectors, which are stored in
// `vectors`.
DenseMatrix WithSpectrum(const std::vector<double>& values, uint64_t seed, DenseMatrix* vectors) {
  const size_t n = values.size();
  Random random(seed);
  *vectors = DenseMatrix(n, n);
  vectors->values = OrthonormalRows(static_cast<int>(n), static_cast<int>(n), random);
  DenseMatrix scaled = *vectors;
  for (size_t i = 0; i < n; ++i) {
    for (size_t c = 0; c < n; ++c) {
      scaled.at(i, c) *= values[i];
    }
  }
  return Product(Transposed(*vectors), scaled);
}

TEST(DenseAlgebraTest, QrOfTallWideAndDeficientMatrices) {
  DenseMatrix deficient = RandomMatrix(9, 5, 3);
  for (size_t r = 0; r < deficient.rows; ++r) {
    deficient.at(r, 1) = 0;
    deficient.at(r, 4) = 2 * deficient.at(r, 0);
  }
  for (const DenseMatrix& m : {RandomMatrix(12, 5, 1), RandomMatrix(4, 9, 2), deficient,
                               DenseMatrix(6, 3), RandomMatrix(7, 7, 4)}) {
    const QrFactors factors = Qr(m);
    EXPECT_LT(LargestDifference(Product(factors.q, factors.r), m), 1e-13);
    EXPECT_LT(Skew(Transposed(factors.q)), 1e-13);
    for (size_t r = 0; r < factors.r.rows; ++r) {
      for (size_t c = 0; c < r; ++c) {
        EXPECT_EQ(factors.r.at(r, c), 0);
      }
    }
  }
}

TEST(DenseAlgebraTest, SvdGivesTheMatrixBack) {
  for (const DenseMatrix& m :
       {RandomMatrix(11, 6, 1), RandomMatrix(6, 11, 2), RandomMatrix(8, 8, 3)}) {
    const SvdFactors factors = Svd(m);
    EXPECT_LT(LargestDifference(Assembled(factors), m), 1e-12);
    EXPECT_LT(Skew(factors.left), 1e-12);
    EXPECT_LT(Skew(factors.right), 1e-12);
    EXPECT_TRUE(std::is_sorted(factors.s.rbegin(), factors.s.rend()));
  }
}

// sqrt(45) and sqrt(5), worked out by hand.
TEST(DenseAlgebraTest, SvdOfAKnownMatrix) {
  DenseMatrix m(2, 2);
  m.values = {3, 0, 4, 5};
  const SvdFactors factors = Svd(m);
  EXPECT_NEAR(factors.s[0], std::sqrt(45.0), 1e-14);
  EXPECT_NEAR(factors.s[1], std::sqrt(5.0), 1e-14);
  EXPECT_NEAR(factors.right.at(0, 0), 1 / std::numbers::sqrt2, 1e-14);
  EXPECT_NEAR(factors.left.at(0, 0), 1 / std::sqrt(10.0), 1e-14);
  EXPECT_NEAR(factors.left.at(0, 1), 3 / std::sqrt(10.0), 1e-14);
}

TEST(DenseAlgebraTest, SvdOfLowRankHasZeros) {
  const DenseMatrix m = Product(RandomMatrix(9, 2, 1), RandomMatrix(2, 7, 2));
  const SvdFactors factors = Svd(m);
  EXPECT_GT(factors.s[1], 0.1);
  EXPECT_EQ(factors.s[2], 0);
  EXPECT_EQ(factors.left.at(2, 0), 0);
  EXPECT_LT(LargestDifference(Assembled(factors), m), 1e-12);
  EXPECT_EQ(Svd(DenseMatrix(3, 2)).s, (std::vector<double>{0, 0}));
}

// The second difference matrix: 2 - 2 cos(k pi / (n + 1)), known in closed form.
TEST(DenseAlgebraTest, EigenvaluesOfTheSecondDifference) {
  constexpr size_t kN = 24;
  DenseMatrix m(kN, kN);
  for (size_t i = 0; i < kN; ++i) {
    m.at(i, i) = 2;
    if (i + 1 < kN) {
      m.at(i, i + 1) = m.at(i + 1, i) = -1;
    }
  }
  const EigenPairs pairs = SymmetricEigen(m);
  for (size_t k = 0; k < kN; ++k) {
    const double angle = std::numbers::pi * static_cast<double>(kN - k) / (kN + 1);
    EXPECT_NEAR(pairs.values[k], 2 - 2 * std::cos(angle), 1e-13);
  }
  EXPECT_LT(Skew(pairs.vectors), 1e-13);
}

TEST(DenseAlgebraTest, EigenvectorsOfAKnownSpectrum) {
  DenseMatrix vectors;
  const DenseMatrix m = WithSpectrum({9, 4, 1, 0.25, 0, -2}, 5, &vectors);
  const EigenPairs pairs = SymmetricEigen(m);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(std::abs(Dot(pairs.vectors.row(i), vectors.row(i), 6)), 1, 1e-12) << i;
  }
  EXPECT_NEAR(pairs.values[5], -2, 1e-12);
}

TEST(DenseAlgebraTest, TopEigenFindsTheLeadingVectorsOfALargeMatrix) {
  std::vector<double> values;
  for (int i = 0; i < 300; ++i) {
    values.push_back(1 / (1.0 + i));
  }
  DenseMatrix vectors;
  const DenseMatrix m = WithSpectrum(values, 6, &vectors);
  const std::vector<float> single(m.values.begin(), m.values.end());
  const EigenPairs pairs = TopEigen(single, 300, 12);
  ASSERT_EQ(pairs.vectors.rows, 12U);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(pairs.values[i], values[i], 1e-6) << i;
    EXPECT_NEAR(std::abs(Dot(pairs.vectors.row(i), vectors.row(i), 300)), 1, 1e-6) << i;
  }
  EXPECT_LT(Skew(pairs.vectors), 1e-12);
  EXPECT_EQ(TopEigen(single, 300, 12).vectors.values, pairs.vectors.values);
}

// Equal eigenvalues have no eigenvectors of their own, only a common space.
TEST(DenseAlgebraTest, TopEigenFindsMultipleEigenvalues) {
  std::vector<double> values(200, 0.1);
  std::fill_n(values.begin(), 5, 3.0);
  DenseMatrix vectors;
  const DenseMatrix m = WithSpectrum(values, 7, &vectors);
  const std::vector<float> single(m.values.begin(), m.values.end());
  const EigenPairs pairs = TopEigen(single, 200, 5);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(pairs.values[i], 3, 1e-5);
    double inside = 0;
    for (size_t k = 0; k < 5; ++k) {
      const double dot = Dot(pairs.vectors.row(i), vectors.row(k), 200);
      inside += dot * dot;
    }
    EXPECT_NEAR(inside, 1, 1e-6) << i;
  }
}

TEST(DenseAlgebraTest, TopEigenOfNothingIsOrthonormal) {
  const EigenPairs pairs = TopEigen(std::vector<float>(100 * 100), 100, 7);
  EXPECT_EQ(pairs.values, std::vector<double>(7));
  EXPECT_LT(Skew(pairs.vectors), 1e-12);
  EXPECT_LT(Skew(TopEigen(std::vector<float>(9), 3, 3).vectors), 1e-12);
}

TEST(DenseAlgebraTest, TopSvdAgreesWithSvd) {
  for (const DenseMatrix& m : {RandomMatrix(40, 17, 8), RandomMatrix(17, 40, 9)}) {
    const SvdFactors all = Svd(m);
    const SvdFactors top = TopSvd(m, 6);
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(top.s[i], all.s[i], 1e-6);
      EXPECT_NEAR(std::abs(Dot(top.left.row(i), all.left.row(i), m.rows)), 1, 1e-6);
      EXPECT_NEAR(Dot(top.left.row(i), all.left.row(i), m.rows),
                  Dot(top.right.row(i), all.right.row(i), m.columns), 1e-6);
    }
  }
  const SvdFactors flat = TopSvd(Product(RandomMatrix(30, 2, 1), RandomMatrix(2, 20, 2)), 5);
  EXPECT_LT(Skew(flat.left), 1e-12) << "completed where singular values are zero";
  EXPECT_LT(Skew(flat.right), 1e-12);
  EXPECT_NEAR(flat.s[3], 0, 1e-6);
}

// The result of little effort is no worse for being orthonormal.
TEST(DenseAlgebraTest, LittleEffortGivesOrthonormalVectors) {
  const DenseMatrix m = RandomMatrix(60, 90, 10);
  const SvdFactors top = TopSvd(m, 4, {.restarts = 1, .blocks = 2});
  EXPECT_LT(Skew(top.left), 1e-12);
  EXPECT_LT(Skew(top.right), 1e-12);
  EXPECT_GT(top.s[0], 0.9 * Svd(m).s[0]);
}

}  // namespace
}  // namespace ruvd::inference
