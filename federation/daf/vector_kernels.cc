// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/vector_kernels.h"

// The lanes of the sums are stored in arrays, which is impossible with vectors of unknown size.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "federation/daf/vector_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ruvd::federation {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Lanes of a sum: enough to hide the latency of additions, few enough for 16 registers of four
// lanes.
constexpr size_t kSumLanes = 32;
using SumTag = hn::CappedTag<float, kSumLanes>;

template <typename Term>
HWY_INLINE float SumTerms(const float* a, const float* b, size_t count, const Term& term) {
  const SumTag d;
  constexpr size_t kWidth = hn::MaxLanes(SumTag());
  constexpr size_t kVectors = kSumLanes / kWidth;
  hn::Vec<SumTag> sums[kVectors];
  for (auto& sum : sums) {
    sum = hn::Zero(d);
  }
  size_t i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes) {
    for (size_t v = 0; v < kVectors; ++v) {
      const size_t at = i + v * kWidth;
      sums[v] = hn::Add(sums[v], term(hn::LoadU(d, a + at), hn::LoadU(d, b + at)));
    }
  }
  HWY_ALIGN float lanes[kSumLanes];
  for (size_t v = 0; v < kVectors; ++v) {
    hn::Store(sums[v], d, lanes + v * kWidth);
  }
  const hn::CappedTag<float, 1> one;
  float sum = 0;
  for (const float lane : lanes) {
    sum += lane;
  }
  for (; i < count; ++i) {
    sum += hn::GetLane(term(hn::LoadU(one, a + i), hn::LoadU(one, b + i)));
  }
  return sum;
}

float SumSquaredDifferences(const float* a, const float* b, size_t count) {
  return SumTerms(a, b, count, [](auto x, auto y) HWY_ATTR {
    const auto difference = hn::Sub(x, y);
    return hn::Mul(difference, difference);
  });
}

float SumProducts(const float* a, const float* b, size_t count) {
  return SumTerms(a, b, count, [](auto x, auto y) HWY_ATTR { return hn::Mul(x, y); });
}

void AddScaled(const float* x, float factor, float* out, size_t count) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, factor);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), hn::Mul(scale, hn::LoadU(d, x + i))), d, out + i);
  }
  for (; i < count; ++i) {
    out[i] += factor * x[i];
  }
}

void AddScaledDifference(const float* x, const float* centre, float factor, float* out,
                         size_t count) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, factor);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto difference = hn::Sub(hn::LoadU(d, x + i), hn::LoadU(d, centre + i));
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), hn::Mul(scale, difference)), d, out + i);
  }
  for (; i < count; ++i) {
    out[i] += factor * (x[i] - centre[i]);
  }
}

void OrderPairs(float* low, float* high, size_t count) {
  const hn::ScalableTag<float> d;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, low + i);
    const auto y = hn::LoadU(d, high + i);
    hn::StoreU(hn::Min(x, y), d, low + i);
    hn::StoreU(hn::Max(x, y), d, high + i);
  }
  for (; i < count; ++i) {
    const float x = low[i];
    const float y = high[i];
    low[i] = y < x ? y : x;
    high[i] = y < x ? x : y;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ruvd::federation
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruvd::federation {
namespace {

HWY_EXPORT(SumSquaredDifferences);
HWY_EXPORT(SumProducts);
HWY_EXPORT(AddScaled);
HWY_EXPORT(AddScaledDifference);
HWY_EXPORT(OrderPairs);

}  // namespace

float SumSquaredDifferences(const float* a, const float* b, size_t count) {
  return HWY_DYNAMIC_DISPATCH(SumSquaredDifferences)(a, b, count);
}

float SumProducts(const float* a, const float* b, size_t count) {
  return HWY_DYNAMIC_DISPATCH(SumProducts)(a, b, count);
}

void AddScaled(const float* x, float factor, float* out, size_t count) {
  HWY_DYNAMIC_DISPATCH(AddScaled)(x, factor, out, count);
}

void AddScaledDifference(const float* x, const float* centre, float factor, float* out,
                         size_t count) {
  HWY_DYNAMIC_DISPATCH(AddScaledDifference)(x, centre, factor, out, count);
}

void OrderPairs(float* low, float* high, size_t count) {
  HWY_DYNAMIC_DISPATCH(OrderPairs)(low, high, count);
}

}  // namespace ruvd::federation
#endif
