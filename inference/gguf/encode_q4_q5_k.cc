// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "inference/gguf/encode_blocks.h"
#include "inference/gguf/half.h"

// Q4_K and Q5_K: eight sub-blocks of 32 values, x ~ (d s) q - (e o). One d and one e, in half
// precision, serve all sub-blocks; each sub-block has s and o in 0..63; q is in 0..15 or 0..31.
//
// The search for the least sum of squared errors has three steps:
//  1. For each sub-block alone, try a grid of ranges around [min, max]. Each gives quants, and the
//  quants give a least-squares scale and offset. Keep the best together with its curvature.
//  2. Find d and e such that rounding s and o loses least, judged by the quadratic of step 1.
//  3. Compute the quants for these scales. Their own least-squares solution starts step 2 once
//  more.
// Every sum has eight fixed lanes, so it is vectorised and gives the same result with any
// instruction set.
namespace ruvd::inference::gguf {
namespace {

constexpr int kSub = 32;
constexpr int kSubs = 8;
constexpr int kLanes = 8;
constexpr int kMaxSubScale = 63;
// Ranges tried in step 1: both ends move inwards by this many steps.
constexpr std::array<float, 4> kInset = {-1.0F, -0.4F, 0.0F, 0.5F};
// The largest sub-scale is tried from 63 down to this number. Lower ones never gave a smaller
// error.
constexpr int kLeastLargest = 48;
// How often step 3 is repeated.
constexpr int kRounds = 2;
// Larger values cannot be represented, and their squares would overflow.
constexpr float kLargestValue = 1e9F;
constexpr float kLargestHalf = 65504.0F;
constexpr float kLeastHalf = 0x1p-24F;

// The least-squares solution of the eight sub-blocks for given quants.
struct Fits {
  std::array<float, kSubs> scale;   // >= 0
  std::array<float, kSubs> offset;  // >= 0
  std::array<float, kSubs> mean_q;  // curvature: mean and sum of squares of the quants
  std::array<float, kSubs> sum_qq;
};

// The numbers that the block stores.
struct Steps {
  float d = 0;
  float e = 0;
  std::array<int, kSubs> scale;
  std::array<int, kSubs> offset;
};

struct Moments {
  float q = 0, qq = 0, qx = 0;
};

struct Fit {
  float scale = 0, offset = 0, mean_q = 0, sum_qq = 0;
  float error = 0;  // sum of squares
};

float Total(const std::array<float, kLanes>& lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// Computes q = (x - low) * inverse, rounded and clamped to 0..top, and the sums over it.
Moments Assign(const float* x, float low, float inverse, float top) {
  std::array<float, kLanes> q{};
  std::array<float, kLanes> qq{};
  std::array<float, kLanes> qx{};
  for (int i = 0; i < kSub; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const float t = std::min(std::max((x[i + l] - low) * inverse, 0.0F), top);
      const auto rounded = static_cast<float>(static_cast<int>(t + 0.5F));
      q[l] += rounded;
      qq[l] += rounded * rounded;
      qx[l] += rounded * x[i + l];
    }
  }
  return {.q = Total(q), .qq = Total(qq), .qx = Total(qx)};
}

// Returns the best scale > 0 and offset >= 0 for given quants. If the best scale would be negative,
// it is 0.
Fit Solve(const Moments& m, double sum_x, double sum_xx) {
  const double determinant = kSub * double{m.qq} - double{m.q} * m.q;
  double scale = determinant > 0 ? (kSub * double{m.qx} - m.q * sum_x) / determinant : 0;
  double offset = (scale * m.q - sum_x) / kSub;
  if (determinant <= 0 || offset < 0) {
    offset = 0;
    scale = m.qq > 0 ? m.qx / double{m.qq} : 0;
  }
  if (scale <= 0) {
    scale = 0;
    offset = std::max(0.0, -sum_x / kSub);
  }
  const double error = sum_xx - 2 * scale * m.qx + 2 * offset * sum_x + scale * scale * m.qq -
                       2 * scale * offset * m.q + kSub * offset * offset;
  return {.scale = static_cast<float>(scale),
          .offset = static_cast<float>(offset),
          .mean_q = m.q / kSub,
          .sum_qq = m.qq,
          .error = static_cast<float>(error)};
}

Fit FitSubBlock(const float* x, float top) {
  const auto [least, largest] = std::minmax_element(x, x + kSub);
  const float low = std::min(*least, 0.0F);  // the format cannot store a positive minimum
  const float high = *largest;
  if (high - low < kLeastHalf / 2) {  // no scale is this small, and its inverse might be infinite
    return {.scale = 0, .offset = -low};
  }
  double sum_x = 0;
  double sum_xx = 0;
  for (int i = 0; i < kSub; ++i) {
    sum_x += x[i];
    sum_xx += double{x[i]} * x[i];
  }
  const float step = (high - low) / top;
  Fit best;
  bool found = false;
  const auto consider = [&](float from, float inverse) {
    const Fit fit = Solve(Assign(x, from, inverse, top), sum_x, sum_xx);
    if (!found || fit.error < best.error) {
      best = fit;
      found = true;
    }
  };
  for (const float below : kInset) {
    const float from = std::min(low + below * step, 0.0F);
    for (const float above : kInset) {
      consider(from, top / (high - above * step - from));
    }
  }
  if (best.scale > 0) {
    consider(-best.offset, 1.0F / best.scale);
  }
  return best;
}

// Rounds the fits to multiples of d and e, choosing each offset for its rounded scale. Returns how
// much that adds to the sum of squared errors. `steps` may be null.
float RoundFits(const Fits& fits, float d, float e, Steps* steps) {
  const float inverse_d = d > 0 ? 1.0F / d : 0.0F;
  const float inverse_e = e > 0 ? 1.0F / e : 0.0F;
  constexpr auto kMax = static_cast<float>(kMaxSubScale);
  std::array<float, kLanes> cost;
  std::array<int, kSubs> scale;
  std::array<int, kSubs> offset;
  for (int j = 0; j < kSubs; ++j) {
    scale[j] = static_cast<int>(std::min(fits.scale[j] * inverse_d, kMax) + 0.5F);
    const float ds = static_cast<float>(scale[j]) * d - fits.scale[j];
    const float wanted = (fits.offset[j] + fits.mean_q[j] * ds) * inverse_e;
    offset[j] = static_cast<int>(std::min(std::max(wanted, 0.0F), kMax) + 0.5F);
    const float dt = static_cast<float>(offset[j]) * e - fits.offset[j];
    cost[j] = ds * ds * fits.sum_qq[j] + kSub * dt * (dt - 2 * ds * fits.mean_q[j]);
  }
  if (steps != nullptr) {
    *steps = {.d = d, .e = e, .scale = scale, .offset = offset};
  }
  return Total(cost);
}

// Returns a step in half precision such that `largest` is about `count` steps; 0 only if largest is
// 0.
float HalfStep(float largest, int count) {
  if (largest <= 0) {
    return 0;
  }
  const float step = HalfToFloat(FloatToHalf(largest / static_cast<float>(count)));
  return std::clamp(step, kLeastHalf, kLargestHalf);
}

Steps ChooseSteps(const Fits& fits) {
  const float scale = *std::max_element(fits.scale.begin(), fits.scale.end());
  const float offset = *std::max_element(fits.offset.begin(), fits.offset.end());
  float d = HalfStep(scale, kMaxSubScale);
  float e = HalfStep(offset, kMaxSubScale);
  float least = RoundFits(fits, d, e, nullptr);
  const auto search = [&](float largest, float* step) {
    float best = *step;
    for (int count = kMaxSubScale - 1; count >= kLeastLargest; --count) {
      *step = HalfStep(largest, count);
      const float cost = RoundFits(fits, d, e, nullptr);
      if (cost < least) {
        least = cost;
        best = *step;
      }
    }
    *step = best;
  };
  search(scale, &d);
  search(offset, &e);
  Steps steps;
  RoundFits(fits, d, e, &steps);
  return steps;
}

// Computes the nearest quants for the steps. Returns the sum of squared errors. For each sub-block
// whose quants determine one, `refit` receives their least-squares solution.
float Quants(const float* values, const Steps& steps, float top, int* quants, Fits* refit) {
  float error = 0;
  for (int j = 0; j < kSubs; ++j) {
    const float* x = values + j * kSub;
    const float scale = steps.d * static_cast<float>(steps.scale[j]);
    const float offset = steps.e * static_cast<float>(steps.offset[j]);
    const float inverse = scale > 0 ? 1.0F / scale : 0.0F;
    std::array<float, kLanes> squares{};
    double sum_x = 0;
    for (int i = 0; i < kSub; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        const float t = std::min(std::max((x[i + l] + offset) * inverse, 0.0F), top);
        const int q = static_cast<int>(t + 0.5F);
        const float miss = scale * static_cast<float>(q) - offset - x[i + l];
        quants[j * kSub + i + l] = q;
        squares[l] += miss * miss;
      }
    }
    for (int i = 0; i < kSub; ++i) {
      sum_x += x[i];
    }
    error += Total(squares);
    if (scale > 0) {
      const Fit fit = Solve(Assign(x, -offset, inverse, top), sum_x, 0);
      refit->scale[j] = fit.scale;
      refit->offset[j] = fit.offset;
      refit->mean_q[j] = fit.mean_q;
      refit->sum_qq[j] = fit.sum_qq;
    }
  }
  return error;
}

// Packs the 6-bit numbers into 12 bytes. The first four scales and offsets are whole, in the low
// bits of bytes j and 4 + j. The other four have their low four bits in bytes 8 to 11 and their
// upper two bits above the first four.
void StoreSubScales(const Steps& steps, uint8_t* out) {
  for (int j = 0; j < 4; ++j) {
    const int scale = steps.scale[j + 4];
    const int offset = steps.offset[j + 4];
    out[j] = static_cast<uint8_t>(steps.scale[j] | ((scale >> 4) << 6));
    out[j + 4] = static_cast<uint8_t>(steps.offset[j] | ((offset >> 4) << 6));
    out[j + 8] = static_cast<uint8_t>((scale & 0xF) | ((offset & 0xF) << 4));
  }
}

void StoreHalf(float value, uint8_t* out) {
  const uint16_t half = FloatToHalf(value);
  std::memcpy(out, &half, sizeof(half));
}

// Each run of 32 bytes holds the low four bits of two sub-blocks.
void StoreLowBits(const int* quants, uint8_t* out) {
  for (int run = 0; run < kSubs / 2; ++run, quants += 2 * kSub) {
    for (int l = 0; l < kSub; ++l) {
      *out++ = static_cast<uint8_t>((quants[l] & 0xF) | ((quants[l + kSub] & 0xF) << 4));
    }
  }
}

// Bit j of byte l is the fifth bit of value l of sub-block j.
void StoreFifthBits(const int* quants, uint8_t* out) {
  for (int l = 0; l < kSub; ++l) {
    int bits = 0;
    for (int j = 0; j < kSubs; ++j) {
      bits |= (quants[j * kSub + l] >> 4) << j;
    }
    out[l] = static_cast<uint8_t>(bits);
  }
}

// Runs the whole search. Returns false if the values are too large for the format.
bool Search(const float* values, float top, Steps* steps, int* quants) {
  Fits fits;
  for (int j = 0; j < kSubs; ++j) {
    const float* x = values + j * kSub;
    for (int i = 0; i < kSub; ++i) {
      if (std::fabs(x[i]) > kLargestValue) {
        return false;
      }
    }
    const Fit fit = FitSubBlock(x, top);
    fits.scale[j] = fit.scale;
    fits.offset[j] = fit.offset;
    fits.mean_q[j] = fit.mean_q;
    fits.sum_qq[j] = fit.sum_qq;
    if (std::max(fit.scale, fit.offset) > kMaxSubScale * kLargestHalf) {
      return false;
    }
  }
  *steps = ChooseSteps(fits);
  float error = Quants(values, *steps, top, quants, &fits);
  for (int round = 0; round < kRounds; ++round) {
    const Steps again = ChooseSteps(fits);
    std::array<int, kSub * kSubs> other;
    const float other_error = Quants(values, again, top, other.data(), &fits);
    if (other_error >= error) {
      break;
    }
    error = other_error;
    *steps = again;
    std::copy(other.begin(), other.end(), quants);
  }
  return true;
}

}  // namespace

bool EncodeQ4_K(const float* values, uint8_t* out) {
  Steps steps;
  std::array<int, kSub * kSubs> quants;
  if (!Search(values, 15.0F, &steps, quants.data())) {
    return false;
  }
  StoreHalf(steps.d, out);
  StoreHalf(steps.e, out + 2);
  StoreSubScales(steps, out + 4);
  StoreLowBits(quants.data(), out + 16);
  return true;
}

bool EncodeQ5_K(const float* values, uint8_t* out) {
  Steps steps;
  std::array<int, kSub * kSubs> quants;
  if (!Search(values, 31.0F, &steps, quants.data())) {
    return false;
  }
  StoreHalf(steps.d, out);
  StoreHalf(steps.e, out + 2);
  StoreSubScales(steps, out + 4);
  StoreFifthBits(quants.data(), out + 16);
  StoreLowBits(quants.data(), out + 48);
  return true;
}

}  // namespace ruvd::inference::gguf
