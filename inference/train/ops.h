// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>

#include "inference/sampler/distribution.h"

// The operations of a layer's tail with their derivatives, one row at a time. Templates over the
// float type: training runs them in float, the gradient tests in double. Sums run in double.
namespace ruvd::train {

// y = x * w / rms(x) with rms(x) = sqrt(mean(x^2) + epsilon). Returns 1 / rms(x).
template <typename T>
T RmsNorm(std::span<const T> x, std::span<const T> w, double epsilon, std::span<T> y) {
  double squares = 0;
  for (const T value : x) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  const auto inverse =
      static_cast<T>(1.0 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon));
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = x[i] * inverse * w[i];
  }
  return inverse;
}

// dx += dL/dx given dy = dL/dy and `inverse` from the forward pass:
// dx_i = inverse * w_i dy_i - x_i * inverse^3 / n * sum_j(dy_j w_j x_j).
template <typename T>
void RmsNormBackward(std::span<const T> x, std::span<const T> w, T inverse, std::span<const T> dy,
                     std::span<T> dx) {
  double dot = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    dot += static_cast<double>(dy[i] * w[i]) * static_cast<double>(x[i]);
  }
  const auto pull =
      static_cast<T>(dot / static_cast<double>(x.size())) * inverse * inverse * inverse;
  for (size_t i = 0; i < x.size(); ++i) {
    dx[i] += inverse * w[i] * dy[i] - x[i] * pull;
  }
}

// y = silu(gate) * up, silu(g) = g / (1 + exp(-g)).
template <typename T>
void SwiGlu(std::span<const T> gate, std::span<const T> up, std::span<T> y) {
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = gate[i] / (T{1} + std::exp(-gate[i])) * up[i];
  }
}

// silu'(g) = s (1 + g (1 - s)) with s = 1 / (1 + exp(-g)).
template <typename T>
void SwiGluBackward(std::span<const T> gate, std::span<const T> up, std::span<const T> dy,
                    std::span<T> dgate, std::span<T> dup) {
  for (size_t i = 0; i < dy.size(); ++i) {
    const T s = T{1} / (T{1} + std::exp(-gate[i]));
    dup[i] = dy[i] * gate[i] * s;
    dgate[i] = dy[i] * up[i] * s * (T{1} + gate[i] * (T{1} - s));
  }
}

// Returns -log softmax(logits)[target] and replaces `logits` by weight * d/dlogits of it:
// weight * (softmax - onehot).
template <typename T>
double CrossEntropy(std::span<T> logits, size_t target, T weight) {
  const T maximum = *std::max_element(logits.begin(), logits.end());
  const T wanted = logits[target] - maximum;
  double mass = 0;
  for (T& logit : logits) {
    if constexpr (std::is_same_v<T, float>) {
      logit = ExpNonPositive(logit - maximum);
    } else {
      logit = std::exp(logit - maximum);
    }
  }
  for (const T value : logits) {
    mass += static_cast<double>(value);
  }
  const auto factor = static_cast<T>(static_cast<double>(weight) / mass);
  for (T& value : logits) {
    value *= factor;
  }
  logits[target] -= weight;
  return std::log(mass) - static_cast<double>(wanted);
}

// y (rows) += scale * a x for one row: y_r += scale * sum_i a[r][i] x[i].
template <typename T>
void AddMatVec(std::span<const T> a, std::span<const T> x, T scale, std::span<T> y) {
  for (size_t r = 0; r < y.size(); ++r) {
    const T* row = a.data() + r * x.size();
    T sum{0};
    for (size_t i = 0; i < x.size(); ++i) {
      sum += row[i] * x[i];
    }
    y[r] += scale * sum;
  }
}

// x (columns) += scale * a^T y.
template <typename T>
void AddMatVecTransposed(std::span<const T> a, std::span<const T> y, T scale, std::span<T> x) {
  for (size_t r = 0; r < y.size(); ++r) {
    const T* row = a.data() + r * x.size();
    const T factor = scale * y[r];
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] += factor * row[i];
    }
  }
}

// a += scale * y x^T.
template <typename T>
void AddOuter(std::span<const T> y, std::span<const T> x, T scale, std::span<T> a) {
  for (size_t r = 0; r < y.size(); ++r) {
    T* row = a.data() + r * x.size();
    const T factor = scale * y[r];
    for (size_t i = 0; i < x.size(); ++i) {
      row[i] += factor * x[i];
    }
  }
}

}  // namespace ruvd::train
