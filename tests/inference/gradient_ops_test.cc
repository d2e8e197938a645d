// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Every derivative of the trainer against central differences, in double.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "base/random.h"
#include "inference/train/change.h"
#include "inference/train/ops.h"
#include "inference/train/optimizer.h"
#include "inference/train/tail.h"

namespace ruvd::train {
namespace {

using Vector = std::vector<double>;

Vector RandomVector(size_t size, Random& random, double spread = 1.0) {
  Vector values(size);
  for (double& value : values) {
    value = random.Normal() * spread;
  }
  return values;
}

double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

// Compares `gradient` with central differences of `loss` over `x`, which `loss` reads.
void ExpectGradient(Vector* x, const Vector& gradient, const std::function<double()>& loss) {
  constexpr double kStep = 1e-5;
  ASSERT_EQ(x->size(), gradient.size());
  for (size_t i = 0; i < x->size(); ++i) {
    const double kept = (*x)[i];
    (*x)[i] = kept + kStep;
    const double above = loss();
    (*x)[i] = kept - kStep;
    const double below = loss();
    (*x)[i] = kept;
    const double numeric = (above - below) / (2 * kStep);
    EXPECT_NEAR(gradient[i], numeric, 1e-7 + 1e-6 * std::abs(numeric)) << i;
  }
}

TEST(GradientTest, RmsNorm) {
  Random random(1);
  Vector x = RandomVector(7, random);
  const Vector w = RandomVector(7, random);
  const Vector dy = RandomVector(7, random);
  Vector y(7);
  const auto loss = [&] {
    RmsNorm<double>(x, w, 1e-3, y);
    return Dot(y, dy);
  };
  Vector dx(7);
  const double inverse = RmsNorm<double>(x, w, 1e-3, y);
  RmsNormBackward<double>(x, w, inverse, dy, dx);
  ExpectGradient(&x, dx, loss);
}

TEST(GradientTest, SwiGlu) {
  Random random(2);
  Vector gate = RandomVector(9, random, 3.0);
  Vector up = RandomVector(9, random);
  const Vector dy = RandomVector(9, random);
  Vector y(9);
  const auto loss = [&] {
    SwiGlu<double>(gate, up, y);
    return Dot(y, dy);
  };
  Vector dgate(9);
  Vector dup(9);
  SwiGluBackward<double>(gate, up, dy, dgate, dup);
  ExpectGradient(&gate, dgate, loss);
  ExpectGradient(&up, dup, loss);
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

// The float path has its own exponential.
TEST(GradientTest, CrossEntropyInFloatAgreesWithDouble) {
  Random random(4);
  Vector exact = RandomVector(300, random, 4.0);
  std::vector<float> rough(exact.begin(), exact.end());
  const double a = CrossEntropy<double>(exact, 17, 1.5);
  const double b = CrossEntropy<float>(rough, 17, 1.5F);
  EXPECT_NEAR(a, b, 1e-5);
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(exact[i], rough[i], 1e-5);
  }
}

void ExpectChangeGradient(Change<double>* change, size_t in, size_t out) {
  Random random(5);
  constexpr size_t kRows = 3;
  const Vector x = RandomVector(kRows * in, random);
  const Vector dy = RandomVector(kRows * out, random);
  change->parameters() = RandomVector(change->parameters().size(), random);
  const auto loss = [&] {
    Vector y(kRows * out);
    change->Forward(x, y);
    return Dot(y, dy);
  };
  change->Backward(x, dy);
  const Vector gradient = change->gradient();
  ExpectGradient(&change->parameters(), gradient, loss);
}

TEST(GradientTest, Lora) {
  LoraChange<double> change(2, 5, 4, Vector(2 * 5 + 4 * 2));
  ExpectChangeGradient(&change, 5, 4);
}

TEST(GradientTest, Core) {
  Random random(6);
  const Vector p = RandomVector(4 * 3, random);
  const Vector q = RandomVector(3 * 5, random);
  CoreChange<double> change(3, 5, 4, p, q);
  ExpectChangeGradient(&change, 5, 4);
}

// Dense random weights of the smallest possible last layer.
class DenseTail final : public TailWeights<double> {
 public:
  explicit DenseTail(Random& random) : ffn_norm_(RandomVector(6, random)) {
    output_norm_ = RandomVector(6, random);
    for (size_t i = 0; i < weights_.size(); ++i) {
      const auto linear = static_cast<TailLinear>(i);
      weights_[i] = RandomVector(shape_.In(linear) * shape_.Out(linear), random, 0.5);
    }
  }
  const TailShape& shape() const override { return shape_; }
  std::span<const double> ffn_norm() const override { return ffn_norm_; }
  std::span<const double> output_norm() const override { return output_norm_; }
  void Multiply(TailLinear linear, std::span<const double> x, std::span<double> y) override {
    const size_t in = shape_.In(linear);
    const size_t out = shape_.Out(linear);
    std::fill(y.begin(), y.end(), 0.0);
    for (size_t row = 0; row * in < x.size(); ++row) {
      AddMatVec<double>(weights_[static_cast<size_t>(linear)], x.subspan(row * in, in), 1.0,
                        y.subspan(row * out, out));
    }
  }
  void MultiplyTransposed(TailLinear linear, std::span<const double> dy,
                          std::span<double> dx) override {
    const size_t in = shape_.In(linear);
    const size_t out = shape_.Out(linear);
    std::fill(dx.begin(), dx.end(), 0.0);
    for (size_t row = 0; row * out < dy.size(); ++row) {
      AddMatVecTransposed<double>(weights_[static_cast<size_t>(linear)], dy.subspan(row * out, out),
                                  1.0, dx.subspan(row * in, in));
    }
  }

 private:
  TailShape shape_ = {.attention = 5, .width = 6, .ffn = 8, .vocabulary = 9, .epsilon = 1e-3};
  Vector ffn_norm_;
  Vector output_norm_;
  std::array<Vector, 5> weights_;
};

TailRows<double> RandomRows(size_t rows, Random& random) {
  TailRows<double> batch;
  batch.attention = RandomVector(rows * 5, random);
  batch.residual = RandomVector(rows * 6, random);
  for (size_t row = 0; row < rows; ++row) {
    batch.targets.push_back(static_cast<uint32_t>(random.Below(9)));
    batch.weights.push_back(0.3 + random.Uniform());
  }
  return batch;
}

class TailGradientTest : public testing::TestWithParam<TailLinear> {};

TEST_P(TailGradientTest, LoraAtAnyLayer) {
  Random random(7);
  DenseTail weights(random);
  const TailRows<double> batch = RandomRows(4, random);
  const size_t in = weights.shape().In(GetParam());
  const size_t out = weights.shape().Out(GetParam());
  LoraChange<double> change(2, in, out, RandomVector(2 * (in + out), random, 0.3));
  Tail<double> tail(weights, GetParam(), &change);
  tail.Run(batch, 0, 1, true);  // two calls: gradients accumulate over them
  tail.Run(batch, 1, 3, true);
  const Vector gradient = change.gradient();
  ExpectGradient(&change.parameters(), gradient, [&] { return tail.Run(batch, 0, 4, false); });
}

TEST_P(TailGradientTest, CoreAtAnyLayer) {
  Random random(8);
  DenseTail weights(random);
  const TailRows<double> batch = RandomRows(4, random);
  const size_t in = weights.shape().In(GetParam());
  const size_t out = weights.shape().Out(GetParam());
  const Vector p = RandomVector(out * 2, random, 0.5);
  const Vector q = RandomVector(2 * in, random, 0.5);
  CoreChange<double> change(2, in, out, p, q);
  change.parameters() = RandomVector(4, random);
  Tail<double> tail(weights, GetParam(), &change);
  tail.Run(batch, 0, 4, true);
  const Vector gradient = change.gradient();
  ExpectGradient(&change.parameters(), gradient, [&] { return tail.Run(batch, 0, 4, false); });
}

INSTANTIATE_TEST_SUITE_P(Layers, TailGradientTest,
                         testing::Values(TailLinear::kAttentionOutput, TailLinear::kGate,
                                         TailLinear::kUp, TailLinear::kDown, TailLinear::kHead));

// One step of the published algorithm by hand: after bias correction the first step has length
// lr * (sign(g) + decay * x) up to epsilon.
TEST(AdamWTest, FirstStepsFollowTheFormula) {
  AdamW optimizer(2, {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1});
  std::vector<float> x = {1.0F, -2.0F};
  optimizer.Step(std::vector<float>{0.5F, -4.0F}, 0.01, x);
  EXPECT_NEAR(x[0], 1.0 - 0.01 * (1.0 + 0.1), 1e-6);
  EXPECT_NEAR(x[1], -2.0 + 0.01 * (1.0 + 0.2), 1e-6);
  const double before = x[0];
  optimizer.Step(std::vector<float>{-0.25F, 0.0F}, 0.01, x);
  const double mean = (0.9 * 0.05 + 0.1 * -0.25) / (1 - 0.81);
  const double square = (0.99 * 0.01 * 0.25 + 0.01 * 0.0625) / (1 - 0.9801);
  EXPECT_NEAR(x[0], before - 0.01 * (mean / std::sqrt(square) + 0.1 * before), 1e-6);
}

TEST(AdamWTest, FindsTheMinimumOfABowl) {
  AdamW optimizer(3, {});
  std::vector<float> x = {3.0F, -1.0F, 0.5F};
  for (int step = 0; step < 800; ++step) {
    std::vector<float> gradient = {x[0], 10 * x[1], 100 * x[2]};
    optimizer.Step(gradient, 0.05 * LearningRateShare(step, 800), x);
  }
  for (const float value : x) {
    EXPECT_NEAR(value, 0.0, 0.02);
  }
}

TEST(ClipNormTest, ShortensButNeverLengthens) {
  std::vector<float> g = {3.0F, 4.0F};
  EXPECT_NEAR(ClipNorm(g, 1.0), 5.0, 1e-6);
  EXPECT_NEAR(std::hypot(g[0], g[1]), 1.0, 1e-6);
  std::vector<float> small = {0.3F, 0.4F};
  EXPECT_NEAR(ClipNorm(small, 1.0), 0.5, 1e-6);
  EXPECT_FLOAT_EQ(small[0], 0.3F);
}

TEST(LearningRateTest, WarmsUpThenDecays) {
  EXPECT_NEAR(LearningRateShare(0, 100), 0.1, 1e-12);
  EXPECT_NEAR(LearningRateShare(9, 100), 1.0, 1e-12);
  EXPECT_GT(LearningRateShare(50, 100), LearningRateShare(60, 100));
  EXPECT_NEAR(LearningRateShare(99, 100), 0.11, 1e-12);
  EXPECT_EQ(LearningRateShare(0, 1), 1.0);
}

}  // namespace
}  // namespace ruvd::train
