// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Included once per instruction set by kernels.cc. Computes attention over tiles of keys and
// values.
#if defined(RUVD_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUVD_KERNELS_ATTENTION_INL_H_
#undef RUVD_KERNELS_ATTENTION_INL_H_
#else
#define RUVD_KERNELS_ATTENTION_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "inference/kernels/attention_step.h"
#include "inference/kernels/decode-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ruvd::inference {
namespace HWY_NAMESPACE {

// Queries of a register tile, and the most queries that one tile takes when a small rest would
// remain.
inline constexpr size_t kQueryRows = 6;
inline constexpr size_t kMaxQueryRows = 8;
inline constexpr size_t kLanes = hn::MaxLanes(Floats());
#if HWY_TARGET == HWY_NEON
inline constexpr bool kManyRegisters = true;
#else
inline constexpr bool kManyRegisters = kLanes == 16;
#endif
// Returns the vectors of a register tile: at most 24 accumulators if there are 32 registers, or 12
// if there are 16.
constexpr size_t QueryVectors(size_t rows) {
  const size_t vectors = rows <= kQueryRows ? 2 : 1;
  return kManyRegisters ? 2 * vectors : vectors;
}
static_assert(kKvTileTokens % kLanes == 0);

// How one stored format is loaded as vectors of float32.
struct F32Element {
  using Value = float;
  static HWY_INLINE FloatVector Load(const float* from) { return hn::LoadU(Floats(), from); }
};

struct F16Element {
  using Value = hwy::float16_t;
  static HWY_INLINE FloatVector Load(const hwy::float16_t* from) {
    return hn::PromoteTo(Floats(), hn::LoadU(Halves(), from));
  }
};

struct Q8Element {
  using Value = int8_t;
  static HWY_INLINE FloatVector Load(const int8_t* from) {
    const hn::Rebind<int8_t, Floats> d8;
    return hn::ConvertTo(Floats(), hn::PromoteTo(Integers(), hn::LoadU(d8, from)));
  }
};

// Returns 2^x for x <= 0: zero below -126 and exactly one at zero. The relative error is below 2e-7
// (polynomial of Cephes' exp2f).
HWY_INLINE FloatVector PowerOfTwo(FloatVector x) {
  const Floats d;
  const Integers integers;
  const FloatVector whole = hn::Round(x);
  const FloatVector rest = hn::Sub(x, whole);
  FloatVector sum = hn::Set(d, 1.535336188319500e-4F);
  sum = hn::MulAdd(sum, rest, hn::Set(d, 1.339887440266574e-3F));
  sum = hn::MulAdd(sum, rest, hn::Set(d, 9.618437357674640e-3F));
  sum = hn::MulAdd(sum, rest, hn::Set(d, 5.550332471162809e-2F));
  sum = hn::MulAdd(sum, rest, hn::Set(d, 2.402264791363012e-1F));
  sum = hn::MulAdd(sum, rest, hn::Set(d, 6.931472028550421e-1F));
  sum = hn::MulAdd(sum, rest, hn::Set(d, 1.0F));
  const auto exponent = hn::ShiftLeft<23>(hn::ConvertTo(integers, whole));
  const FloatVector power = hn::BitCast(d, hn::Add(hn::BitCast(integers, sum), exponent));
  return hn::IfThenElseZero(hn::Ge(x, hn::Set(d, -126.0F)), power);
}

// Computes scores (kRows x kVectors vectors, rows kKvStepKeys apart) = queries times the keys, for
// the vectors from `first` on. Sums run over the head's components in ascending order.
template <class Element, size_t kRows, size_t kVectors>
HWY_INLINE void ScoreTile(const AttentionStep& step, const float* queries, size_t first,
                          float* scores) {
  const Floats d;
  const typename Element::Value* keys[kVectors];
  FloatVector sums[kRows][kVectors];
  HWY_UNROLL(8)
  for (size_t v = 0; v < kVectors; ++v) {
    const size_t key = (first + v) * kLanes;
    keys[v] = static_cast<const typename Element::Value*>(step.tiles[key / kKvTileTokens].keys) +
              key % kKvTileTokens;
    HWY_UNROLL(8)
    for (size_t r = 0; r < kRows; ++r) {
      sums[r][v] = hn::Zero(d);
    }
  }
  for (size_t i = 0; i < step.head_size; ++i) {
    FloatVector key[kVectors];
    HWY_UNROLL(8)
    for (size_t v = 0; v < kVectors; ++v) {
      key[v] = Element::Load(keys[v] + i * kKvTileTokens);
    }
    HWY_UNROLL(8)
    for (size_t r = 0; r < kRows; ++r) {
      const FloatVector query = hn::Set(d, queries[r * step.head_size + i]);
      HWY_UNROLL(8)
      for (size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(query, key[v], sums[r][v]);
      }
    }
  }
  HWY_UNROLL(8)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[r][v], d, scores + r * kKvStepKeys + (first + v) * kLanes);
    }
  }
}

// Computes sums (kRows x kVectors vectors from `column` on) = factors * sums + powers times values.
// Sums run over the keys in ascending order.
template <class Element, size_t kRows, size_t kVectors>
HWY_INLINE void ValueTile(const AttentionStep& step, const float* powers, const float* factors,
                          size_t column, float* sums) {
  const Floats d;
  const size_t stride = KvValueStride(step.head_size);
  FloatVector total[kRows][kVectors];
  HWY_UNROLL(8)
  for (size_t r = 0; r < kRows; ++r) {
    const FloatVector factor = hn::Set(d, factors[r]);
    HWY_UNROLL(8)
    for (size_t v = 0; v < kVectors; ++v) {
      total[r][v] = hn::Mul(factor, hn::LoadU(d, sums + r * stride + column + v * kLanes));
    }
  }
  for (size_t first = 0; first < step.keys; first += kKvTileTokens) {
    const auto* values =
        static_cast<const typename Element::Value*>(step.tiles[first / kKvTileTokens].values) +
        column;
    const size_t count = HWY_MIN(kKvTileTokens, step.keys - first);
    for (size_t key = 0; key < count; ++key) {
      FloatVector value[kVectors];
      HWY_UNROLL(8)
      for (size_t v = 0; v < kVectors; ++v) {
        value[v] = Element::Load(values + key * stride + v * kLanes);
      }
      HWY_UNROLL(8)
      for (size_t r = 0; r < kRows; ++r) {
        const FloatVector power = hn::Set(d, powers[r * kKvStepKeys + first + key]);
        HWY_UNROLL(8)
        for (size_t v = 0; v < kVectors; ++v) {
          total[r][v] = hn::MulAdd(power, value[v], total[r][v]);
        }
      }
    }
  }
  HWY_UNROLL(8)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(total[r][v], d, sums + r * stride + column + v * kLanes);
    }
  }
}

// Returns the lanes of vector `v` that lie in one of the two ranges.
HWY_INLINE hn::Mask<Floats> Seen(const KeysOfStep& keys, size_t v) {
  const Floats d;
  const FloatVector index = hn::Iota(d, static_cast<float>(v * kLanes));
  const auto in = [&](size_t range) HWY_ATTR {
    return hn::And(hn::Ge(index, hn::Set(d, static_cast<float>(keys.begin[range]))),
                   hn::Lt(index, hn::Set(d, static_cast<float>(keys.end[range]))));
  };
  return hn::Or(in(0), in(1));
}

inline bool SeesAll(const KeysOfStep& keys, size_t count) {
  return (keys.begin[0] == 0 && keys.end[0] == count) ||
         (keys.begin[1] == 0 && keys.end[1] == count);
}

// The scales of a step's keys or values. A tile without scales has ones here.
struct StepScales {
  bool any = false;
  float keys[kKvStepKeys];
  float values[kKvStepKeys];
};

// Replaces the scores of one query by powers of two relative to the largest score so far. Returns
// the factor for the sums of the earlier steps.
HWY_INLINE float SoftmaxRow(const AttentionStep& step, const StepScales& scales, size_t row,
                            float* scores) {
  const Floats d;
  const size_t vectors = (step.keys + kLanes - 1) / kLanes;
  const KeysOfStep& visible = step.visible[row];
  const bool all = SeesAll(visible, step.keys) && step.keys % kLanes == 0;
  FloatVector best = hn::Set(d, kNoScore);
  for (size_t v = 0; v < vectors; ++v) {
    FloatVector score = hn::LoadU(d, scores + v * kLanes);
    if (scales.any) {
      score = hn::Mul(score, hn::LoadU(d, scales.keys + v * kLanes));
      hn::StoreU(score, d, scores + v * kLanes);
    }
    best =
        hn::Max(best, all ? score : hn::IfThenElse(Seen(visible, v), score, hn::Set(d, kNoScore)));
  }
  const FloatVector before = hn::Set(d, step.largest[row]);
  const FloatVector largest = hn::Max(before, hn::MaxOfLanes(d, best));
  FloatVector sum = hn::Zero(d);
  for (size_t v = 0; v < vectors; ++v) {
    FloatVector power = PowerOfTwo(hn::Sub(hn::LoadU(d, scores + v * kLanes), largest));
    if (!all) {
      power = hn::IfThenElseZero(Seen(visible, v), power);
    }
    sum = hn::Add(sum, power);
    if (scales.any) {
      power = hn::Mul(power, hn::LoadU(d, scales.values + v * kLanes));
    }
    hn::StoreU(power, d, scores + v * kLanes);
  }
  const float factor = hn::GetLane(PowerOfTwo(hn::Sub(before, largest)));
  step.largest[row] = hn::GetLane(largest);
  step.totals[row] = step.totals[row] * factor + hn::GetLane(hn::SumOfLanes(d, sum));
  return factor;
}

// Computes queries [row, row + kRows) over all keys of the step.
template <class Element, size_t kRows>
HWY_NOINLINE void AttendRows(const AttentionStep& step, const StepScales& scales, size_t row) {
  HWY_ALIGN float scores[kRows * kKvStepKeys];
  float factors[kRows];
  const float* queries = step.queries + row * step.head_size;
  const size_t vectors = (step.keys + kLanes - 1) / kLanes;
  constexpr size_t kVectors = QueryVectors(kRows);
  size_t v = 0;
  for (; v + kVectors <= vectors; v += kVectors) {
    ScoreTile<Element, kRows, kVectors>(step, queries, v, scores);
  }
  for (; v < vectors; ++v) {
    ScoreTile<Element, kRows, 1>(step, queries, v, scores);
  }
  for (size_t r = 0; r < kRows; ++r) {
    factors[r] = SoftmaxRow(step, scales, row + r, scores + r * kKvStepKeys);
  }
  const size_t stride = KvValueStride(step.head_size);
  float* sums = step.sums + row * stride;
  size_t column = 0;
  for (; column + kVectors * kLanes <= stride; column += kVectors * kLanes) {
    ValueTile<Element, kRows, kVectors>(step, scores, factors, column, sums);
  }
  for (; column < stride; column += kLanes) {
    ValueTile<Element, kRows, 1>(step, scores, factors, column, sums);
  }
}

template <class Element>
HWY_INLINE void AttendAllRows(const AttentionStep& step, const StepScales& scales) {
  size_t row = 0;
  for (; row + kMaxQueryRows < step.rows; row += kQueryRows) {
    AttendRows<Element, kQueryRows>(step, scales, row);
  }
  switch (step.rows - row) {
    case 8:
      return AttendRows<Element, 8>(step, scales, row);
    case 7:
      return AttendRows<Element, 7>(step, scales, row);
    case 6:
      return AttendRows<Element, 6>(step, scales, row);
    case 5:
      return AttendRows<Element, 5>(step, scales, row);
    case 4:
      return AttendRows<Element, 4>(step, scales, row);
    case 3:
      return AttendRows<Element, 3>(step, scales, row);
    case 2:
      return AttendRows<Element, 2>(step, scales, row);
    case 1:
      return AttendRows<Element, 1>(step, scales, row);
    default:
      return;
  }
}

template <class Element>
HWY_INLINE void WidenElements(const void* from, size_t count, float* out) {
  const auto* values = static_cast<const typename Element::Value*>(from);
  for (size_t i = 0; i < count; i += kLanes) {
    hn::StoreU(Element::Load(values + i), Floats(), out + i);
  }
}

// Converts stored values to float32, without their scales. `count` is a multiple of 16.
inline void Widen(KvFormat format, const void* from, size_t count, float* out) {
  switch (format) {
    case KvFormat::kF32:
      return WidenElements<F32Element>(from, count, out);
    case KvFormat::kF16:
      return WidenElements<F16Element>(from, count, out);
    case KvFormat::kQ8:
      return WidenElements<Q8Element>(from, count, out);
  }
}

// Replaces tiles of other formats by float32 copies in the step's scratch. Scales stay separate, so
// that the result is the same as without copies.
inline void WidenTiles(const AttentionStep& step, size_t count, KvTile* tiles) {
  const size_t key_floats = step.head_size * kKvTileTokens;
  const size_t value_floats = KvValueStride(step.head_size) * kKvTileTokens;
  for (size_t i = 0; i < count; ++i) {
    tiles[i] = step.tiles[i];
    if (tiles[i].format == KvFormat::kF32) {
      continue;
    }
    float* keys = step.scratch + i * (key_floats + value_floats);
    Widen(tiles[i].format, tiles[i].keys, key_floats, keys);
    Widen(tiles[i].format, tiles[i].values, value_floats, keys + key_floats);
    tiles[i].format = KvFormat::kF32;
    tiles[i].keys = keys;
    tiles[i].values = keys + key_floats;
  }
}

inline void CollectScales(const KvTile* tiles, size_t count, StepScales* scales) {
  for (size_t i = 0; i < count; ++i) {
    scales->any = scales->any || tiles[i].key_scales != nullptr;
  }
  for (size_t i = 0; scales->any && i < count; ++i) {
    for (size_t t = 0; t < kKvTileTokens; ++t) {
      const bool scaled = tiles[i].key_scales != nullptr;
      scales->keys[i * kKvTileTokens + t] = scaled ? tiles[i].key_scales[t] : 1.0F;
      scales->values[i * kKvTileTokens + t] = scaled ? tiles[i].value_scales[t] : 1.0F;
    }
  }
}

inline void Attend(const AttentionStep& step) {
  const size_t count = (step.keys + kKvTileTokens - 1) / kKvTileTokens;
  StepScales scales;
  CollectScales(step.tiles, count, &scales);
  const KvFormat format = step.tiles[0].format;
  bool same = true;
  for (size_t i = 1; i < count; ++i) {
    same = same && step.tiles[i].format == format;
  }
  if (same && format == KvFormat::kF32) {
    return AttendAllRows<F32Element>(step, scales);
  }
  // With few queries each value is read only once, so it is widened in registers.
  if (same && step.rows <= kMaxQueryRows) {
    return format == KvFormat::kF16 ? AttendAllRows<F16Element>(step, scales)
                                    : AttendAllRows<Q8Element>(step, scales);
  }
  KvTile tiles[kKvStepTiles];
  WidenTiles(step, count, tiles);
  AttentionStep wide = step;
  wide.tiles = tiles;
  AttendAllRows<F32Element>(wide, scales);
}

// Attention stores zero instead of a value that is not finite. Since zero times NaN is NaN, such a
// value would spoil even rows that do not see it.
HWY_INLINE FloatVector FiniteOrZero(FloatVector x) {
  const FloatVector most = hn::Set(Floats(), std::numeric_limits<float>::max());
  return hn::IfThenElseZero(hn::Le(hn::Abs(x), most), x);
}

inline float FiniteOrZero(float x) {
  return std::isfinite(x) ? x : 0.0F;
}

inline void NarrowF32(const float* x, size_t n, float* out) {
  const Floats d;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(FiniteOrZero(hn::LoadU(d, x + i)), d, out + i);
  }
  for (; i < n; ++i) {
    out[i] = FiniteOrZero(x[i]);
  }
}

// Values beyond the range become the largest half-precision number.
inline void NarrowF16(const float* x, size_t n, hwy::float16_t* out) {
  const Floats d;
  constexpr float kLargestHalf = 65504.0F;
  const FloatVector least = hn::Set(d, -kLargestHalf);
  const FloatVector most = hn::Set(d, kLargestHalf);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const FloatVector value = hn::Clamp(FiniteOrZero(hn::LoadU(d, x + i)), least, most);
    hn::StoreU(hn::DemoteTo(Halves(), value), Halves(), out + i);
  }
  for (; i < n; ++i) {
    const uint16_t bits = FloatToHalf(std::clamp(FiniteOrZero(x[i]), -kLargestHalf, kLargestHalf));
    std::memcpy(out + i, &bits, sizeof(bits));
  }
}

inline float NarrowQ8(const float* x, size_t n, int8_t* out) {
  const Floats d;
  const hn::Rebind<int8_t, Floats> d8;
  FloatVector bounds = hn::Zero(d);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    bounds = hn::Max(bounds, hn::Abs(FiniteOrZero(hn::LoadU(d, x + i))));
  }
  float bound = hn::GetLane(hn::MaxOfLanes(d, bounds));
  for (; i < n; ++i) {
    bound = std::max(bound, std::abs(FiniteOrZero(x[i])));
  }
  const float inverse = bound > 0 ? 127.0F / bound : 0.0F;
  for (i = 0; i + kLanes <= n; i += kLanes) {
    const FloatVector scaled = hn::Mul(FiniteOrZero(hn::LoadU(d, x + i)), hn::Set(d, inverse));
    hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(scaled)), d8, out + i);
  }
  for (; i < n; ++i) {
    out[i] = static_cast<int8_t>(std::lrint(FiniteOrZero(x[i]) * inverse));
  }
  return bound / 127.0F;
}

// Stores one row of n values in a format, with zero for values that are not finite. Returns its
// scale (one except for kQ8).
inline float Narrow(KvFormat format, const float* x, size_t n, void* out) {
  switch (format) {
    case KvFormat::kF32:
      NarrowF32(x, n, static_cast<float*>(out));
      return 1.0F;
    case KvFormat::kF16:
      NarrowF16(x, n, static_cast<hwy::float16_t*>(out));
      return 1.0F;
    case KvFormat::kQ8:
      break;
  }
  return NarrowQ8(x, n, static_cast<int8_t*>(out));
}

}  // namespace HWY_NAMESPACE
}  // namespace ruvd::inference
HWY_AFTER_NAMESPACE();

#endif
