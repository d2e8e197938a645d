// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace ruvd::privacy::dp {

// The discrete Fourier transform of one power-of-two length, in place and not scaled (Cooley and
// Tukey 1965, radix 2). Each factor is computed on its own, so that rounding adds only about 1e-16
// for each level.
class Fourier {
 public:
  // `size` is a power of two.
  explicit Fourier(size_t size);

  // Both take `size` values. Inverse(Forward(x)) is x times `size`.
  void Forward(std::span<std::complex<double>> values) const;
  void Inverse(std::span<std::complex<double>> values) const;

 private:
  std::vector<std::complex<double>> factors_;  // e^(-2 pi i k / size), k below size / 2
};

}  // namespace ruvd::privacy::dp
