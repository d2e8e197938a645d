// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>

#include "inference/kernels/kernel_table.h"

// The operations of a transformer with their derivatives. They are templates over the float type:
// float runs on the kernels, double (for the gradient tests) as plain loops.
namespace ruvd::inference::train {

// Computes y = x * w / rms(x) with rms(x) = sqrt(mean(x^2) + epsilon) (arXiv 1910.07467).
template <typename T>
void RmsNorm(std::span<const T> x, std::span<const T> w, double epsilon, T* y) {
  if constexpr (std::is_same_v<T, float>) {
    Kernels().rms_norm(x.data(), w.data(), static_cast<float>(epsilon), x.size(), y);
  } else {
    T squares{0};
    for (const T value : x) {
      squares += value * value;
    }
    const T inverse = T{1} / std::sqrt(squares / static_cast<T>(x.size()) + epsilon);
    for (size_t i = 0; i < x.size(); ++i) {
      y[i] = x[i] * inverse * w[i];
    }
  }
}

// Adds dL/dx to dx, given dy = dL/dy. With s = 1 / rms(x),
// dx_i = s w_i dy_i - x_i s^3 / n * sum_j(dy_j w_j x_j).
template <typename T>
void RmsNormBackward(std::span<const T> x, std::span<const T> w, double epsilon, const T* dy,
                     T* dx) {
  if constexpr (std::is_same_v<T, float>) {
    Kernels().rms_norm_backward(x.data(), w.data(), static_cast<float>(epsilon), dy, x.size(), dx);
  } else {
    const auto n = static_cast<T>(x.size());
    T squares{0};
    T dot{0};
    for (size_t i = 0; i < x.size(); ++i) {
      squares += x[i] * x[i];
      dot += dy[i] * w[i] * x[i];
    }
    const T inverse = T{1} / std::sqrt(squares / n + epsilon);
    const T pull = dot / n * inverse * inverse * inverse;
    for (size_t i = 0; i < x.size(); ++i) {
      dx[i] += inverse * w[i] * dy[i] - x[i] * pull;
    }
  }
}

// Computes y = silu(gate) * up with silu(g) = g / (1 + exp(-g)) (arXiv 2002.05202).
template <typename T>
void SwiGlu(const T* gate, const T* up, size_t n, T* y) {
  if constexpr (std::is_same_v<T, float>) {
    Kernels().swiglu(gate, up, n, y);
  } else {
    for (size_t i = 0; i < n; ++i) {
      y[i] = gate[i] / (T{1} + std::exp(-gate[i])) * up[i];
    }
  }
}

// Replaces gate and up by the derivatives: silu'(g) = s (1 + g (1 - s)) with s = 1 / (1 + exp(-g)).
template <typename T>
void SwiGluBackward(const T* dy, size_t n, T* gate, T* up) {
  if constexpr (std::is_same_v<T, float>) {
    Kernels().swiglu_backward(dy, n, gate, up);
  } else {
    for (size_t i = 0; i < n; ++i) {
      const T g = gate[i];
      const T s = T{1} / (T{1} + std::exp(-g));
      gate[i] = dy[i] * up[i] * s * (T{1} + g * (T{1} - s));
      up[i] = dy[i] * g * s;
    }
  }
}

// Rotates the pairs of one head by angles given as cosines and sines (RoPE, arXiv 2104.09864). The
// derivative is the rotation by the opposite angles: negate the sines.
template <typename T>
void Rotate(T* x, const T* cosine, const T* sine, size_t pairs, bool adjacent) {
  if constexpr (std::is_same_v<T, float>) {
    const auto rotate = adjacent ? Kernels().rotate_adjacent : Kernels().rotate;
    rotate(x, cosine, sine, pairs);
  } else {
    for (size_t i = 0; i < pairs; ++i) {
      T& first = x[adjacent ? 2 * i : i];
      T& second = x[adjacent ? 2 * i + 1 : pairs + i];
      const T kept = first;
      first = first * cosine[i] - second * sine[i];
      second = second * cosine[i] + kept * sine[i];
    }
  }
}

template <typename T>
T Largest(const T* x, size_t n) {
  if constexpr (std::is_same_v<T, float>) {
    return Kernels().max(x, n);
  } else {
    return *std::max_element(x, x + n);
  }
}

// Replaces x by exp(scale * x - shift), which must be at most 1 except for rounding; returns the
// sum.
template <typename T>
T ExpAffine(T* x, size_t n, T scale, T shift) {
  if constexpr (std::is_same_v<T, float>) {
    return Kernels().exp_affine(x, n, scale, shift);
  } else {
    T sum{0};
    for (size_t i = 0; i < n; ++i) {
      x[i] = std::exp(scale * x[i] - shift);
      sum += x[i];
    }
    return sum;
  }
}

template <typename T>
void AddTo(const T* x, size_t n, T* y) {
  if constexpr (std::is_same_v<T, float>) {
    Kernels().add(x, n, y);
  } else {
    for (size_t i = 0; i < n; ++i) {
      y[i] += x[i];
    }
  }
}

// Adds scale * x to y.
template <typename T>
void AddScaled(const T* x, size_t n, T scale, T* y) {
  for (size_t i = 0; i < n; ++i) {
    y[i] += scale * x[i];
  }
}

// Returns -log softmax(logits)[target] and replaces `logits` by weight * d/dlogits of it:
// weight * (softmax - onehot).
template <typename T>
double CrossEntropy(std::span<T> logits, size_t target, T weight) {
  const T maximum = Largest(logits.data(), logits.size());
  const T wanted = logits[target] - maximum;
  const T mass = ExpAffine(logits.data(), logits.size(), T{1}, maximum);
  const T factor = weight / mass;
  for (T& value : logits) {
    value *= factor;
  }
  logits[target] -= weight;
  return std::log(static_cast<double>(mass)) - static_cast<double>(wanted);
}

// Returns KL(p || q) in nats, p = softmax(reference) and q = softmax(logits), and replaces `logits`
// by weight * d/dlogits of it: weight * (q - p). `p` is scratch of the same size.
template <typename T>
double KlDivergence(std::span<const T> reference, std::span<T> logits, T weight, std::span<T> p) {
  const T top = Largest(reference.data(), reference.size());
  std::copy(reference.begin(), reference.end(), p.begin());
  const T mass = ExpAffine(p.data(), p.size(), T{1}, top);
  double lead = 0;  // sum of p times (reference - logits)
  for (size_t i = 0; i < p.size(); ++i) {
    p[i] /= mass;
    lead += static_cast<double>(p[i]) * static_cast<double>(reference[i] - logits[i]);
  }
  const T other = Largest(logits.data(), logits.size());
  const T other_mass = ExpAffine(logits.data(), logits.size(), T{1}, other);
  for (size_t i = 0; i < p.size(); ++i) {
    logits[i] = weight * (logits[i] / other_mass - p[i]);
  }
  return lead - static_cast<double>(top) + static_cast<double>(other) -
         std::log(static_cast<double>(mass)) + std::log(static_cast<double>(other_mass));
}

// A product y (rows x columns) = a (rows x inner) b, where b is inner x columns. Strides are
// distances between rows.
template <typename T>
struct Product {
  const T* a = nullptr;
  size_t a_stride = 0;
  size_t rows = 0;
  size_t inner = 0;
  const T* b = nullptr;
  size_t b_stride = 0;
  size_t columns = 0;
  T* y = nullptr;
  size_t y_stride = 0;
  bool accumulate = false;  // the product is added to y
};

template <typename T>
void MultiplyAb(const Product<T>& p) {
  if constexpr (std::is_same_v<T, float>) {
    Kernels().multiply_ab({.a = p.a,
                           .a_stride = p.a_stride,
                           .rows = p.rows,
                           .inner = p.inner,
                           .b = p.b,
                           .b_stride = p.b_stride,
                           .columns = p.columns,
                           .y = p.y,
                           .y_stride = p.y_stride,
                           .accumulate = p.accumulate});
  } else {
    for (size_t i = 0; i < p.rows; ++i) {
      for (size_t c = 0; c < p.columns; ++c) {
        T sum = p.accumulate ? p.y[i * p.y_stride + c] : T{0};
        for (size_t k = 0; k < p.inner; ++k) {
          sum += p.a[i * p.a_stride + k] * p.b[k * p.b_stride + c];
        }
        p.y[i * p.y_stride + c] = sum;
      }
    }
  }
}

// Computes the product with b transposed: b is columns x inner. Does not accumulate.
template <typename T>
void MultiplyAbt(const Product<T>& p) {
  if constexpr (std::is_same_v<T, float>) {
    Kernels().multiply_abt({.a = p.a,
                            .a_stride = p.a_stride,
                            .rows = p.rows,
                            .b = reinterpret_cast<const uint8_t*>(p.b),
                            .b_stride = p.b_stride * sizeof(float),
                            .outputs = p.columns,
                            .columns = p.inner,
                            .y = p.y,
                            .y_stride = p.y_stride});
  } else {
    for (size_t i = 0; i < p.rows; ++i) {
      for (size_t c = 0; c < p.columns; ++c) {
        T sum{0};
        for (size_t k = 0; k < p.inner; ++k) {
          sum += p.a[i * p.a_stride + k] * p.b[c * p.b_stride + k];
        }
        p.y[i * p.y_stride + c] = sum;
      }
    }
  }
}

// Sets to[c * to_stride + r] = scale * from[r * from_stride + c].
template <typename T>
void Transpose(const T* from, size_t from_stride, size_t rows, size_t columns, T scale, T* to,
               size_t to_stride) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      to[c * to_stride + r] = scale * from[r * from_stride + c];
    }
  }
}

}  // namespace ruvd::inference::train
