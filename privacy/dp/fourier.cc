// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/fourier.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/status.h"

namespace ruvd::privacy::dp {
namespace {

void ReverseBits(std::span<std::complex<double>> values) {
  const size_t size = values.size();
  for (size_t i = 1, j = 0; i < size; ++i) {
    size_t bit = size >> 1;
    for (; (j & bit) != 0; bit >>= 1) {
      j ^= bit;
    }
    j |= bit;
    if (i < j) {
      std::swap(values[i], values[j]);
    }
  }
}

}  // namespace

Fourier::Fourier(size_t size) : factors_(size / 2) {
  RUVD_CHECK(std::has_single_bit(size));
  for (size_t k = 0; k < factors_.size(); ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
    factors_[k] = {std::cos(angle), std::sin(angle)};
  }
}

void Fourier::Forward(std::span<std::complex<double>> values) const {
  const size_t size = values.size();
  RUVD_CHECK(size / 2 == factors_.size());
  ReverseBits(values);
  for (size_t half = 1; half < size; half *= 2) {
    const size_t stride = size / (2 * half);
    for (size_t begin = 0; begin < size; begin += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const std::complex<double> factor = factors_[k * stride];
        const std::complex<double> even = values[begin + k];
        const std::complex<double> odd = values[begin + k + half];
        // The product is written out, because the operator's handling of infinities costs more than
        // the product.
        const std::complex<double> turned(odd.real() * factor.real() - odd.imag() * factor.imag(),
                                          odd.real() * factor.imag() + odd.imag() * factor.real());
        values[begin + k] = even + turned;
        values[begin + k + half] = even - turned;
      }
    }
  }
}

void Fourier::Inverse(std::span<std::complex<double>> values) const {
  for (std::complex<double>& value : values) {
    value = std::conj(value);
  }
  Forward(values);
  for (std::complex<double>& value : values) {
    value = std::conj(value);
  }
}

}  // namespace ruvd::privacy::dp
