// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/dot.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "storage/hnsw/dot.cc"
#include <hwy/foreach_target.h>
// foreach_target.h comes before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ruvd::hnsw {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

float DotOfTarget(const float* a, const float* b, size_t n) {
  const hn::CappedTag<float, kRowPadding> d;
  const size_t lanes = hn::Lanes(d);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), sum1);
  }
  for (; i < n; i += lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum0);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
}

}  // namespace HWY_NAMESPACE
}  // namespace ruvd::hnsw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruvd::hnsw {

HWY_EXPORT(DotOfTarget);

float Dot(const float* a, const float* b, size_t n) {
  return HWY_DYNAMIC_DISPATCH(DotOfTarget)(a, b, n);
}

}  // namespace ruvd::hnsw
#endif
