// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/adapter_kinds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "inference/adapter/refactor.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

constexpr char kTarget[] = "blk.1.ffn_down.weight";

class AdapterKindsTest : public ::testing::Test {
 protected:
  AdapterKindsTest()
      : targets_(LinearTargets(model_, Modules::kAll)),
        frame_(RandomFrameSet(model_, targets_, 12, 1).value()) {}
  CoreSet Cores(int rank, uint64_t seed) const {
    Random random(seed);
    CoreSet cores{.frame_id = frame_.id, .model_hash = frame_.model_hash, .cores = {}};
    for (const std::string& target : targets_) {
      CoreSet::Core core{.rank = rank, .values = {}};
      for (int i = 0; i < rank * rank; ++i) {
        core.values.push_back(static_cast<float>(random.Normal()));
      }
      cores.cores.emplace(target, std::move(core));
    }
    return cores;
  }
  std::string StartReason(const AdapterPlan& plan, const FrameSet* frame) const {
    return ReasonOf(StartAdapter(model_, plan, frame, 1).status());
  }

  test::TextModel model_;
  std::vector<std::string> targets_;
  FrameSet frame_;
};

TEST_F(AdapterKindsTest, TargetsOfTheLinearLayers) {
  EXPECT_EQ(targets_.size(), 14U);
  EXPECT_EQ(LinearTargets(model_, Modules::kQv),
            (std::vector<std::string>{"blk.0.attn_q.weight", "blk.0.attn_v.weight",
                                      "blk.1.attn_q.weight", "blk.1.attn_v.weight"}));
  EXPECT_EQ(LinearTargets(model_, Modules::kAttention, 1).size(), 4U);
  EXPECT_EQ(LinearTargets(model_, Modules::kAll, 1).front(), "blk.1.attn_k.weight");
  EXPECT_EQ(LinearTargets(model_, Modules::kAll, 99).size(), 14U);
}

TEST_F(AdapterKindsTest, StartsWithoutAChange) {
  for (const AdapterKind kind : {AdapterKind::kLora, AdapterKind::kMicroLora,
                                 AdapterKind::kBaseLora, AdapterKind::kFfa, AdapterKind::kCore}) {
    const int rank = kind == AdapterKind::kMicroLora ? 2 : 8;
    const Adapter adapter =
        StartAdapter(model_, {.kind = kind, .rank = rank, .targets = targets_}, &frame_, 5).value();
    EXPECT_TRUE(CheckAdapter(adapter, model_).ok());
    EXPECT_TRUE(CheckKind(adapter).ok());
    ASSERT_EQ(adapter.targets.size(), targets_.size());
    for (const auto& [target, change] : adapter.targets) {
      EXPECT_EQ(change.rank, rank);
      EXPECT_EQ(change.b, std::vector<float>(static_cast<size_t>(rank * change.out)));
      if (UsesFrame(kind)) {
        const std::vector<float>& q = frame_.modules.at(target).q;
        EXPECT_TRUE(std::equal(change.a.begin(), change.a.end(), q.begin())) << "leading rows";
      }
    }
  }
}

TEST_F(AdapterKindsTest, LoraStartsFromItsSeed) {
  const AdapterPlan plan{.kind = AdapterKind::kBaseLora, .rank = 4, .targets = targets_};
  const Adapter one = StartAdapter(model_, plan, nullptr, 1).value();
  EXPECT_EQ(AdapterId(one), AdapterId(StartAdapter(model_, plan, nullptr, 1).value()));
  EXPECT_NE(AdapterId(one), AdapterId(StartAdapter(model_, plan, nullptr, 2).value()));
  const std::vector<float>& a = one.targets.at(kTarget).a;
  double dot = 0;
  for (size_t i = 0; i < 96; ++i) {
    dot += static_cast<double>(a[i]) * static_cast<double>(a[96 + i]);
  }
  EXPECT_NEAR(dot, 0, 1e-6);
}

TEST_F(AdapterKindsTest, RefusesPlansThatCannotBe) {
  const auto plan = [this](AdapterKind kind, int rank) {
    return AdapterPlan{.kind = kind, .rank = rank, .targets = targets_};
  };
  EXPECT_EQ(StartReason(plan(AdapterKind::kMicroLora, 3), nullptr), reasons::kInvalidArgument);
  EXPECT_EQ(StartReason(plan(AdapterKind::kBaseLora, 17), nullptr), reasons::kInvalidArgument);
  EXPECT_EQ(StartReason(plan(AdapterKind::kLora, 0), nullptr), reasons::kInvalidArgument);
  EXPECT_EQ(StartReason(plan(AdapterKind::kCore, 4), nullptr), reasons::kInvalidArgument);
  EXPECT_EQ(StartReason(plan(AdapterKind::kCore, 13), &frame_), reasons::kInvalidArgument);
  EXPECT_EQ(StartReason({.targets = {}}, nullptr), reasons::kInvalidArgument);
  EXPECT_EQ(StartReason({.targets = {"blk.9.attn_q.weight"}}, nullptr), reasons::kInvalidArgument);
  FrameSet foreign = frame_;
  foreign.model_hash[0] ^= 1;
  EXPECT_EQ(StartReason(plan(AdapterKind::kFfa, 4), &foreign), reasons::kAdapterForOtherModel);
}

TEST_F(AdapterKindsTest, CoresBecomeAdaptersAndBack) {
  const CoreSet cores = Cores(5, 3);
  const auto adapter = AdapterFromCores(frame_, cores, "core", 2, 0.5F).value();
  EXPECT_EQ(adapter->kind, AdapterKind::kCore);
  EXPECT_TRUE(CheckAdapter(*adapter, model_).ok());
  // The product P R Q by hand, where only the leading columns of P count.
  const ModuleFrame& module = frame_.modules.at(kTarget);
  const DenseMatrix full = ToDenseMatrix(adapter->targets.at(kTarget));
  const CoreSet::Core& core = cores.cores.at(kTarget);
  for (const size_t row : {0U, 17U, 63U}) {
    for (const size_t column : {0U, 95U}) {
      double expected = 0;
      for (size_t i = 0; i < 5; ++i) {
        for (size_t j = 0; j < 5; ++j) {
          expected +=
              0.5 * module.p[i * 64 + row] * core.values[i * 5 + j] * module.q[j * 96 + column];
        }
      }
      EXPECT_NEAR(full.at(row, column), expected, 1e-5);
    }
  }
  const CoreSet again = CoresOf(*adapter, frame_).value();
  for (const auto& [target, value] : again.cores) {
    for (size_t i = 0; i < value.values.size(); ++i) {
      EXPECT_NEAR(value.values[i], 0.5 * cores.cores.at(target).values[i], 1e-5);
    }
  }
}

TEST_F(AdapterKindsTest, RefusesCoresThatDoNotFit) {
  const auto reason = [this](const CoreSet& cores) {
    return ReasonOf(AdapterFromCores(frame_, cores, "x", 1, 1).status());
  };
  CoreSet cores = Cores(2, 1);
  cores.frame_id[0] ^= 1;
  EXPECT_EQ(reason(cores), reasons::kFrameMismatch);
  cores = Cores(2, 1);
  cores.cores.at(kTarget).values[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(reason(cores), reasons::kUpdateInvalid);
  cores = Cores(2, 1);
  cores.cores.at(kTarget).values.pop_back();
  EXPECT_EQ(reason(cores), reasons::kUpdateInvalid);
  cores = Cores(2, 1);
  cores.cores["blk.7.attn_q.weight"] = cores.cores.at(kTarget);
  EXPECT_EQ(reason(cores), reasons::kUpdateInvalid);
  EXPECT_EQ(reason(Cores(13, 1)), reasons::kUpdateInvalid);

  Adapter adapter = *AdapterFromCores(frame_, Cores(2, 1), "x", 1, 1).value();
  adapter.targets.at(kTarget).b[0] += 1;
  EXPECT_EQ(ReasonOf(CoresOf(adapter, frame_).status()), reasons::kAdapterInvalid);
  adapter.kind = AdapterKind::kFfa;
  EXPECT_EQ(ReasonOf(CoresOf(adapter, frame_).status()), reasons::kAdapterInvalid);
}

TEST_F(AdapterKindsTest, BytesAndFilesKeepTheKind) {
  auto adapter = *AdapterFromCores(frame_, Cores(3, 1), "core", 2, 0.5F).value();
  const auto decoded = DecodeAdapter(AsBytes(EncodeAdapter(adapter)));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ((*decoded)->kind, AdapterKind::kCore);
  EXPECT_EQ((*decoded)->frame_id, frame_.id);
  EXPECT_EQ(AdapterId(**decoded), AdapterId(adapter));
  const std::string file = SerializeAdapterFile(adapter, model_).value();
  const auto parsed = ParseAdapterFile(AsBytes(file), model_, "x");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ((*parsed)->kind, AdapterKind::kCore);
  EXPECT_TRUE(CoresOf(**parsed, frame_).ok());
  adapter.frame_id = {};
  EXPECT_EQ(ReasonOf(DecodeAdapter(AsBytes(EncodeAdapter(adapter))).status()),
            reasons::kAdapterInvalid);
  adapter.kind = AdapterKind::kMicroLora;
  EXPECT_EQ(ReasonOf(DecodeAdapter(AsBytes(EncodeAdapter(adapter))).status()),
            reasons::kAdapterInvalid)
      << "rank 3";
}

TEST(AdapterKindNamesTest, GoBothWays) {
  for (const char* name : {"lora", "micro-lora", "base-lora", "ffa", "core"}) {
    EXPECT_EQ(KindName(KindByName(name).value()), name);
  }
  for (const char* name : {"qv", "attention", "all"}) {
    EXPECT_TRUE(ModulesByName(name).has_value()) << name;
  }
  EXPECT_FALSE(KindByName("LoRA").has_value());
  EXPECT_FALSE(ModulesByName("").has_value());
}

}  // namespace
}  // namespace ruvd::inference
