// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a node keeps of its peers' experts, and when it serves them.

#include "node/sharing/peer_experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "federation/patterns/shared_expert.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/talora_file.h"
#include "node/serving/experts.h"
#include "node/sharing/limits.h"
#include "tests/inference/text_model.h"

namespace ruvd::sharing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

privacy::NodeId Node(uint8_t n) {
  privacy::NodeId id{};
  id.fill(n);
  return id;
}

class PeerExpertsTest : public testing::Test {
 protected:
  PeerExpertsTest()
      : catalog_(*model_, {.folder = testing::TempDir() + "peer_experts_imported",
                           .public_log_frequency = std::vector<float>(
                               static_cast<size_t>(model_->config().vocabulary), -6.0F)}),
        experts_(std::make_unique<PeerExperts>(catalog_, Node(9))) {}

  std::string PayloadOf(uint32_t version, int64_t created_ms) const {
    const std::string target = "blk.1.attn_output.weight";
    const auto adapter =
        test::RandomAdapter(*model_, {{target, inference::FindMatrix(*model_, target)}}, 'a');
    auto talora = std::make_shared<inference::Talora>(*inference::StaticTalora(adapter));
    inference::LessonWordCounter words;
    words.Add(model_->tokenizer().EncodePrompt("keeper"));
    talora->words = words.Finish();
    return federation::EncodeSharedExpert(
        {.version = version,
         .lessons = 40,
         .created_ms = created_ms,
         .file = inference::SerializeTaloraFile(*talora, *model_).value()});
  }
  federation::Item Item(uint8_t node, uint32_t version = 1, int64_t created_ms = 1000) const {
    return {.id = Sha256(fmt::format("{} {} {}", node, version, created_ms)),
            .kind = federation::ItemKind::kExpert,
            .origin = Node(node),
            .created_ms = created_ms,
            .payload = std::make_shared<const std::string>(PayloadOf(version, created_ms))};
  }
  // Returns a verdict that scored the expert on so many texts.
  ExpertVerdict Verdict(const PeerExperts::Trial& trial, ExpertStanding standing, size_t texts = 8,
                        double gain = 0.1) const {
    return {
        .standing = standing,
        .scored = true,
        .texts = texts,
        .gain = gain,
        .standard_error = 0.01,
        .adapter = ReadExpertPayload(*trial.payload, *model_, serving::NameOfExpert(trial.origin))
                       .value()};
  }
  // Ends the next trial.
  void End(ExpertStanding standing, int64_t now_ms = 0, size_t texts = 8, double gain = 0.1) {
    const auto trial = experts_->NextTrial(now_ms);
    ASSERT_TRUE(trial);
    experts_->EndTrial(*trial, Verdict(*trial, standing, texts, gain), now_ms);
  }
  std::vector<std::string> Served() const {
    std::vector<std::string> labels;
    for (const serving::CatalogEntry& entry : catalog_.List()) {
      EXPECT_EQ(entry.origin, serving::AdapterOrigin::kPeer);
      EXPECT_NE(entry.evidence, nullptr) << "words decide about it";
      labels.push_back(fmt::format("{}@{}", entry.info.name, entry.info.version));
    }
    return labels;
  }
  static std::string LabelOf(uint8_t node, uint32_t version = 1) {
    return fmt::format("{}@{}", serving::NameOfExpert(Node(node)), version);
  }

  const std::shared_ptr<const inference::Model> model_ = test::TinyTextModel();
  serving::AdapterCatalog catalog_;
  std::unique_ptr<PeerExperts> experts_;
};

TEST_F(PeerExpertsTest, AnExpertServesOnlyAfterItsTrial) {
  experts_->Store(Item(1));
  EXPECT_THAT(Served(), IsEmpty());
  EXPECT_EQ(experts_->View().at(Node(1)).standing, ExpertStanding::kTrial);
  End(ExpertStanding::kServing);
  EXPECT_THAT(Served(), ElementsAre(LabelOf(1)));
  const auto parts = catalog_.Choose({}).value();
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts.front().weight, 1);
  const PeerExpertView view = experts_->View().at(Node(1));
  EXPECT_EQ(view.standing, ExpertStanding::kServing);
  EXPECT_EQ(view.texts, 8U);
  EXPECT_EQ(view.gain, 0.1);
}

TEST_F(PeerExpertsTest, ANewerVersionGetsItsOwnTrialAndAnOlderOneHasNoEffect) {
  experts_->Store(Item(1, 2, 2000));
  End(ExpertStanding::kServing);
  experts_->Store(Item(1, 1, 1000));
  EXPECT_THAT(Served(), ElementsAre(LabelOf(1, 2)));
  experts_->Store(Item(1, 1, 3000));
  EXPECT_THAT(Served(), IsEmpty()) << "the node began anew with version 1";
  End(ExpertStanding::kServing, limits::kExpertLookMillis);
  EXPECT_THAT(Served(), ElementsAre(LabelOf(1, 1)));
}

// Found by review: the core drops the former item of an origin before it tells of the new one, and
// what was refused got a trial with every repetition.
TEST_F(PeerExpertsTest, TheSameVersionOfferedAgainKeepsItsStanding) {
  const federation::Item good = Item(1, 1, 1000);
  const federation::Item bad = Item(2, 1, 1000);
  experts_->Store(good);
  End(ExpertStanding::kServing);
  experts_->Store(bad);
  End(ExpertStanding::kTextsWorse);
  for (const auto& [item, again] :
       {std::pair(good, Item(1, 1, 2000)), std::pair(bad, Item(2, 1, 2000))}) {
    experts_->Remove(item.id);
    experts_->Store(again);
  }
  EXPECT_THAT(Served(), ElementsAre(LabelOf(1)));
  EXPECT_EQ(experts_->View().at(Node(1)).gain, 0.1);
  EXPECT_EQ(experts_->View().at(Node(2)).standing, ExpertStanding::kTextsWorse);
  experts_->Remove(Item(2, 1, 2000).id);
  experts_->Store(Item(2, 2, 3000));
  EXPECT_EQ(experts_->View().at(Node(2)).standing, ExpertStanding::kTrial);
  experts_->Remove(Item(1, 1, 2000).id);
  EXPECT_FALSE(experts_->NextTrial(limits::kLongestExpertLookMillis - 1))
      << "a peer whose expert was refused has to wait";
  EXPECT_TRUE(experts_->NextTrial(limits::kLongestExpertLookMillis));
}

TEST_F(PeerExpertsTest, AVerdictOnWhatWasReplacedOrRemovedHasNoEffect) {
  experts_->Store(Item(1));
  const auto trial = experts_->NextTrial(0);
  experts_->Store(Item(1, 2, 2000));
  experts_->EndTrial(*trial, Verdict(*trial, ExpertStanding::kServing), 0);
  EXPECT_THAT(Served(), IsEmpty());
  const auto next = experts_->NextTrial(0);
  experts_->Remove(next->item);
  experts_->EndTrial(*next, Verdict(*next, ExpertStanding::kServing), 0);
  EXPECT_THAT(Served(), IsEmpty());
  EXPECT_THAT(experts_->View(), IsEmpty());
}

TEST_F(PeerExpertsTest, WhatItsSenderTakesBackServesNoLonger) {
  const federation::Item item = Item(1);
  experts_->Store(item);
  End(ExpertStanding::kServing);
  experts_->Remove(Sha256("another item"));
  EXPECT_THAT(Served(), ElementsAre(LabelOf(1)));
  experts_->Remove(item.id);
  EXPECT_THAT(Served(), IsEmpty());
}

TEST_F(PeerExpertsTest, WhatWasRefusedGetsNoOtherTrial) {
  experts_->Store(Item(1));
  End(ExpertStanding::kTextsWorse);
  EXPECT_THAT(Served(), IsEmpty());
  EXPECT_FALSE(experts_->NextTrial(1'000'000'000));
  EXPECT_EQ(experts_->View().at(Node(1)).standing, ExpertStanding::kTextsWorse);
}

TEST_F(PeerExpertsTest, ExpertsTakeTurnsAndWaitBetweenTrials) {
  experts_->Store(Item(1));
  experts_->Store(Item(2));
  const auto first = experts_->NextTrial(0);
  ASSERT_TRUE(first);
  experts_->EndTrial(*first, {.standing = ExpertStanding::kTrial, .texts = 2}, 0);
  const auto second = experts_->NextTrial(0);
  ASSERT_TRUE(second);
  EXPECT_NE(first->origin, second->origin);
  experts_->Postpone(*second, 0);
  EXPECT_FALSE(experts_->NextTrial(limits::kExpertLookMillis - 1));
  const auto again = experts_->NextTrial(limits::kExpertLookMillis);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->origin, first->origin);
  int64_t now_ms = 0;
  for (int look = 0; look < 20; ++look) {
    experts_->EndTrial(*again, {.standing = ExpertStanding::kTrial, .texts = 2}, now_ms);
    experts_->Postpone(*second, now_ms + limits::kLongestExpertLookMillis);
    now_ms += limits::kLongestExpertLookMillis;
  }
  EXPECT_TRUE(experts_->NextTrial(now_ms)) << "it looks more seldom, and does not stop";
}

// One that helps some texts and harms others is found once the others come.
TEST_F(PeerExpertsTest, OneThatServesIsJudgedAgainByTwiceAsManyTexts) {
  experts_->Store(Item(1));
  End(ExpertStanding::kServing, 0, 8);
  const auto again = experts_->NextTrial(limits::kExpertLookMillis);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->former_texts, 15U);
  experts_->EndTrial(*again, {.standing = ExpertStanding::kTrial, .texts = 12}, 50'000);
  EXPECT_THAT(Served(), ElementsAre(LabelOf(1))) << "nothing was scored";
  End(ExpertStanding::kTrial, 100'000, 16, 0.001);
  EXPECT_THAT(Served(), IsEmpty()) << "more texts do not say that it helps";
  End(ExpertStanding::kServing, 200'000, 32);
  EXPECT_THAT(Served(), ElementsAre(LabelOf(1)));
  End(ExpertStanding::kTextsWorse, 300'000, 64);
  EXPECT_THAT(Served(), IsEmpty());
}

TEST_F(PeerExpertsTest, WhatHelpsMoreDisplacesWhatHelpsLeast) {
  for (uint8_t node = 10; node < 10 + limits::kMaxServingExperts; ++node) {
    experts_->Store(Item(node));
    End(ExpertStanding::kServing, 0, 8, node == 12 ? 0.05 : 0.2);
  }
  EXPECT_EQ(experts_->serving(), limits::kMaxServingExperts);
  experts_->Store(Item(1));
  End(ExpertStanding::kServing, 0, 8, 0.04);
  EXPECT_EQ(experts_->View().at(Node(1)).standing, ExpertStanding::kTrial);
  experts_->Store(Item(2));
  End(ExpertStanding::kServing, 0, 8, 0.1);
  EXPECT_EQ(experts_->View().at(Node(2)).standing, ExpertStanding::kServing);
  EXPECT_EQ(experts_->View().at(Node(12)).standing, ExpertStanding::kTrial);
  EXPECT_EQ(Served().size(), limits::kMaxServingExperts);
}

TEST_F(PeerExpertsTest, WhatUsersRateBadlyIsDroppedAndStaysOut) {
  experts_->Store(Item(1));
  End(ExpertStanding::kServing);
  for (int use = 0; use < 6; ++use) {
    experts_->OnRated({.response_id = std::to_string(use), .adapters = {LabelOf(1)}, .rating = 0});
  }
  EXPECT_THAT(Served(), IsEmpty());
  EXPECT_EQ(experts_->View().at(Node(1)).standing, ExpertStanding::kRatedBadly);
  experts_->Store(Item(1, 1, 5000));
  EXPECT_FALSE(experts_->NextTrial(1'000'000'000)) << "the same version, offered again";
  experts_->Store(Item(1, 2, 6000));
  EXPECT_TRUE(experts_->NextTrial(limits::kExpertLookMillis));
}

TEST_F(PeerExpertsTest, OwnItemsAndOtherKindsHaveNoEffect) {
  experts_->Store(Item(9));
  federation::Item pattern = Item(1);
  pattern.kind = federation::ItemKind::kPattern;
  experts_->Store(pattern);
  EXPECT_THAT(experts_->View(), IsEmpty());
}

TEST_F(PeerExpertsTest, TheCatalogueKeepsNothingOfAnActorThatFailed) {
  experts_->Store(Item(1));
  End(ExpertStanding::kServing);
  experts_.reset();
  EXPECT_THAT(Served(), IsEmpty());
}

// Names of experts are not for files, and clients cannot unload what a peer learned.
TEST_F(PeerExpertsTest, ClientsNeitherAddNorUnloadExperts) {
  experts_->Store(Item(1));
  End(ExpertStanding::kServing);
  const std::string name = serving::NameOfExpert(Node(1));
  EXPECT_TRUE(absl::IsFailedPrecondition(catalog_.Unload(name, std::nullopt).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(catalog_.SetPinned(name, std::nullopt, true).status()));
  const federation::SharedExpert file =
      federation::DecodeSharedExpert(AsBytes(PayloadOf(1, 1))).value();
  auto parsed = std::make_shared<inference::Talora>(
      *inference::ParseTaloraFile(AsBytes(file.file), *model_, "x").value());
  parsed->name = serving::NameOfExpert(Node(2));
  const std::string disguised = inference::SerializeTaloraFile(*parsed, *model_).value();
  EXPECT_TRUE(absl::IsInvalidArgument(catalog_.Import(disguised, 1.0F).status()));
}

}  // namespace
}  // namespace ruvd::sharing
