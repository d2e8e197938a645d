// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Updates of banks travel between nodes that know the format, and reach older nodes in the older
// format.

#include "federation/daf/update_payload.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "tests/federation/swarm.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

constexpr uint32_t kPayloadBanks = 3;  // that version 1 knows

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

TEST(UpdatePayload, OfVersion1IsOneBankForAllT) {
  federation::AdapterDelta delta = federation::AsVersion1(UpdateOf(0.25F));
  ASSERT_EQ(delta.cores.size(), 2u);
  EXPECT_EQ(delta.cores[0].bank, federation::kVersion1Bank);
  EXPECT_EQ(delta.cores[0].values, std::vector<float>(16, 0.5F)) << "the mean of both halves of t";
  const std::string payload = federation::EncodeAdapterDelta(delta);
  EXPECT_EQ(federation::UpdateVersionOf(payload), 1);
  const auto read = federation::ReadUpdate(AsBytes(payload), PayloadRules());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->boundaries.empty());
  ASSERT_EQ(read->banks.size(), 1u);
  EXPECT_EQ(read->banks[0].values, std::vector<float>(16 + 64, 0.5F));
  EXPECT_TRUE(federation::CheckAdapterUpdate(*read, PayloadRules()).ok());

  delta.cores.pop_back();
  EXPECT_EQ(ReasonOf(federation::ReadUpdate(AsBytes(federation::EncodeAdapterDelta(delta)),
                                            PayloadRules())
                         .status()),
            reasons::kUpdateInvalid)
      << "a module is missing";
}

TEST(UpdatePayload, OfVersion2IsReadAsItIs) {
  const federation::AdapterUpdate update = UpdateOf(0.25F);
  const auto read =
      federation::ReadUpdate(AsBytes(federation::EncodeAdapterUpdate(update)), PayloadRules());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, update);
  EXPECT_EQ(federation::UpdateVersionOf("x"), 0);
}

// A small range of t says nothing about all of t.
TEST(UpdatePayload, OfALittleOfTThereIsNoVersion1) {
  federation::AdapterUpdate update = UpdateOf(0.25F);
  update.boundaries = {0.02F};
  update.banks.pop_back();
  EXPECT_TRUE(federation::AsVersion1(update).cores.empty());
}

// Found while version 2 was added: a node of version 3 takes such a payload for a forgery and ends
// the link of a peer that brings ten.
TEST(UpdatePayload, BetweenVersionsNobodyIsSentWhatItDoesNotKnow) {
  constexpr size_t kOld = 3;
  Swarm swarm({.nodes = 4, .configure = [](size_t node, federation::GossipConfig& config) {
                 config.update_rules.banks = kPayloadBanks;
                 if (node == kOld) {
                   config.version_max = limits::kVersionWithBanks - 1;
                 }
               }});
  swarm.Run(std::chrono::seconds(5));
  swarm.Share(0);
  for (uint64_t round = 1; round <= 3; ++round) {
    auto offered =
        swarm.core(0).OfferUpdate(round, UpdateOf(0.1F * static_cast<float>(round)), swarm.now());
    ASSERT_TRUE(offered.ok()) << offered.status();
    swarm.Apply(0, *std::move(offered));
    swarm.Run(std::chrono::seconds(40));
  }
  for (const size_t node : {size_t{1}, size_t{2}}) {
    const std::vector<federation::Item> newest = swarm.core(node).NewestDeltas();
    ASSERT_EQ(newest.size(), 1u) << node;
    EXPECT_EQ(newest[0].round, 3u);
    EXPECT_TRUE(federation::IsUpdateOfBanks(newest[0])) << "not the one for older nodes";
    EXPECT_EQ(*federation::DecodeAdapterUpdate(AsBytes(*newest[0].payload)), UpdateOf(0.1F * 3));
  }
  const std::vector<federation::Item> old = swarm.core(kOld).NewestDeltas();
  ASSERT_EQ(old.size(), 1u);
  EXPECT_EQ(old[0].round, 3u);
  const auto delta = federation::DecodeAdapterDelta(AsBytes(*old[0].payload));
  ASSERT_TRUE(delta.ok()) << delta.status();
  EXPECT_NEAR(delta->cores[0].values[0], 0.6F, 1e-6);
  EXPECT_EQ(swarm.core(kOld).Items().size(), 3u) << "and none of banks";
  for (size_t node = 0; node < swarm.size(); ++node) {
    EXPECT_TRUE(swarm.core(node).counters().refused.empty()) << node;
  }
}

// An older node that joins later gets the newest update as well.
TEST(UpdatePayload, AnOlderNodeThatComesLaterIsServed) {
  Swarm swarm({.nodes = 2, .configure = [](size_t node, federation::GossipConfig& config) {
                 config.update_rules.banks = kPayloadBanks;
                 if (node == 1) {
                   config.version_max = limits::kVersionWithBanks - 1;
                 }
               }});
  swarm.Share(0);
  swarm.Apply(0, *swarm.core(0).OfferUpdate(7, UpdateOf(0.1F), swarm.now()));
  EXPECT_EQ(swarm.core(0).Items().size(), 1u) << "nobody needs version 1 yet";
  swarm.Run(std::chrono::seconds(60));
  ASSERT_EQ(swarm.core(1).NewestDeltas().size(), 1u);
  EXPECT_EQ(swarm.core(1).NewestDeltas()[0].round, 7u);
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
