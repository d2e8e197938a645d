// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Included once per instruction set by kernels.cc. Computes element-wise operations and reductions.
#if defined(RUVD_KERNELS_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUVD_KERNELS_VECTOR_INL_H_
#undef RUVD_KERNELS_VECTOR_INL_H_
#else
#define RUVD_KERNELS_VECTOR_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "inference/kernels/decode-inl.h"
#include "inference/kernels/kernel_table.h"

HWY_BEFORE_NAMESPACE();
namespace ruvd::inference {
namespace HWY_NAMESPACE {

inline void RmsNorm(const float* x, const float* weight, float epsilon, size_t n, float* y) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  FloatVector squares = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVector v = hn::LoadU(d, x + i);
    squares = hn::MulAdd(v, v, squares);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, squares));
  for (; i < n; ++i) {
    sum += x[i] * x[i];
  }
  const float factor = 1.0F / std::sqrt(sum / static_cast<float>(n) + epsilon);
  const FloatVector factors = hn::Set(d, factor);
  i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVector scaled = hn::Mul(hn::LoadU(d, x + i), factors);
    hn::StoreU(hn::Mul(scaled, hn::LoadU(d, weight + i)), d, y + i);
  }
  for (; i < n; ++i) {
    y[i] = x[i] * factor * weight[i];
  }
}

// The formula, with s = 1 / rms(x), is dx_i += s w_i dy_i - x_i s^3 / n * sum_j(dy_j w_j x_j).
inline void RmsNormBackward(const float* x, const float* weight, float epsilon, const float* dy,
                            size_t n, float* dx) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  FloatVector squares = hn::Zero(d);
  FloatVector dots = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVector v = hn::LoadU(d, x + i);
    squares = hn::MulAdd(v, v, squares);
    dots = hn::MulAdd(hn::Mul(hn::LoadU(d, dy + i), hn::LoadU(d, weight + i)), v, dots);
  }
  float square = hn::GetLane(hn::SumOfLanes(d, squares));
  float dot = hn::GetLane(hn::SumOfLanes(d, dots));
  for (; i < n; ++i) {
    square += x[i] * x[i];
    dot += dy[i] * weight[i] * x[i];
  }
  const float count = static_cast<float>(n);
  const float inverse = 1.0F / std::sqrt(square / count + epsilon);
  const float pull = dot / count * inverse * inverse * inverse;
  const FloatVector inverses = hn::Set(d, inverse);
  const FloatVector pulls = hn::Set(d, pull);
  i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVector scaled =
        hn::Mul(inverses, hn::Mul(hn::LoadU(d, weight + i), hn::LoadU(d, dy + i)));
    const FloatVector sum = hn::Add(hn::LoadU(d, dx + i), scaled);
    hn::StoreU(hn::NegMulAdd(hn::LoadU(d, x + i), pulls, sum), d, dx + i);
  }
  for (; i < n; ++i) {
    dx[i] += inverse * weight[i] * dy[i] - x[i] * pull;
  }
}

inline void Rotate(float* x, const float* cosine, const float* sine, size_t half) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= half; i += lanes) {
    const FloatVector first = hn::LoadU(d, x + i);
    const FloatVector second = hn::LoadU(d, x + half + i);
    const FloatVector c = hn::LoadU(d, cosine + i);
    const FloatVector s = hn::LoadU(d, sine + i);
    hn::StoreU(hn::Sub(hn::Mul(first, c), hn::Mul(second, s)), d, x + i);
    hn::StoreU(hn::Add(hn::Mul(second, c), hn::Mul(first, s)), d, x + half + i);
  }
  for (; i < half; ++i) {
    const float first = x[i];
    const float second = x[half + i];
    x[i] = first * cosine[i] - second * sine[i];
    x[half + i] = second * cosine[i] + first * sine[i];
  }
}

inline void RotateAdjacent(float* x, const float* cosine, const float* sine, size_t pairs) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= pairs; i += lanes) {
    FloatVector first;
    FloatVector second;
    hn::LoadInterleaved2(d, x + 2 * i, first, second);
    const FloatVector c = hn::LoadU(d, cosine + i);
    const FloatVector s = hn::LoadU(d, sine + i);
    hn::StoreInterleaved2(hn::Sub(hn::Mul(first, c), hn::Mul(second, s)),
                          hn::Add(hn::Mul(second, c), hn::Mul(first, s)), d, x + 2 * i);
  }
  for (; i < pairs; ++i) {
    const float first = x[2 * i];
    const float second = x[2 * i + 1];
    x[2 * i] = first * cosine[i] - second * sine[i];
    x[2 * i + 1] = second * cosine[i] + first * sine[i];
  }
}

// Beyond 88, exp overflows float32. The sigmoid is zero in float32 there.
inline constexpr float kLargestExponent = 88.0F;

inline void Swiglu(const float* gate, const float* up, size_t n, float* out) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  const FloatVector one = hn::Set(d, 1.0F);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVector g = hn::LoadU(d, gate + i);
    const FloatVector exponent = hn::Min(hn::Neg(g), hn::Set(d, kLargestExponent));
    const FloatVector silu = hn::Div(g, hn::Add(one, hn::Exp(d, exponent)));
    hn::StoreU(hn::Mul(silu, hn::LoadU(d, up + i)), d, out + i);
  }
  for (; i < n; ++i) {
    out[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
  }
}

// The derivative is silu'(g) = s (1 + g (1 - s)) with s = 1 / (1 + exp(-g)).
inline void SwigluBackward(const float* dy, size_t n, float* gate, float* up) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  const FloatVector one = hn::Set(d, 1.0F);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVector g = hn::LoadU(d, gate + i);
    const FloatVector exponent = hn::Min(hn::Neg(g), hn::Set(d, kLargestExponent));
    const FloatVector s = hn::Div(one, hn::Add(one, hn::Exp(d, exponent)));
    const FloatVector slope = hn::Mul(s, hn::MulAdd(g, hn::Sub(one, s), one));
    const FloatVector dv = hn::LoadU(d, dy + i);
    const FloatVector dgate = hn::Mul(hn::Mul(dv, hn::LoadU(d, up + i)), slope);
    hn::StoreU(hn::Mul(dv, hn::Mul(g, s)), d, up + i);
    hn::StoreU(dgate, d, gate + i);
  }
  for (; i < n; ++i) {
    const float g = gate[i];
    const float s = 1.0F / (1.0F + std::exp(-g));
    gate[i] = dy[i] * up[i] * s * (1.0F + g * (1.0F - s));
    up[i] = dy[i] * g * s;
  }
}

inline float ExpAffine(float* x, size_t n, float scale, float shift) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  const FloatVector scales = hn::Set(d, scale);
  const FloatVector shifts = hn::Set(d, shift);
  FloatVector sums = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVector e = hn::Exp(d, hn::MulSub(scales, hn::LoadU(d, x + i), shifts));
    hn::StoreU(e, d, x + i);
    sums = hn::Add(sums, e);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < n; ++i) {
    x[i] = std::exp(scale * x[i] - shift);
    sum += x[i];
  }
  return sum;
}

inline void Add(const float* x, size_t n, float* y) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  }
  for (; i < n; ++i) {
    y[i] += x[i];
  }
}

inline float Max(const float* x, size_t n) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  FloatVector largest = hn::Set(d, x[0]);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    largest = hn::Max(largest, hn::LoadU(d, x + i));
  }
  float result = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; i < n; ++i) {
    result = x[i] > result ? x[i] : result;
  }
  return result;
}

inline float SumExp(const float* x, size_t n, float shift) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  const FloatVector shifts = hn::Set(d, shift);
  FloatVector sums = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    sums = hn::Add(sums, hn::Exp(d, hn::Sub(hn::LoadU(d, x + i), shifts)));
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < n; ++i) {
    sum += std::exp(x[i] - shift);
  }
  return sum;
}

inline TopTwo FindTopTwo(const float* x, size_t n) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  TopTwo top;
  const auto take = [&top](float value) {
    if (value > top.first) {
      top.second = top.first;
      top.first = value;
    } else if (value > top.second) {
      top.second = value;
    }
  };
  FloatVector first = hn::Set(d, top.first);
  FloatVector second = first;
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVector value = hn::LoadU(d, x + i);
    second = hn::Max(second, hn::Min(first, value));
    first = hn::Max(first, value);
  }
  HWY_ALIGN float kept[2 * HWY_MAX_BYTES / sizeof(float)];
  hn::StoreU(first, d, kept);
  hn::StoreU(second, d, kept + lanes);
  for (size_t lane = 0; lane < 2 * lanes; ++lane) {
    take(kept[lane]);
  }
  for (; i < n; ++i) {
    take(x[i]);
  }
  const FloatVector largest = hn::Set(d, top.first);
  while (top.place + lanes <= n && hn::AllFalse(d, hn::LoadU(d, x + top.place) == largest)) {
    top.place += lanes;
  }
  while (top.place + 1 < n && x[top.place] != top.first) {
    ++top.place;
  }
  top.place = HWY_MIN(top.place, n > 0 ? n - 1 : 0);  // in a row of NaN no value equals the largest
  return top;
}

inline size_t FindAbove(const float* x, size_t n, float least, uint32_t* places) {
  constexpr size_t kGroup = 64;  // values whose comparisons fill one word
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  const FloatVector bound = hn::Set(d, least);
  size_t found = 0;
  size_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    uint64_t above = 0;
    for (size_t v = 0; v < kGroup; v += lanes) {
      uint8_t bits[8];
      hn::StoreMaskBits(d, hn::Ge(hn::LoadU(d, x + i + v), bound), bits);
      uint64_t part = 0;
      std::memcpy(&part, bits, (hn::MaxLanes(d) + 7) / 8);
      above |= part << v;
    }
    for (; above != 0; above &= above - 1) {
      places[found++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(std::countr_zero(above));
    }
  }
  for (; i < n; ++i) {
    if (x[i] >= least) {
      places[found++] = static_cast<uint32_t>(i);
    }
  }
  return found;
}

inline float AddBiases(const float* biases, size_t n, float* scores) {
  const Floats d;
  const FloatVector none = hn::Set(d, -std::numeric_limits<float>::infinity());
  FloatVector largest = none;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const FloatVector bias = hn::LoadU(d, biases + i);
    const FloatVector score = hn::LoadU(d, scores + i);
    largest = hn::Max(largest, hn::IfThenElse(hn::Gt(bias, none), score, none));
    hn::StoreU(hn::Add(score, bias), d, scores + i);
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

inline ScoreSums SumScores(const float* scores, size_t n, float shift, float least,
                           uint32_t* places) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  const FloatVector shifts = hn::Set(d, shift);
  const FloatVector bound = hn::Set(d, least);
  FloatVector largest = hn::Set(d, -std::numeric_limits<float>::infinity());
  FloatVector mass = hn::Zero(d);
  size_t found = 0;
  for (size_t i = 0; i < n; i += lanes) {
    const FloatVector score = hn::LoadU(d, scores + i);
    largest = hn::Max(largest, score);
    mass = hn::Add(mass, hn::Exp(d, hn::Sub(score, shifts)));
    const auto above = hn::Ge(score, bound);
    if (!hn::AllFalse(d, above)) {
      uint8_t bits[8] = {};
      hn::StoreMaskBits(d, above, bits);
      uint32_t left = bits[0] | static_cast<uint32_t>(bits[1]) << 8;
      for (; left != 0; left &= left - 1) {
        places[found++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(std::countr_zero(left));
      }
    }
  }
  return {.largest = hn::GetLane(hn::MaxOfLanes(d, largest)),
          .mass = hn::GetLane(hn::SumOfLanes(d, mass)),
          .found = found};
}

inline ExpSums SumExpEnergy(const float* x, size_t n, float shift) {
  constexpr float kLeast = -100.0F;  // avoids 0 * -infinity for a value of -infinity
  constexpr float kMost = std::numeric_limits<float>::max();
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  const FloatVector shifts = hn::Set(d, shift);
  const FloatVector least = hn::Set(d, kLeast);
  const FloatVector most = hn::Set(d, kMost);
  hn::Mask<Floats> ordinary = hn::Ge(most, shifts);
  FloatVector mass = hn::Zero(d);
  FloatVector energy = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVector value = hn::LoadU(d, x + i);
    ordinary = hn::And(ordinary, hn::Ge(most, value));
    const FloatVector difference = hn::Max(hn::Sub(value, shifts), least);
    const FloatVector e = hn::Exp(d, difference);
    mass = hn::Add(mass, e);
    energy = hn::MulAdd(difference, e, energy);
  }
  ExpSums sums{hn::GetLane(hn::SumOfLanes(d, mass)), hn::GetLane(hn::SumOfLanes(d, energy))};
  bool finite = hn::AllTrue(d, ordinary) && shift >= -kMost;
  for (; i < n; ++i) {
    finite = finite && x[i] <= kMost;
    const float difference = x[i] - shift > kLeast ? x[i] - shift : kLeast;
    const double e = std::exp(difference);
    sums.mass += e;
    sums.energy += difference * e;
  }
  if (!finite) {
    sums.mass = sums.energy = std::numeric_limits<double>::quiet_NaN();
  }
  return sums;
}

}  // namespace HWY_NAMESPACE
}  // namespace ruvd::inference
HWY_AFTER_NAMESPACE();

#endif
