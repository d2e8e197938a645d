// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/numerics/orthonormal.h"

#include <cmath>
#include <cstddef>

namespace ruvd::inference {

std::vector<double> OrthonormalRows(int count, int length, Random& random) {
  const auto n = static_cast<size_t>(length);
  std::vector<double> rows(static_cast<size_t>(count) * n);
  for (double& value : rows) {
    value = std::nearbyint(random.Normal() * 0x1p24) * 0x1p-24;
  }
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    double* row = rows.data() + i * n;
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t j = 0; j < i; ++j) {
        const double* other = rows.data() + j * n;
        double dot = 0;
        for (size_t k = 0; k < n; ++k) {
          dot += row[k] * other[k];
        }
        for (size_t k = 0; k < n; ++k) {
          row[k] -= dot * other[k];
        }
      }
    }
    double norm = 0;
    for (size_t k = 0; k < n; ++k) {
      norm += row[k] * row[k];
    }
    norm = std::sqrt(norm);
    for (size_t k = 0; k < n; ++k) {
      row[k] /= norm;
    }
  }
  return rows;
}

}  // namespace ruvd::inference
