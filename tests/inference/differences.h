// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/random.h"

namespace ruvd::test {

using Vector = std::vector<double>;

inline Vector RandomVector(size_t size, Random& random, double spread = 1.0) {
  Vector values(size);
  for (double& value : values) {
    value = random.Normal() * spread;
  }
  return values;
}

inline double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

// Compares `gradient` with central differences of `loss` over `x`, which `loss` reads.
inline void ExpectGradient(Vector* x, const Vector& gradient, const std::function<double()>& loss) {
  constexpr double kStep = 1e-5;
  ASSERT_EQ(x->size(), gradient.size());
  for (size_t i = 0; i < x->size(); ++i) {
    const double kept = (*x)[i];
    (*x)[i] = kept + kStep;
    const double above = loss();
    (*x)[i] = kept - kStep;
    const double below = loss();
    (*x)[i] = kept;
    const double numeric = (above - below) / (2 * kStep);
    EXPECT_NEAR(gradient[i], numeric, 1e-7 + 1e-6 * std::abs(numeric)) << i;
  }
}

}  // namespace ruvd::test
