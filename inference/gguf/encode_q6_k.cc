// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "inference/gguf/encode_blocks.h"
#include "inference/gguf/half.h"

// Q6_K: sixteen sub-blocks of 16 values, x ~ (d s) (q - 32). One d in half precision serves all
// sub-blocks; each sub-block has s in -128..127; q is in 0..63. The search is the one of
// encode_q4_q5_k.cc with one unknown instead of two. Quants are -32..31 until they are stored.
namespace ruvd::inference::gguf {
namespace {

constexpr int kSub = 16;
constexpr int kSubs = 16;
constexpr int kLanes = 8;
constexpr float kMinQuant = -32.0F;
constexpr float kLargestQuant = 31.0F;
// Quants to which the extreme of a sub-block is mapped in turn. Values beyond the range are
// clipped.
constexpr std::array<float, 9> kExtremeAt = {-33.0F, -32.6F, -32.2F, -31.8F, -31.4F,
                                             -31.0F, 31.6F,  31.2F,  30.8F};
// The largest sub-scale is tried from 128 down to this number.
constexpr int kLargestSubScale = 128;
constexpr int kLeastLargest = 96;
constexpr int kRounds = 2;
constexpr float kLargestValue = 1e9F;
constexpr float kLargestHalf = 65504.0F;
constexpr float kLeastHalf = 0x1p-24F;

struct Fits {
  std::array<float, kSubs> scale;   // of either sign
  std::array<float, kSubs> sum_qq;  // curvature
};

struct Steps {
  float d = 0;
  std::array<int, kSubs> scale;
};

struct Moments {
  float qq = 0, qx = 0;
};

float Total(const std::array<float, kLanes>& lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// Rounds half up. Adding 32 makes all numbers positive, so truncation rounds correctly.
float Nearest(float value) {
  const float clamped = std::min(std::max(value, kMinQuant), kLargestQuant);
  return static_cast<float>(static_cast<int>(clamped - kMinQuant + 0.5F)) + kMinQuant;
}

Moments Assign(const float* x, float inverse) {
  std::array<float, kLanes> qq{};
  std::array<float, kLanes> qx{};
  for (int i = 0; i < kSub; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const float q = Nearest(x[i + l] * inverse);
      qq[l] += q * q;
      qx[l] += q * x[i + l];
    }
  }
  return {.qq = Total(qq), .qx = Total(qx)};
}

// Finds the scale and quants that explain most of the sum of squares: the largest (sum q x)^2 / sum
// q^2.
void FitSubBlock(const float* x, float* scale, float* sum_qq) {
  float extreme = 0;
  for (int i = 0; i < kSub; ++i) {
    extreme = std::fabs(x[i]) > std::fabs(extreme) ? x[i] : extreme;
  }
  *scale = 0;
  *sum_qq = 0;
  if (std::fabs(extreme) < kLeastHalf / 2) {
    return;  // zero is the nearest representable value
  }
  float best = 0;
  const auto consider = [&](float inverse) {
    const Moments m = Assign(x, inverse);
    const float gain = m.qq > 0 ? m.qx * (m.qx / m.qq) : 0;
    if (gain > best) {
      best = gain;
      *scale = m.qx / m.qq;
      *sum_qq = m.qq;
    }
  };
  for (const float at : kExtremeAt) {
    consider(at / extreme);
  }
  if (*scale != 0) {
    consider(1.0F / *scale);
  }
}

// Rounds the scales to multiples of d. Returns how much that adds to the sum of squared errors.
float RoundFits(const Fits& fits, float d, Steps* steps) {
  const float inverse = d != 0 ? 1.0F / d : 0.0F;
  std::array<float, kLanes> cost{};
  std::array<int, kSubs> scale;
  for (int j = 0; j < kSubs; j += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const float clamped = std::min(std::max(fits.scale[j + l] * inverse, -128.0F), 127.0F);
      scale[j + l] = static_cast<int>(clamped + 128.5F) - 128;
      const float miss = static_cast<float>(scale[j + l]) * d - fits.scale[j + l];
      cost[l] += miss * miss * fits.sum_qq[j + l];
    }
  }
  if (steps != nullptr) {
    *steps = {.d = d, .scale = scale};
  }
  return Total(cost);
}

Steps ChooseSteps(const Fits& fits) {
  float extreme = 0;
  for (const float scale : fits.scale) {
    extreme = std::fabs(scale) > std::fabs(extreme) ? scale : extreme;
  }
  Steps best{.d = 0, .scale = {}};
  if (extreme == 0) {
    return best;
  }
  float least = 0;
  for (int count = kLargestSubScale; count >= kLeastLargest; --count) {
    // The extreme gets a negative sub-scale, because -128 exists and +128 does not.
    const float wanted = -extreme / static_cast<float>(count);
    const float step = std::fabs(HalfToFloat(FloatToHalf(wanted)));
    const float d = std::copysign(std::clamp(step, kLeastHalf, kLargestHalf), wanted);
    const float cost = RoundFits(fits, d, nullptr);
    if (count == kLargestSubScale || cost < least) {
      least = cost;
      best.d = d;
    }
  }
  RoundFits(fits, best.d, &best);
  return best;
}

float Quants(const float* values, const Steps& steps, int* quants, Fits* refit) {
  float error = 0;
  for (int j = 0; j < kSubs; ++j) {
    const float* x = values + j * kSub;
    const float scale = steps.d * static_cast<float>(steps.scale[j]);
    const float inverse = scale != 0 ? 1.0F / scale : 0.0F;
    std::array<float, kLanes> squares{};
    for (int i = 0; i < kSub; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        const float q = Nearest(x[i + l] * inverse);
        const float miss = scale * q - x[i + l];
        quants[j * kSub + i + l] = static_cast<int>(q);
        squares[l] += miss * miss;
      }
    }
    error += Total(squares);
    const Moments m = Assign(x, inverse);
    if (m.qq > 0) {
      refit->scale[j] = m.qx / m.qq;
      refit->sum_qq[j] = m.qq;
    }
  }
  return error;
}

// Stores 128 bytes of low halves and 64 bytes of upper two bits, for two halves of 128 values each.
// Quarter k of a half has its low bits in run k % 2: in the lower halves of the bytes if k < 2,
// else in the upper halves.
void StoreQuants(const int* quants, uint8_t* out) {
  for (int half = 0; half < 2; ++half) {
    const int* q = quants + half * 128;
    uint8_t* low = out + half * 64;
    uint8_t* high = out + 128 + half * 32;
    for (int l = 0; l < 32; ++l) {
      const int a = q[l] + 32;
      const int b = q[l + 32] + 32;
      const int c = q[l + 64] + 32;
      const int d = q[l + 96] + 32;
      low[l] = static_cast<uint8_t>((a & 0xF) | ((c & 0xF) << 4));
      low[l + 32] = static_cast<uint8_t>((b & 0xF) | ((d & 0xF) << 4));
      high[l] =
          static_cast<uint8_t>((a >> 4) | ((b >> 4) << 2) | ((c >> 4) << 4) | ((d >> 4) << 6));
    }
  }
}

}  // namespace

bool EncodeQ6_K(const float* values, uint8_t* out) {
  Fits fits;
  for (int j = 0; j < kSubs; ++j) {
    for (int i = 0; i < kSub; ++i) {
      if (std::fabs(values[j * kSub + i]) > kLargestValue) {
        return false;
      }
    }
    FitSubBlock(values + j * kSub, &fits.scale[j], &fits.sum_qq[j]);
    if (std::fabs(fits.scale[j]) > kLargestSubScale * kLargestHalf) {
      return false;
    }
  }
  Steps steps = ChooseSteps(fits);
  std::array<int, kSub * kSubs> quants;
  float error = Quants(values, steps, quants.data(), &fits);
  for (int round = 0; round < kRounds; ++round) {
    const Steps again = ChooseSteps(fits);
    std::array<int, kSub * kSubs> other;
    const float other_error = Quants(values, again, other.data(), &fits);
    if (other_error >= error) {
      break;
    }
    error = other_error;
    steps = again;
    quants = other;
  }
  StoreQuants(quants.data(), out);
  for (int j = 0; j < kSubs; ++j) {
    out[192 + j] = static_cast<uint8_t>(static_cast<int8_t>(steps.scale[j]));
  }
  const uint16_t half = FloatToHalf(steps.d);
  std::memcpy(out + 208, &half, sizeof(half));
  return true;
}

}  // namespace ruvd::inference::gguf
