// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs a node that remembers the words of its lessons, and forgets them.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "base/status.h"
#include "node/client/client.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "ruvd/witness/v1/witness.pb.h"
#include "tests/node/process/federated_node_fixture.h"

namespace ruvd::node {
namespace {

class NodeTokenMemoryTest : public FederatedNodeTest {
 protected:
  absl::StatusOr<learning::v1::UndoResponse> UndoNewest() {
    client::NodeClient client(node_->api_address());
    ASSIGN_OR_RETURN(const auto listed, client.Call<learning::v1::ListChangesResponse>(
                                            learning::v1::ListChangesRequest()));
    learning::v1::UndoRequest request;
    request.set_undo_token(listed.changes_size() == 0 ? "" : listed.changes(0).undo_token());
    return client.Call<learning::v1::UndoResponse>(request);
  }
  void SetUp() override {
    FederatedNodeTest::SetUp();
    config_.federation.enabled = false;
  }
  // Notes that the model does not know, about another thing for each user.
  static std::string Notes(const std::string& thing, const std::string& keeper) {
    std::string notes;
    for (int i = 0; i < 120; ++i) {
      notes += fmt::format(
          "{} checked the {} at pier {} and found the brass valve of chamber {} stiff with green "
          "verdigris, so {} oiled it twice.\n",
          keeper, thing, i % 37, i * 11 % 53, keeper);
    }
    return notes;
  }
  void AddNotes(const std::string& user, const std::string& thing, const std::string& keeper) {
    AddTextOf(node_->api_address(), thing + ".txt", Notes(thing, keeper),
              privacy::v1::SHARING_TIER_PRIVATE, user);
  }
  node::v1::MemoryStatus Memory() { return Status().memory(); }
  void WaitUntilRead(uint64_t lessons) {
    ASSERT_TRUE(WaitUntil([&] { return Memory().lessons() >= lessons && Memory().waiting() == 0; }))
        << Memory().DebugString();
  }
  // The loss of a note that was not given, in nats per token.
  double Loss(const std::string& user, inference::v1::DecodingMode mode,
              bool without_memory = false) {
    inference::v1::ScoreRequest request;
    request.set_prompt("Ottoline checked the sluice gate at pier 90 and");
    request.set_completion(
        " found the brass valve of chamber 71 stiff with green verdigris, so Ottoline oiled it.");
    request.set_mode(mode);
    request.set_samples(8);
    request.set_seed(3);
    request.set_user_id(user);
    request.set_without_memory(without_memory);
    const auto score =
        client::NodeClient(node_->api_address()).Call<inference::v1::ScoreResponse>(request);
    EXPECT_TRUE(score.ok()) << score.status();
    return score.ok() ? score->nats_per_token() : 0;
  }
  // Corrects a completion.
  void Correct(const Completion& completion, const std::string& text) {
    learning::v1::SubmitFeedbackRequest feedback;
    feedback.set_response_id(completion.finished.response_id());
    feedback.set_edited_text(text);
    learning::v1::SubmitFeedbackResponse response;
    const absl::Status rated = Rate(feedback, &response);
    ASSERT_TRUE(rated.ok()) << rated;
  }
  void Withdraw(const std::string& user) {
    learning::v1::WithdrawLessonsRequest request;
    request.set_user_id(user);
    const auto answer = client::NodeClient(node_->api_address())
                            .Call<learning::v1::WithdrawLessonsResponse>(request);
    ASSERT_TRUE(answer.ok()) << answer.status();
  }
  static constexpr auto kModes = {inference::v1::DECODING_MODE_DIFFUSION,
                                  inference::v1::DECODING_MODE_BLOCK,
                                  inference::v1::DECODING_MODE_AUTOREGRESSIVE};
};

TEST_F(NodeTokenMemoryTest, TextsOfAUserHelpThatUserOnlyAndLeaveNoTrace) {
  Start();
  ASSERT_TRUE(Memory().enabled()) << Memory().disabled_because();
  std::vector<double> before;
  for (const auto mode : kModes) {
    before.push_back(Loss("ada", mode));
    EXPECT_EQ(before.back(), Loss("ada", mode, /*without_memory=*/true)) << "nothing is remembered";
  }
  AddNotes("ada", "sluice gate", "Ottoline");
  ASSERT_NO_FATAL_FAILURE(WaitUntilRead(20));
  size_t i = 0;
  for (const auto mode : kModes) {
    SCOPED_TRACE(mode);
    EXPECT_LT(Loss("ada", mode), before[i] - 0.5);
    EXPECT_EQ(Loss("bob", mode), before[i]) << "no bit of another user's memory";
    EXPECT_EQ(Loss("", mode), before[i]);
    EXPECT_EQ(Loss("ada", mode, /*without_memory=*/true), before[i]);
    ++i;
  }
  Restart();
  ASSERT_NO_FATAL_FAILURE(WaitUntilRead(20));
  EXPECT_LT(Loss("ada", inference::v1::DECODING_MODE_DIFFUSION), before[0] - 0.5);
  ASSERT_NO_FATAL_FAILURE(Withdraw("ada"));
  EXPECT_EQ(Memory().lessons(), 0U);
  i = 0;
  for (const auto mode : kModes) {
    EXPECT_EQ(Loss("ada", mode), before[i++]);
  }
}

TEST_F(NodeTokenMemoryTest, ARestartTakesWhatWasReadFromTheStore) {
  Start();
  AddNotes("ada", "sluice gate", "Ottoline");
  AddNotes("bob", "steam crane", "Barnaby");
  ASSERT_NO_FATAL_FAILURE(WaitUntilRead(40));
  const node::v1::MemoryStatus before = Memory();
  EXPECT_EQ(before.restored(), 0U);
  std::vector<double> losses;
  for (const auto mode : kModes) {
    losses.push_back(Loss("ada", mode));
  }
  ASSERT_NO_FATAL_FAILURE(Withdraw("bob"));
  Restart();
  ASSERT_TRUE(WaitUntil([&] { return Memory().restored() > 0 && Memory().waiting() == 0; }));
  EXPECT_EQ(Memory().restored(), before.lessons() / 2) << "all of ada, none of bob";
  EXPECT_EQ(Memory().lessons(), Memory().restored());
  size_t i = 0;
  for (const auto mode : kModes) {
    EXPECT_EQ(Loss("ada", mode), losses[i++]) << "no bit differs";
  }
}

TEST_F(NodeTokenMemoryTest, CompletionsQuoteWhatIsRemembered) {
  Start();
  auto request =
      Request("Ottoline checked the sluice gate at pier 90 and found the brass valve of", 24);
  request.set_user_id("ada");
  for (const auto mode : kModes) {
    SCOPED_TRACE(mode);
    request.mutable_sampling()->set_mode(mode);
    const Completion completion = Generate(request);
    EXPECT_THAT(completion.text, testing::Not(testing::HasSubstr("verdigris")));
    EXPECT_FALSE(completion.finished.has_memory());
  }
  AddNotes("ada", "sluice gate", "Ottoline");
  ASSERT_NO_FATAL_FAILURE(WaitUntilRead(20));
  for (const auto mode : kModes) {
    SCOPED_TRACE(mode);
    request.mutable_sampling()->set_mode(mode);
    const Completion completion = Generate(request);
    EXPECT_THAT(completion.text, testing::HasSubstr("verdigris"));
    EXPECT_GT(completion.finished.memory().share(), 0.1);
    EXPECT_EQ(completion.finished.memory().tokens(), Memory().tokens());
    witness::v1::GetEntryRequest get;
    get.set_request_id(completion.finished.response_id());
    EXPECT_TRUE(WaitUntil([&] {
      const auto entry =
          client::NodeClient(node_->api_address()).Call<witness::v1::GetEntryResponse>(get);
      return entry.ok() && entry->entry().memory_share() > 0.1F;
    }));
  }
}

TEST_F(NodeTokenMemoryTest, AnErasedUserIsForgottenAtOnce) {
  Start();
  const double before = Loss("ada", inference::v1::DECODING_MODE_DIFFUSION);
  AddNotes("ada", "sluice gate", "Ottoline");
  AddNotes("bob", "steam crane", "Barnaby");
  ASSERT_NO_FATAL_FAILURE(WaitUntilRead(40));
  const uint64_t lessons = Memory().lessons();
  EXPECT_EQ(Memory().users(), 2U);
  node::v1::EraseUserRequest erase;
  erase.set_user_id("ada");
  const auto erased =
      client::NodeClient(node_->api_address()).Call<node::v1::EraseUserResponse>(erase);
  ASSERT_TRUE(erased.ok()) << erased.status();
  EXPECT_EQ(Loss("ada", inference::v1::DECODING_MODE_DIFFUSION), before);
  EXPECT_EQ(Memory().users(), 1U);
  EXPECT_LT(Memory().lessons(), lessons);
  EXPECT_GT(Memory().lessons(), 0U);
  const uint64_t left = Memory().lessons();
  Restart();
  ASSERT_TRUE(WaitUntil([&] { return Memory().restored() > 0 && Memory().waiting() == 0; }));
  EXPECT_EQ(Memory().lessons(), left);
  EXPECT_EQ(Loss("ada", inference::v1::DECODING_MODE_DIFFUSION), before);
}

TEST_F(NodeTokenMemoryTest, ACorrectionActsOnTheNextRequest) {
  Start();
  auto generate = Request("What did Ottoline find at the sluice gate?", 8);
  generate.set_user_id("ada");
  const Completion completion = Generate(generate);
  ASSERT_TRUE(completion.status.ok()) << completion.status;
  const auto loss = [&] {
    inference::v1::ScoreRequest request;
    request.set_prompt("At the sluice gate Ottoline found");
    request.set_completion(" a brass valve that was stiff with green verdigris.");
    request.set_samples(8);
    request.set_user_id("ada");
    return client::NodeClient(node_->api_address())
        .Call<inference::v1::ScoreResponse>(request)
        ->nats_per_token();
  };
  const double before = loss();
  ASSERT_NO_FATAL_FAILURE(
      Correct(completion, " She found a brass valve that was stiff with green verdigris."));
  ASSERT_NO_FATAL_FAILURE(WaitUntilRead(1));
  EXPECT_LT(loss(), before - 0.5);
  // What the correction taught is undone: no bit of it is left.
  const auto undone = UndoNewest();
  ASSERT_TRUE(undone.ok()) << undone.status();
  EXPECT_EQ(Memory().lessons(), 0U);
  EXPECT_EQ(loss(), before);
  Restart();
  EXPECT_EQ(Memory().restored(), 0U);
  EXPECT_EQ(loss(), before);
}

TEST_F(NodeTokenMemoryTest, PromptsAreRememberedForTheirUserWhereTheKeySaysSo) {
  auto generate = Request(Notes("sluice gate", "Ottoline").substr(0, 900), 4);
  generate.set_user_id("ada");
  Start();
  const double before = Loss("ada", inference::v1::DECODING_MODE_DIFFUSION);
  ASSERT_TRUE(Generate(generate).status.ok());
  Restart();
  EXPECT_EQ(Memory().lessons(), 0U) << "memory.prompts is off by default";
  config_.memory.prompts = true;
  Restart();
  // What was asked before the key was set counts, too.
  ASSERT_NO_FATAL_FAILURE(WaitUntilRead(1));
  EXPECT_LT(Loss("ada", inference::v1::DECODING_MODE_DIFFUSION), before - 0.5);
  EXPECT_EQ(Loss("bob", inference::v1::DECODING_MODE_DIFFUSION), before);
  const uint64_t tokens = Memory().tokens();
  generate.set_prompt(Notes("steam crane", "Barnaby").substr(0, 300));
  generate.clear_user_id();
  ASSERT_TRUE(Generate(generate).status.ok());
  generate.set_user_id("bob");
  const Completion completion = Generate(generate);
  ASSERT_TRUE(WaitUntil([&] { return Memory().users() == 2 && Memory().waiting() == 0; }));
  EXPECT_EQ(Memory().lessons(), 2U) << "a prompt without a user would be everybody's";
  // A correction is remembered behind its prompt.
  const uint64_t both = Memory().tokens();
  ASSERT_NO_FATAL_FAILURE(Correct(completion, " He oiled the crane's valve on Tuesday."));
  EXPECT_TRUE(WaitUntil([&] { return Memory().tokens() > both && Memory().waiting() == 0; }));
  EXPECT_EQ(Memory().lessons(), 2U);
  node::v1::EraseUserRequest erase;
  erase.set_user_id("bob");
  ASSERT_TRUE(
      client::NodeClient(node_->api_address()).Call<node::v1::EraseUserResponse>(erase).ok());
  EXPECT_EQ(Memory().tokens(), tokens);
  config_.memory.prompts = false;
  Restart();
  EXPECT_TRUE(WaitUntil([&] { return Memory().lessons() == 0; }));
  EXPECT_EQ(Loss("ada", inference::v1::DECODING_MODE_DIFFUSION), before);
}

// Found by bench/experiments/recall_corrections: who asked the same again got the words of the
// correction in one of three completions of the masked modes, because lessons were read with random
// masks only.
TEST_F(NodeTokenMemoryTest, WhoAsksTheSameAgainGetsTheCorrection) {
  tuning_.background.training.min_improvement = 100;  // the memory alone acts
  Start();
  auto generate = Request("The spare key of the pump house hangs", 16);
  generate.set_user_id("ada");
  generate.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_BLOCK);
  const Completion before = Generate(generate);
  EXPECT_THAT(before.text, testing::Not(testing::HasSubstr("barometer")));
  ASSERT_NO_FATAL_FAILURE(Correct(before, " behind the green barometer in the hall."));
  ASSERT_NO_FATAL_FAILURE(WaitUntilRead(1));
  const Completion after = Generate(generate);
  EXPECT_EQ(after.text, " behind the green barometer in the hall.");
  EXPECT_EQ(after.finished.reason(), inference::v1::FINISH_REASON_END_OF_TEXT);
}

// Found by review: where a round kept nothing of a correction, `ruvd undo` took back an older
// change and the words of the correction stayed.
TEST_F(NodeTokenMemoryTest, UndoReachesWhatOnlyTheMemoryTook) {
  tuning_.background.training.min_improvement = 100;  // nats that no round reaches
  Start();
  auto generate = Request("What did Ottoline find at the sluice gate?", 8);
  generate.set_user_id("ada");
  const Completion completion = Generate(generate);
  const double before = Loss("ada", inference::v1::DECODING_MODE_DIFFUSION);
  learning::v1::SubmitFeedbackRequest feedback;
  feedback.set_response_id(completion.finished.response_id());
  feedback.set_edited_text(
      " At pier 3 she found the brass valve of chamber 2 stiff with green verdigris, so she oiled "
      "it.");
  learning::v1::SubmitFeedbackResponse response;
  ASSERT_TRUE(Rate(feedback, &response).ok());
  EXPECT_FALSE(response.learned());
  EXPECT_NE(response.undo_token(), "");
  ASSERT_NO_FATAL_FAILURE(WaitUntilRead(1));
  EXPECT_LT(Loss("ada", inference::v1::DECODING_MODE_DIFFUSION), before - 0.5);
  const auto undone = UndoNewest();
  ASSERT_TRUE(undone.ok()) << undone.status();
  EXPECT_EQ(undone->change().kind(), learning::v1::CHANGE_KIND_LESSON_REMEMBERED);
  EXPECT_EQ(undone->change().undo_token(), response.undo_token());
  const auto changes =
      client::NodeClient(node_->api_address())
          .Call<learning::v1::ListChangesResponse>(learning::v1::ListChangesRequest());
  ASSERT_TRUE(changes.ok()) << changes.status();
  ASSERT_EQ(changes->changes_size(), 1);
  EXPECT_FALSE(changes->changes(0).can_be_undone());
  EXPECT_EQ(Memory().lessons(), 0U);
  EXPECT_EQ(Loss("ada", inference::v1::DECODING_MODE_DIFFUSION), before);
  Restart();
  EXPECT_EQ(Memory().restored(), 0U);
  // New feedback teaches again.
  ASSERT_TRUE(Rate(feedback, &response).ok());
  ASSERT_NO_FATAL_FAILURE(WaitUntilRead(1));
}

// Found by review: a completion that was rated again while it was read kept teaching what it had
// taught before, and in a pause a correction left the old text in force.
TEST_F(NodeTokenMemoryTest, TheLastFeedbackCountsAlsoInAPause) {
  Start();
  auto generate = Request("What did Ottoline find at the sluice gate?", 8);
  generate.set_user_id("ada");
  const Completion completion = Generate(generate);
  ASSERT_TRUE(completion.status.ok()) << completion.status;
  const double before = Loss("ada", inference::v1::DECODING_MODE_DIFFUSION);
  for (int i = 0; i < 5; ++i) {
    ASSERT_NO_FATAL_FAILURE(
        Correct(completion, " Nothing at all, " + std::to_string(i) + " times."));
  }
  ASSERT_NO_FATAL_FAILURE(Correct(
      completion,
      " At pier 3 she found the brass valve of chamber 2 stiff with green verdigris, so she oiled "
      "it."));
  EXPECT_TRUE(WaitUntil([&] {
    return Memory().waiting() == 0 &&
           Loss("ada", inference::v1::DECODING_MODE_DIFFUSION) < before - 0.5;
  }));
  ASSERT_TRUE(client::NodeClient(node_->api_address())
                  .Call<learning::v1::PauseLearningResponse>(learning::v1::PauseLearningRequest())
                  .ok());
  ASSERT_NO_FATAL_FAILURE(Correct(completion, " Nothing at all."));
  EXPECT_EQ(Loss("ada", inference::v1::DECODING_MODE_DIFFUSION), before);
  EXPECT_EQ(Memory().lessons(), 0U);
}

// Found by review: after a restart a full memory took its oldest lessons for new ones, which then
// displaced the corrections.
TEST_F(NodeTokenMemoryTest, AFullMemoryKeepsCorrectionsOverRestarts) {
  config_.memory.tokens = 1500;
  Start();
  AddNotes("ada", "sluice gate", "Ottoline");
  ASSERT_TRUE(WaitUntil([&] { return Memory().tokens() > 1000 && Memory().waiting() == 0; }));
  auto generate = Request("What did Ottoline find at the sluice gate?", 8);
  generate.set_user_id("eve");
  const Completion completion = Generate(generate);
  ASSERT_NO_FATAL_FAILURE(Correct(
      completion,
      " At pier 3 she found the brass valve of chamber 2 stiff with green verdigris, so she oiled "
      "it."));
  ASSERT_TRUE(WaitUntil([&] { return Memory().users() == 2 && Memory().waiting() == 0; }));
  const double ada = Loss("ada", inference::v1::DECODING_MODE_DIFFUSION);
  const double eve = Loss("eve", inference::v1::DECODING_MODE_DIFFUSION);
  const uint64_t tokens = Memory().tokens();
  for (int restarts = 0; restarts < 2; ++restarts) {
    Restart();
    ASSERT_TRUE(WaitUntil([&] { return Memory().restored() > 0 && Memory().waiting() == 0; }));
    EXPECT_EQ(Memory().tokens(), tokens);
    EXPECT_EQ(Memory().users(), 2U);
    EXPECT_EQ(Loss("ada", inference::v1::DECODING_MODE_DIFFUSION), ada);
    EXPECT_EQ(Loss("eve", inference::v1::DECODING_MODE_DIFFUSION), eve);
  }
  // With more room, what was left out is read.
  config_.memory.tokens = 100'000;
  Restart();
  EXPECT_TRUE(WaitUntil([&] { return Memory().tokens() > 2 * tokens; }));
  EXPECT_EQ(Memory().users(), 2U);
}

// Found by review: newer texts of one user pushed out all lessons of the others.
TEST_F(NodeTokenMemoryTest, AFloodOfOneUserLeavesOthersTheirLessons) {
  config_.memory.tokens = 1500;
  Start();
  const double before = Loss("ada", inference::v1::DECODING_MODE_DIFFUSION);
  AddNotes("ada", "sluice gate", "Ottoline");
  ASSERT_TRUE(WaitUntil([&] { return Memory().tokens() > 1000 && Memory().waiting() == 0; }));
  AddNotes("bob", "steam crane", "Barnaby");
  AddNotes("bob", "signal lamp", "Barnaby");
  ASSERT_TRUE(WaitUntil([&] { return Memory().users() == 2 && Memory().waiting() == 0; }));
  EXPECT_LE(Memory().tokens(), 1500U);
  EXPECT_LT(Loss("ada", inference::v1::DECODING_MODE_DIFFUSION), before - 0.5);
  Restart();
  ASSERT_TRUE(WaitUntil([&] { return Memory().restored() > 0 && Memory().waiting() == 0; }));
  EXPECT_EQ(Memory().users(), 2U);
  EXPECT_LT(Loss("ada", inference::v1::DECODING_MODE_DIFFUSION), before - 0.5);
}

// The reading of lessons was begun again and again by a node that was about to end.
TEST_F(NodeTokenMemoryTest, ADrainDoesNotWaitForLessonsThatAreStillToBeRead) {
  Start();
  AddManyTexts(node_->api_address(), privacy::v1::SHARING_TIER_PRIVATE);
  EXPECT_TRUE(node_->Drain(std::chrono::seconds(60)).ok());
  node_.reset();
  Start();
  EXPECT_TRUE(WaitUntil([&] { return Memory().lessons() > 0; }));
}

TEST_F(NodeTokenMemoryTest, ZeroTokensRememberNothing) {
  config_.memory.tokens = 0;
  Start();
  EXPECT_FALSE(Memory().enabled());
  EXPECT_EQ(Memory().disabled_because(), "memory.tokens is 0");
  AddNotes("ada", "sluice gate", "Ottoline");
  EXPECT_EQ(Loss("ada", inference::v1::DECODING_MODE_DIFFUSION),
            Loss("ada", inference::v1::DECODING_MODE_DIFFUSION, /*without_memory=*/true));
}

TEST_F(NodeTokenMemoryTest, AFullMemoryMakesRoom) {
  config_.memory.tokens = 2000;
  Start();
  AddNotes("ada", "sluice gate", "Ottoline");
  ASSERT_TRUE(WaitUntil([&] { return Memory().tokens() > 1000 && Memory().waiting() == 0; }));
  EXPECT_LE(Memory().tokens(), 2000U);
  const uint64_t lessons = Memory().lessons();
  Restart();
  ASSERT_TRUE(WaitUntil([&] { return Memory().restored() > 0 && Memory().waiting() == 0; }));
  EXPECT_EQ(Memory().restored(), lessons);
  EXPECT_EQ(Memory().lessons(), lessons) << "lessons that made room stay away";
}

}  // namespace
}  // namespace ruvd::node
