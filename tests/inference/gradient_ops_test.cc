// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the derivative of every operation against central differences in double, and the float
// kernels against the operations in double.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "inference/train/attention_gradient.h"
#include "inference/train/change.h"
#include "inference/train/ops.h"
#include "tests/inference/differences.h"

namespace ruvd::inference::train {
namespace {

using test::Dot;
using test::ExpectGradient;
using test::RandomVector;
using test::Vector;

TEST(GradientTest, RmsNorm) {
  Random random(1);
  Vector x = RandomVector(7, random);
  const Vector w = RandomVector(7, random);
  const Vector dy = RandomVector(7, random);
  Vector y(7);
  const auto loss = [&] {
    RmsNorm<double>(x, w, 1e-3, y.data());
    return Dot(y, dy);
  };
  Vector dx(7);
  RmsNormBackward<double>(x, w, 1e-3, dy.data(), dx.data());
  ExpectGradient(&x, dx, loss);
}

TEST(GradientTest, SwiGlu) {
  Random random(2);
  Vector gate = RandomVector(9, random, 3.0);
  Vector up = RandomVector(9, random);
  const Vector dy = RandomVector(9, random);
  Vector y(9);
  const auto loss = [&] {
    SwiGlu(gate.data(), up.data(), 9, y.data());
    return Dot(y, dy);
  };
  Vector dgate = gate;
  Vector dup = up;
  SwiGluBackward(dy.data(), 9, dgate.data(), dup.data());
  ExpectGradient(&gate, dgate, loss);
  ExpectGradient(&up, dup, loss);
}

TEST(GradientTest, RotationInBothLayouts) {
  Random random(3);
  const Vector cosine = RandomVector(3, random);
  const Vector sine = RandomVector(3, random);
  Vector negated = sine;
  for (double& value : negated) {
    value = -value;
  }
  for (const bool adjacent : {false, true}) {
    Vector x = RandomVector(6, random);
    const Vector dy = RandomVector(6, random);
    const auto loss = [&] {
      Vector y = x;
      Rotate(y.data(), cosine.data(), sine.data(), 3, adjacent);
      return Dot(y, dy);
    };
    Vector dx = dy;
    Rotate(dx.data(), cosine.data(), negated.data(), 3, adjacent);
    ExpectGradient(&x, dx, loss);
  }
}

TEST(GradientTest, CrossEntropy) {
  Random random(3);
  Vector logits = RandomVector(11, random, 3.0);
  const auto loss = [&] {
    Vector copy = logits;
    return 0.7 * CrossEntropy<double>(copy, 4, 0.7);
  };
  Vector gradient = logits;
  const double value = CrossEntropy<double>(gradient, 4, 0.7);
  double mass = 0;
  for (const double logit : logits) {
    mass += std::exp(logit);
  }
  EXPECT_NEAR(value, std::log(mass) - logits[4], 1e-12);
  ExpectGradient(&logits, gradient, loss);
}

// Lengths around whole vectors of every instruction set.
TEST(FloatKernelTest, AgreeWithDouble) {
  for (const KernelTable& kernels : KernelsOfAllTargets()) {
    for (const size_t n : {1U, 15U, 16U, 17U, 48U, 300U}) {
      SCOPED_TRACE(std::string(kernels.target) + " " + std::to_string(n));
      Random random(4);
      const Vector x = RandomVector(n, random, 3.0);
      const Vector w = RandomVector(n, random);
      const Vector dy = RandomVector(n, random);
      const auto narrow = [](const Vector& v) { return std::vector<float>(v.begin(), v.end()); };
      const std::vector<float> fx = narrow(x), fw = narrow(w), fdy = narrow(dy);
      Vector dx = w;
      RmsNormBackward<double>(x, w, 1e-3, dy.data(), dx.data());
      std::vector<float> fdx = fw;
      kernels.rms_norm_backward(fx.data(), fw.data(), 1e-3F, fdy.data(), n, fdx.data());
      Vector gate = x, up = w;
      SwiGluBackward(dy.data(), n, gate.data(), up.data());
      std::vector<float> fgate = fx, fup = fw;
      kernels.swiglu_backward(fdy.data(), n, fgate.data(), fup.data());
      Vector e = x;
      const double sum = ExpAffine<double>(e.data(), n, 0.5, 6.0);
      std::vector<float> fe = fx;
      EXPECT_NEAR(kernels.exp_affine(fe.data(), n, 0.5F, 6.0F), sum, 1e-5 * sum);
      for (size_t i = 0; i < n; ++i) {
        EXPECT_NEAR(fdx[i], dx[i], 2e-5 + 1e-5 * std::abs(dx[i]));
        EXPECT_NEAR(fgate[i], gate[i], 2e-5);
        EXPECT_NEAR(fup[i], up[i], 2e-5);
        EXPECT_NEAR(fe[i], e[i], 1e-6 * e[i]);
      }
    }
  }
}

// A gate far below zero: exp(-gate) overflows float32, its derivative is zero and not NaN.
TEST(FloatKernelTest, SwiGluBackwardOfAClosedGateIsZero) {
  std::vector<float> gate(16, -200.0F), up(16, 1.0F);
  const std::vector<float> dy(16, 1.0F);
  Kernels().swiglu_backward(dy.data(), 16, gate.data(), up.data());
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(gate[i], 0.0F, 1e-20F);
    EXPECT_NEAR(up[i], 0.0F, 1e-20F);
  }
}

void ExpectChangeGradient(const ChangeSpec<double>& spec) {
  Random random(5);
  constexpr size_t kRows = 3;
  Change<double> change(spec);
  Vector x = RandomVector(kRows * spec.in, random);
  const Vector dy = RandomVector(kRows * spec.out, random);
  Vector parameters = RandomVector(change.parameters(), random);
  Vector z(kRows * spec.rank);
  const auto loss = [&] {
    Vector y(kRows * spec.out);
    change.Forward(SerialRunner(), parameters, x, z, y);
    return Dot(y, dy);
  };
  loss();
  Vector gradient(parameters.size());
  Vector dx(x.size());
  change.Backward(SerialRunner(), parameters, x, z, dy, gradient, dx);
  ExpectGradient(&parameters, gradient, loss);
  ExpectGradient(&x, dx, loss);
  // Without dx the gradient is the same. Both calls add to it.
  loss();
  change.Backward(SerialRunner(), parameters, x, z, dy, gradient, {});
  Vector twice(parameters.size());
  change.Backward(SerialRunner(), parameters, x, z, dy, twice, dx);
  for (size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_NEAR(gradient[i], 2 * twice[i], 1e-12);
  }
}

TEST(GradientTest, ChangesOfEveryKind) {
  Random random(6);
  const Vector down = RandomVector(2 * 5, random);
  const Vector up = RandomVector(4 * 2, random);
  ExpectChangeGradient({.kind = ChangeKind::kLora,
                        .rank = 2,
                        .in = 5,
                        .out = 4,
                        .scale = 0.5,
                        .down = {},
                        .up = {}});
  ExpectChangeGradient(
      {.kind = ChangeKind::kFfa, .rank = 2, .in = 5, .out = 4, .scale = 2, .down = down, .up = {}});
  ExpectChangeGradient({.kind = ChangeKind::kCore,
                        .rank = 2,
                        .in = 5,
                        .out = 4,
                        .scale = 3,
                        .down = down,
                        .up = up});
  ExpectChangeGradient({.kind = ChangeKind::kFrozen,
                        .rank = 2,
                        .in = 5,
                        .out = 4,
                        .scale = 0.7,
                        .down = down,
                        .up = up});
}

// The attention of one sequence with all its buffers.
struct AttentionCase {
  Attention attention;
  size_t tokens = 0;
  std::vector<size_t> rows;  // empty: all
  size_t heads = 4, kv_heads = 2, size = 3;
  Vector q, k, v, context, log_mass, dcontext, dq, dk, dv;

  void Fill() {
    Random random(7);
    const size_t queries = rows.empty() ? tokens : rows.size();
    q = RandomVector(queries * heads * size, random);
    k = RandomVector(tokens * kv_heads * size, random);
    v = RandomVector(tokens * kv_heads * size, random);
    dcontext = RandomVector(q.size(), random);
    context.resize(q.size());
    log_mass.resize(queries * heads);
    dq.assign(q.size(), 9.0);
    dk.assign(k.size(), 9.0);
    dv.assign(v.size(), 9.0);
  }
  AttentionTask<double> Task() {
    AttentionTask<double> task;
    task.mask.attention = attention;
    task.mask.tokens = tokens;
    task.mask.heads = heads;
    task.mask.kv_heads = kv_heads;
    task.mask.head_size = size;
    if (!rows.empty()) {
      task.mask.rows = std::span<const size_t>(rows);
    }
    task.q = q.data();
    task.k = k.data();
    task.v = v.data();
    task.context = context.data();
    task.log_mass = log_mass.data();
    task.dcontext = dcontext.data();
    task.dq = dq.data();
    task.dk = dk.data();
    task.dv = dv.data();
    return task;
  }
};

// Computes softmax(q k^T / sqrt(d)) v in the simplest way.
Vector PlainAttention(AttentionCase& c) {
  const AttentionTask<double> task = c.Task();
  Vector context(c.q.size());
  for (size_t query = 0; query < task.mask.queries(); ++query) {
    const VisibleKeys seen = KeysVisibleTo(task.mask, task.mask.RowOf(query));
    for (size_t h = 0; h < c.heads; ++h) {
      const double* q = c.q.data() + (query * c.heads + h) * c.size;
      double mass = 0;
      Vector sum(c.size);
      for (const KeyRange& range : seen) {
        for (size_t key = range.begin; key < range.end; ++key) {
          const size_t row = (key * c.kv_heads + h / (c.heads / c.kv_heads)) * c.size;
          double score = 0;
          for (size_t i = 0; i < c.size; ++i) {
            score += q[i] * c.k[row + i];
          }
          const double weight = std::exp(score / std::sqrt(static_cast<double>(c.size)));
          mass += weight;
          for (size_t i = 0; i < c.size; ++i) {
            sum[i] += weight * c.v[row + i];
          }
        }
      }
      for (size_t i = 0; i < c.size; ++i) {
        context[(query * c.heads + h) * c.size + i] = sum[i] / mass;
      }
    }
  }
  return context;
}

class AttentionGradientTest : public ::testing::TestWithParam<int> {};

TEST_P(AttentionGradientTest, AgreesWithDifferences) {
  using Kind = Attention::Kind;
  AttentionCase c;
  switch (GetParam()) {
    case 0:
      c = {.attention = {.kind = Kind::kBidirectional}, .tokens = 5};
      break;
    case 1:
      c = {.attention = {.kind = Kind::kCausal}, .tokens = 37};  // more than a block of queries
      break;
    case 2:
      c = {.attention = {.kind = Kind::kCausal, .window = 3}, .tokens = 20};
      break;
    case 3:
      c = {.attention = {.kind = Kind::kBlockCausal, .block_length = 3}, .tokens = 8};
      break;
    case 4:  // segments that are joined when rounded to vectors
      c = {.attention = {.kind = Kind::kNoisyAndClean, .block_length = 3}, .tokens = 14};
      break;
    case 5:  // segments apart, the last block short
      c = {.attention = {.kind = Kind::kNoisyAndClean, .block_length = 16}, .tokens = 84};
      break;
    default:
      c = {.attention = {.kind = Kind::kBidirectional}, .tokens = 6, .rows = {4, 1}};
      break;
  }
  c.Fill();
  const auto loss = [&] {
    const AttentionTask<double> task = c.Task();
    AttentionForward<double>(SerialRunner(), std::span(&task, 1));
    return Dot(c.context, c.dcontext);
  };
  loss();
  const Vector plain = PlainAttention(c);
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_NEAR(c.context[i], plain[i], 1e-12);
  }
  const AttentionTask<double> task = c.Task();
  AttentionBackward<double>(SerialRunner(), std::span(&task, 1));
  ExpectGradient(&c.q, c.dq, loss);
  ExpectGradient(&c.k, c.dk, loss);
  ExpectGradient(&c.v, c.dv, loss);
}

INSTANTIATE_TEST_SUITE_P(Masks, AttentionGradientTest, ::testing::Range(0, 7));

}  // namespace
}  // namespace ruvd::inference::train
