// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Updates of banks in the core: they are checked, spread, and the newest of each origin counts.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/adapter_update.h"
#include "tests/federation/swarm.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

federation::AdapterUpdateRules PayloadRules() {
  const federation::GossipConfig config = ConfigFor(privacy::NodeKey::FromSeed(SeedOf(0)), 0);
  return BankedRules(config.update_rules, config.model_hash, config.frame_id);
}

// Makes an update of two banks; the second holds three times the values of the first.
federation::AdapterUpdate UpdateOf(float value) {
  const federation::AdapterUpdateRules rules = PayloadRules();
  federation::AdapterUpdate update{.model_hash = rules.model_hash,
                                   .frame_id = rules.frame_id,
                                   .boundaries = {0.5F},
                                   .modules = rules.modules,
                                   .banks = {}};
  for (const uint32_t bank : {0U, 1U}) {
    update.banks.push_back(
        {.bank = bank,
         .values = std::vector<float>(update.values_per_bank(), bank == 0 ? value : 3 * value)});
  }
  return update;
}

TEST(BankedUpdate, OfTheNewestRoundIsTheInputOfARound) {
  Swarm swarm({.nodes = 4});
  swarm.Run(std::chrono::seconds(5));
  swarm.Share(0);
  for (uint64_t round = 1; round <= 3; ++round) {
    auto offered =
        swarm.core(0).OfferUpdate(round, UpdateOf(0.1F * static_cast<float>(round)), swarm.now());
    ASSERT_TRUE(offered.ok()) << offered.status();
    swarm.Apply(0, *std::move(offered));
    swarm.Run(std::chrono::seconds(40));
  }
  for (size_t node = 1; node < swarm.size(); ++node) {
    EXPECT_EQ(swarm.core(node).Items().size(), 3u) << node;
    const std::vector<federation::Item> newest = swarm.core(node).NewestDeltas();
    ASSERT_EQ(newest.size(), 1u) << node;
    EXPECT_EQ(newest[0].round, 3u);
    EXPECT_EQ(*federation::DecodeAdapterUpdate(AsBytes(*newest[0].payload)), UpdateOf(0.1F * 3));
    EXPECT_TRUE(swarm.core(node).counters().refused.empty()) << node;
  }
}

class BankedContent : public ::testing::Test {
 protected:
  // What the node says of a payload that a peer serves.
  std::string Refusal(const federation::AdapterUpdate& update) {
    const std::string payload = federation::EncodeAdapterUpdate(update);
    const Answers answers = peer_.Serve(
        peer_.Push(peer_.Manifest(federation::ItemKind::kAdapterDelta, payload)), payload);
    return answers.refused.empty() ? "" : answers.refused.back();
  }
  void SetUp() override { ASSERT_EQ(peer_.Dial().closed, ""); }

  CoreUnderTest target_;
  TestPeer peer_{target_, 1, 7};
};

TEST_F(BankedContent, OfAWrongFrameModelShapeOrNormIsRefusedWithTheReason) {
  federation::AdapterUpdate frame = UpdateOf(0.1F);
  frame.frame_id.fill(0x99);
  EXPECT_EQ(Refusal(frame), reasons::kFrameMismatch);
  federation::AdapterUpdate model = UpdateOf(0.1F);
  model.model_hash.fill(0x99);
  EXPECT_EQ(Refusal(model), reasons::kModelMismatch);
  federation::AdapterUpdate shape = UpdateOf(0.1F);
  shape.modules.pop_back();
  for (federation::BankValues& bank : shape.banks) {
    bank.values.resize(shape.values_per_bank());
  }
  EXPECT_EQ(Refusal(shape), reasons::kUpdateInvalid);
  EXPECT_EQ(Refusal(UpdateOf(10)), reasons::kUpdateInvalid);
  EXPECT_TRUE(target_.core().Items().empty());
  EXPECT_EQ(Refusal(UpdateOf(0.1F)), "");
  EXPECT_EQ(target_.core().Items().size(), 1u);
}

}  // namespace
}  // namespace ruvd::test
