// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/frame_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/gguf/writer.h"
#include "inference/numerics/dense.h"
#include "tests/inference/text_model.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

constexpr char kTarget[] = "blk.0.ffn_up.weight";

std::vector<std::string> AllTargets(const Model& model) {
  return LinearTargets(model, Modules::kAll);
}

FrameSet RandomFrame(int rank = 4, uint64_t seed = 1) {
  const test::TextModel model;
  return RandomFrameSet(model, AllTargets(model), rank, seed).value();
}

TEST(FrameSetTest, RandomFramesDependOnSeedAndTargetOnly) {
  const test::TextModel model;
  const FrameSet frame = RandomFrame();
  EXPECT_EQ(frame.modules.size(), 14U);
  EXPECT_EQ(RandomFrame().id, frame.id);
  EXPECT_NE(RandomFrame(4, 2).id, frame.id);
  const std::vector<std::string> one = {kTarget};
  EXPECT_EQ(RandomFrameSet(model, one, 4, 1)->modules.at(kTarget).q, frame.modules.at(kTarget).q);
  EXPECT_NE(frame.modules.at(kTarget).q, frame.modules.at("blk.1.ffn_up.weight").q);
}

TEST(FrameSetTest, RanksEndWhereMatricesDo) {
  const FrameSet frame = RandomFrame(200);
  EXPECT_EQ(frame.modules.at("blk.0.attn_k.weight").rank, 32);
  EXPECT_EQ(frame.modules.at("blk.0.attn_q.weight").rank, 64);
  EXPECT_TRUE(ParseFrameSet(AsBytes(SerializeFrameSet(frame).value())).ok());
}

double SumOfSquares(const DenseMatrix& m) {
  return Dot(m.values.data(), m.values.data(), m.values.size());
}

// The leading singular vectors give the best change of their rank. So many vectors leave no rest in
// which the search could err.
TEST(FrameSetTest, WeightFramesAreTheSingularVectors) {
  const test::TextModel model;
  const std::vector<std::string> one = {kTarget};
  const FrameSet frame = WeightFrameSet(model, one, 14, SerialRunner()).value();
  const ModuleFrame& module = frame.modules.at(kTarget);
  DenseMatrix w(96, 64, test::Values(model.layer(0).up));
  const SvdFactors svd = Svd(w);
  const DenseMatrix p(14, 96, module.p);
  const DenseMatrix q(14, 64, module.q);
  for (size_t i = 0; i < 14; ++i) {
    EXPECT_NEAR(std::abs(Dot(p.row(i), svd.left.row(i), 96)), 1, 1e-5);
    EXPECT_NEAR(std::abs(Dot(q.row(i), svd.right.row(i), 64)), 1, 1e-5);
  }
  EXPECT_EQ(frame.kind, FrameKind::kWeight);
}

// Random weights are the hardest case, because their singular values lie close together.
TEST(FrameSetTest, FewVectorsOfAWeightFrameHoldNearlyAsMuchAsTheBestOnes) {
  const test::TextModel model;
  const std::vector<std::string> one = {kTarget};
  const FrameSet frame = WeightFrameSet(model, one, 5, SerialRunner()).value();
  const ModuleFrame& module = frame.modules.at(kTarget);
  DenseMatrix w(96, 64, test::Values(model.layer(0).up));
  const SvdFactors svd = Svd(w);
  const double best = Dot(svd.s.data(), svd.s.data(), 5);
  const double left = SumOfSquares(Product(DenseMatrix(5, 96, module.p), w));
  const double right = SumOfSquares(ProductTransposed(w, DenseMatrix(5, 64, module.q)));
  EXPECT_GT(left, 0.9 * best);
  EXPECT_GT(right, 0.9 * best);
  EXPECT_LT(right, 1.000001 * best);
}

TEST(FrameSetTest, ThreadsDoNotChangeWeightFrames) {
  const test::TextModel model;
  ThreadParallelRunner three(3);
  EXPECT_EQ(WeightFrameSet(model, AllTargets(model), 8, three)->id,
            WeightFrameSet(model, AllTargets(model), 8, SerialRunner())->id);
}

// The id was computed on x86-64 and must be that of every other machine, or nodes on different
// machines would not link.
TEST(FrameSetTest, WeightFramesAreTheSameOnEveryMachine) {
  const auto model = Model::Load(test::SourceDir() + "/deploy/models/ruvdllm-5m.q8_0.gguf");
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<std::string> targets = LinearTargets(**model, Modules::kQv, 1);
  const auto frame = WeightFrameSet(**model, targets, 8, SerialRunner());
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(ToHex(frame->id), "021865ab823371c10f3ae1880afc24cbc6b2295598195ee0286aedd41fac8b72");
}

TEST(FrameSetTest, FilesRoundTrip) {
  const FrameSet frame = RandomFrame();
  const std::string bytes = SerializeFrameSet(frame).value();
  EXPECT_EQ(bytes, SerializeFrameSet(frame).value());
  const auto parsed = ParseFrameSet(AsBytes(bytes));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->id, frame.id);
  EXPECT_EQ(parsed->kind, frame.kind);
  EXPECT_EQ(parsed->model_hash, frame.model_hash);
  EXPECT_EQ(ContentId(*parsed), frame.id);
  EXPECT_TRUE(CheckFrameSet(*parsed, test::TextModel()).ok());
}

// Returns a frame with some Fisher information, and the id of what it has.
FrameSet FrameWithFisher(int rank = 4) {
  FrameSet frame = RandomFrame(rank);
  float next = 0;
  for (auto& [target, module] : frame.modules) {
    for (int i = 0; i < module.rank * module.rank; ++i) {
      module.fisher.push_back(next);
      next += 0.25F;
    }
  }
  frame.id = ContentId(frame);
  return frame;
}

TEST(FrameSetTest, FilesHoldFisherInformation) {
  const FrameSet frame = FrameWithFisher();
  EXPECT_TRUE(frame.has_fisher());
  EXPECT_FALSE(RandomFrame().has_fisher());
  EXPECT_FALSE(FrameSet().has_fisher());
  const std::string bytes = SerializeFrameSet(frame).value();
  const auto parsed = ParseFrameSet(AsBytes(bytes));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->id, frame.id);
  EXPECT_EQ(parsed->modules.at(kTarget).fisher, frame.modules.at(kTarget).fisher);
  EXPECT_EQ(parsed->modules.at(kTarget).q, frame.modules.at(kTarget).q);
  EXPECT_EQ(SerializeFrameSet(*parsed).value(), bytes);
}

TEST(FrameSetTest, RefusesFisherInformationThatCannotBe) {
  const auto refusal = [](const auto& change) {
    FrameSet frame = FrameWithFisher();
    change(frame.modules.at(kTarget).fisher);
    frame.id = ContentId(frame);
    const absl::Status status = ParseFrameSet(AsBytes(SerializeFrameSet(frame).value())).status();
    EXPECT_EQ(ReasonOf(status), reasons::kFrameMismatch);
    return std::string(MessageOf(status));
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal([](auto& fisher) { fisher[3] = -1e-9F; }), HasSubstr("below 0"));
  for (const float wrong :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    EXPECT_THAT(refusal([&](auto& fisher) { fisher[3] = wrong; }), HasSubstr("not finite"));
  }
  EXPECT_THAT(refusal([](auto& fisher) { fisher.clear(); }), HasSubstr("3 for each"))
      << "one layer has none";
}

TEST(FrameSetTest, RefusesFisherInformationOfAnotherRankOrLayer) {
  FrameSet frame = RandomFrame();
  const auto write = [&](const std::string& target, uint64_t rank) {
    GgufWriter out;
    out.SetString("general.type", "frame");
    out.SetString("ruvd.frame.kind", "random");
    out.SetString("ruvd.frame.model_hash", ToHex(frame.model_hash));
    out.SetString("ruvd.frame.id", ToHex(frame.id));
    const ModuleFrame& module = frame.modules.at(kTarget);
    const auto add = [&](const std::string& name, uint64_t columns, uint64_t rows,
                         const std::vector<float>& values) {
      const std::array<uint64_t, 2> shape = {columns, rows};
      out.AddTensor(
          name, TensorType::kF32, shape,
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
    };
    add(kTarget + std::string(".frame_p"), 96, 4, module.p);
    add(kTarget + std::string(".frame_q"), 64, 4, module.q);
    add(target + ".frame_fisher", rank, rank, std::vector<float>(rank * rank, 1));
    return ParseFrameSet(AsBytes(out.Serialize().value())).status();
  };
  std::erase_if(frame.modules, [](const auto& entry) { return entry.first != kTarget; });
  frame.modules.at(kTarget).fisher.assign(16, 1);
  frame.id = ContentId(frame);
  EXPECT_TRUE(write(kTarget, 4).ok()) << write(kTarget, 4);
  EXPECT_EQ(ReasonOf(write(kTarget, 3)), reasons::kFrameMismatch);
  EXPECT_EQ(ReasonOf(write(kTarget, 5)), reasons::kFrameMismatch);
  EXPECT_EQ(ReasonOf(write("blk.1.ffn_up.weight", 4)), reasons::kFrameMismatch);
}

TEST(FrameSetTest, IdsSeeEveryPart) {
  const FrameSet frame = RandomFrame();
  EXPECT_NE(FrameWithFisher().id, frame.id);
  FrameSet fisher = FrameWithFisher();
  fisher.modules.at(kTarget).fisher[3] += 1;
  EXPECT_NE(ContentId(fisher), FrameWithFisher().id);
  FrameSet changed = frame;
  changed.modules.at(kTarget).p[3] += 1e-6F;
  EXPECT_NE(ContentId(changed), frame.id);
  changed = frame;
  changed.kind = FrameKind::kWeight;
  EXPECT_NE(ContentId(changed), frame.id);
  changed = frame;
  changed.model_hash[1] ^= 1;
  EXPECT_NE(ContentId(changed), frame.id);
  changed = frame;
  changed.modules.erase(kTarget);
  EXPECT_NE(ContentId(changed), frame.id);
}

RC_GTEST_PROP(FrameSetTest, EveryDamageIsRefusedOrHarmless, (uint64_t seed)) {
  static const std::string intact = SerializeFrameSet(FrameWithFisher(2)).value();
  static const Digest id = FrameWithFisher(2).id;
  ruvd::Random random(seed);
  std::string bytes = intact;
  if (random.Bernoulli(0.3)) {
    bytes.resize(random.Below(bytes.size()));
  } else {
    bytes[random.Below(bytes.size())] ^= static_cast<char>(1 + random.Below(255));
  }
  const auto parsed = ParseFrameSet(AsBytes(bytes));
  // Damage outside of what counts (padding, a key's name) leaves the frame as it was.
  const bool fine =
      parsed.ok() ? ContentId(*parsed) == id : ReasonOf(parsed.status()) == reasons::kFrameMismatch;
  RC_ASSERT(fine);
}

TEST(FrameSetTest, RefusesFactorsThatAreNotOrthonormal) {
  FrameSet frame = RandomFrame();
  frame.modules.at(kTarget).q[5] *= 1.5F;
  frame.id = ContentId(frame);
  EXPECT_EQ(ReasonOf(ParseFrameSet(AsBytes(SerializeFrameSet(frame).value())).status()),
            reasons::kFrameMismatch);
  frame.modules.at(kTarget).q[5] = std::numeric_limits<float>::quiet_NaN();
  frame.id = ContentId(frame);
  EXPECT_EQ(ReasonOf(ParseFrameSet(AsBytes(SerializeFrameSet(frame).value())).status()),
            reasons::kFrameMismatch);
}

TEST(FrameSetTest, RefusesOtherModels) {
  const FrameSet frame = RandomFrame();
  auto options = test::TextModel::Defaults();
  options.seed = 2;
  EXPECT_EQ(ReasonOf(CheckFrameSet(frame, test::TextModel(options))), reasons::kFrameMismatch);
  FrameSet wide = frame;
  wide.modules.at(kTarget).out = 97;
  EXPECT_EQ(ReasonOf(CheckFrameSet(wide, test::TextModel())), reasons::kFrameMismatch);
}

TEST(FrameSetTest, RefusesImpossibleFrames) {
  const test::TextModel model;
  const std::vector<std::string> wrong = {"blk.0.attn_norm.weight"};
  EXPECT_EQ(ReasonOf(RandomFrameSet(model, wrong, 4, 1).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(RandomFrameSet(model, {}, 4, 1).status()), reasons::kInvalidArgument);
  for (const int rank : {0, 257}) {
    EXPECT_EQ(ReasonOf(RandomFrameSet(model, AllTargets(model), rank, 1).status()),
              reasons::kInvalidArgument);
  }
  EXPECT_EQ(ReasonOf(LoadFrameSet("/nonexistent/frame.gguf").status()), reasons::kFileNotFound);
}

}  // namespace
}  // namespace ruvd::inference
