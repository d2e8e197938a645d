// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/frame_estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/numerics/dense.h"
#include "inference/train/losses.h"
#include "inference/train/model_weights.h"
#include "inference/train/network_pass.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

using train::Linear;
using train::Site;

FrameBatches Batches(const Model& model, int batch = 3) {
  std::vector<TrainingExample> examples(7);
  Random random(1);
  for (TrainingExample& example : examples) {
    for (int i = 0; i < 24; ++i) {
      example.completion.push_back(static_cast<TokenId>(random.Below(256)));
    }
  }
  std::shared_ptr<train::Objective> objective =
      train::MakeObjective(model, examples, {.batch = batch, .seed = 2}).value();
  return [objective](uint64_t step) { return objective->Draw(step); };
}

// Collects all rows that a pass shows of some layers.
class Recorder final : public train::LinearObserver<float> {
 public:
  void Observe(const Site& site, size_t, std::span<const float> x,
               std::span<const float> dy) override {
    xs[site].insert(xs[site].end(), x.begin(), x.end());
    dys[site].insert(dys[site].end(), dy.begin(), dy.end());
  }
  std::map<Site, std::vector<float>> xs;
  std::map<Site, std::vector<float>> dys;
};

// The largest difference of two vectors that may have opposite signs.
double UpToSign(const double* a, const float* b, size_t n) {
  double same = 0;
  double opposite = 0;
  for (size_t i = 0; i < n; ++i) {
    same = std::max(same, std::abs(a[i] - static_cast<double>(b[i])));
    opposite = std::max(opposite, std::abs(a[i] + static_cast<double>(b[i])));
  }
  return std::min(same, opposite);
}

// Eigenvectors of X^T X, computed in double from all rows at once.
EigenPairs Eigen(const std::vector<float>& rows, size_t n) {
  const DenseMatrix x(rows.size() / n, n, rows);
  const DenseMatrix t = Transposed(x);
  return SymmetricEigen(ProductTransposed(t, t));
}

class FrameEstimateTest : public ::testing::Test {
 protected:
  FrameEstimateTest() : targets_(LinearTargets(*model_, Modules::kAll)) {}
  absl::StatusOr<FrameSet> Estimate(const FrameEstimateOptions& options) {
    return EstimateFrameSet(model_, targets_, options, Batches(*model_), 3, SerialRunner());
  }
  Recorder Record() {
    Recorder recorder;
    auto weights = train::ModelWeights::Create(model_, nullptr, SerialRunner()).value();
    train::NetworkPass<float> pass(*weights, SerialRunner(), {});
    const FrameBatches batches = Batches(*model_);
    for (uint64_t step = 0; step < 3; ++step) {
      const auto batch = batches(step);
      pass.Run(batch, {.observer = &recorder});
    }
    return recorder;
  }
  std::shared_ptr<const test::TextModel> model_ = test::TinyTextModel();
  std::vector<std::string> targets_;
};

TEST_F(FrameEstimateTest, CovarianceFramesAreTheLeadingEigenvectors) {
  const FrameSet frame = Estimate({.rank = 3}).value();
  EXPECT_EQ(frame.kind, FrameKind::kCovariance);
  ASSERT_EQ(frame.modules.size(), targets_.size());
  const Recorder seen = Record();
  for (const Site site : {Site{0, Linear::kValue}, Site{1, Linear::kUp}, Site{1, Linear::kDown}}) {
    const ModuleFrame& module = frame.modules.at(train::TensorOf(site));
    const auto in = static_cast<size_t>(module.in);
    const auto out = static_cast<size_t>(module.out);
    const EigenPairs inputs = Eigen(seen.xs.at(site), in);
    const EigenPairs outputs = Eigen(seen.dys.at(site), out);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_LT(UpToSign(inputs.vectors.row(i), module.q.data() + i * in, in), 1e-3) << i;
      EXPECT_LT(UpToSign(outputs.vectors.row(i), module.p.data() + i * out, out), 1e-3) << i;
    }
  }
}

TEST_F(FrameEstimateTest, GradientFramesAreTheSingularVectors) {
  const FrameSet frame = Estimate({.kind = FrameKind::kGradient, .rank = 2}).value();
  const Recorder seen = Record();
  const Site site{1, Linear::kAttentionOutput};
  const ModuleFrame& module = frame.modules.at(train::TensorOf(site));
  const DenseMatrix x(seen.xs.at(site).size() / 64, 64, seen.xs.at(site));
  const DenseMatrix dy(seen.dys.at(site).size() / 64, 64, seen.dys.at(site));
  const SvdFactors svd = Svd(Product(Transposed(dy), x));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_LT(UpToSign(svd.left.row(i), module.p.data() + i * 64, 64), 1e-3);
    EXPECT_LT(UpToSign(svd.right.row(i), module.q.data() + i * 64, 64), 1e-3);
  }
}

// The result is the same for one group of layers or many, for one thread or two.
TEST_F(FrameEstimateTest, MemoryAndThreadsChangeNothing) {
  const FrameSet frame = Estimate({.rank = 4}).value();
  EXPECT_EQ(Estimate({.rank = 4, .memory_bytes = 1}).value().id, frame.id);
  ThreadParallelRunner two(2);
  EXPECT_EQ(EstimateFrameSet(model_, targets_, {.rank = 4}, Batches(*model_), 3, two)->id,
            frame.id);
  EXPECT_TRUE(ParseFrameSet(AsBytes(SerializeFrameSet(frame).value())).ok());
}

TEST_F(FrameEstimateTest, RanksEndWhereMatricesDo) {
  const FrameSet frame = Estimate({.rank = 200}).value();
  EXPECT_EQ(frame.modules.at("blk.0.attn_k.weight").rank, 32);
  EXPECT_TRUE(CheckFrameSet(frame, *model_).ok());
}

TEST_F(FrameEstimateTest, RefusesWhatCannotBeEstimated) {
  EXPECT_EQ(ReasonOf(Estimate({.kind = FrameKind::kRandom}).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(Estimate({.rank = 0}).status()), reasons::kInvalidArgument);
  targets_ = {"blk.9.attn_q.weight"};
  EXPECT_EQ(ReasonOf(Estimate({}).status()), reasons::kInvalidArgument);
  targets_ = LinearTargets(*model_, Modules::kQv);
  EXPECT_EQ(ReasonOf(EstimateFrameSet(model_, targets_, {}, Batches(*model_), 2, SerialRunner(),
                                      [](uint64_t, uint64_t) { return false; })
                         .status()),
            reasons::kCancelled);
}

}  // namespace
}  // namespace ruvd::inference
