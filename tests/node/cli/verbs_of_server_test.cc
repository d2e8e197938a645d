// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What verbs ask a node, and how they print its answers. The node is a server of fixed answers.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "node/cli/verbs.h"
#include "node/terminal/command.h"
#include "ruvd/cluster/v1/cluster.grpc.pb.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/node/v1/node.grpc.pb.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"
#include "tests/node/client/test_server.h"

namespace ruvd::cli {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class OneNode final : public node::v1::NodeService::Service {
 public:
  grpc::Status GetStatus(grpc::ServerContext*, const node::v1::GetStatusRequest*,
                         node::v1::GetStatusResponse* response) override {
    *response = status;
    return grpc::Status::OK;
  }

  node::v1::GetStatusResponse status;
};

// Sends one member a page.
class Members final : public cluster::v1::ClusterService::Service {
 public:
  grpc::Status ListMembers(grpc::ServerContext*, const cluster::v1::ListMembersRequest* request,
                           cluster::v1::ListMembersResponse* response) override {
    const auto at = request->page_token().empty() ? 0 : std::stoi(request->page_token());
    *response->add_members() = members.at(static_cast<size_t>(at));
    if (at + 1 < static_cast<int>(members.size())) {
      response->set_next_page_token(std::to_string(at + 1));
    }
    return grpc::Status::OK;
  }

  std::vector<cluster::v1::Member> members;
};

class Rounds final : public learning::v1::LearningService::Service {
 public:
  grpc::Status RunDeep(grpc::ServerContext*, const learning::v1::RunDeepRequest*,
                       grpc::ServerWriter<learning::v1::RunDeepResponse>* writer) override {
    learning::v1::RunDeepResponse event;
    event.mutable_progress();
    writer->Write(event);
    event.mutable_progress()->set_step(3);
    event.mutable_progress()->set_steps(40);
    writer->Write(event);
    *event.mutable_result() = result;
    writer->Write(event);
    return grpc::Status::OK;
  }
  grpc::Status RunBackground(
      grpc::ServerContext*, const learning::v1::RunBackgroundRequest* request,
      grpc::ServerWriter<learning::v1::RunBackgroundResponse>* writer) override {
    learning::v1::RunBackgroundResponse event;
    event.mutable_progress()->set_lessons_waiting(5);
    writer->Write(event);
    event.mutable_result()->set_patterns_kept(request->replay() ? 2 : 1);
    event.mutable_result()->mutable_duration()->set_nanos(250'000'000);
    writer->Write(event);
    return grpc::Status::OK;
  }
  grpc::Status ListChanges(grpc::ServerContext*, const learning::v1::ListChangesRequest*,
                           learning::v1::ListChangesResponse* response) override {
    learning::v1::Change& change = *response->add_changes();
    change.set_undo_token("7-0");
    change.mutable_create_time()->set_seconds(1'795'287'600);
    change.set_loop(learning::v1::LEARNING_LOOP_BACKGROUND);
    change.set_kind(learning::v1::CHANGE_KIND_PATTERNS_MERGED);
    change.set_pattern_id("aa");
    change.set_merged_pattern_id("bb");
    return grpc::Status::OK;
  }

  learning::v1::DeepResult result;
};

// Keeps the request and completes nothing.
class Completions final : public inference::v1::InferenceService::Service {
 public:
  grpc::Status Generate(grpc::ServerContext*, const inference::v1::GenerateRequest* request,
                        grpc::ServerWriter<inference::v1::GenerateResponse>* writer) override {
    asked = *request;
    inference::v1::GenerateResponse event;
    event.mutable_finished()->set_response_id("r1");
    writer->Write(event);
    return grpc::Status::OK;
  }
  grpc::Status Embed(grpc::ServerContext*, const inference::v1::EmbedRequest* request,
                     inference::v1::EmbedResponse* response) override {
    for (const std::string& text : request->texts()) {
      inference::v1::TextEmbedding& embedding = *response->add_embeddings();
      embedding.set_tokens(static_cast<uint32_t>(text.size()));
      embedding.add_values(0.5F);
      embedding.add_values(-0.5F);
    }
    return grpc::Status::OK;
  }

  inference::v1::GenerateRequest asked;
};

// Sends the beginning and one change.
class Changes final : public pattern::v1::PatternService::Service {
 public:
  grpc::Status WatchPatterns(
      grpc::ServerContext*, const pattern::v1::WatchPatternsRequest* request,
      grpc::ServerWriter<pattern::v1::WatchPatternsResponse>* writer) override {
    asked = *request;
    pattern::v1::WatchPatternsResponse event;
    event.mutable_started()->set_sequence(4);
    event.mutable_started()->set_log_id("0a1b");
    writer->Write(event);
    auto& change = *event.mutable_change();
    change.set_sequence(5);
    change.set_kind(pattern::v1::WatchPatternsResponse::CHANGE_KIND_PUT);
    change.set_id("70");
    change.mutable_time()->set_seconds(1'795'287'600);
    change.mutable_pattern()->set_tier(privacy::v1::SHARING_TIER_PUBLIC);
    writer->Write(event);
    return grpc::Status::OK;
  }

  pattern::v1::WatchPatternsRequest asked;
};

class VerbsOfServerTest : public ::testing::Test {
 protected:
  // Runs a verb and returns its exit code.
  int Run(std::vector<std::string> arguments, bool err_is_terminal = false) {
    out_.str("");
    err_.str("");
    CommandContext context{.out = out_, .err = err_, .err_is_terminal = err_is_terminal};
    arguments.insert(arguments.end(), {"--server", server_.client().server()});
    return RunCommandLine(arguments, context, [](VerbTable& verbs) {
      AddRunVerb(verbs);
      AddTextVerbs(verbs);
      AddLearningVerbs(verbs);
      AddPatternVerbs(verbs);
      AddClusterVerbs(verbs);
    });
  }

  OneNode node_;
  Members members_;
  Rounds rounds_;
  Completions completions_;
  Changes changes_;
  client::TestServer server_{&node_, &members_, &rounds_, &completions_, &changes_};
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(VerbsOfServerTest, StatusPrintsEveryGroup) {
  node::v1::GetStatusResponse& status = node_.status;
  status.mutable_node()->set_name("alpha");
  status.mutable_node()->set_id("00ff");
  status.mutable_node()->set_state(node::v1::NODE_STATE_DEGRADED);
  status.mutable_node()->mutable_uptime()->set_seconds(90);
  status.mutable_node()->set_embedding_dimension(384);
  status.mutable_store()->set_health(node::v1::STORAGE_HEALTH_READ_ONLY);
  status.mutable_store()->set_sessions(6);
  status.mutable_patterns()->set_stored(3);
  status.mutable_patterns()->set_capacity(100);
  status.mutable_witness()->set_crowded_out(8);
  status.mutable_cluster()->set_members_alive(4);
  (*status.mutable_cluster()->mutable_accepted_items())["expert"] = 2;
  status.mutable_certificate()->mutable_expire_time()->set_seconds(1'795'287'600);
  status.mutable_certificate()->mutable_issuer_expire_time()->set_seconds(1'795'287'660);
  status.mutable_certificate()->set_issuer_number(1);
  node::v1::LimitStatus& limit = *status.add_limits();
  limit.set_name("joins");
  limit.set_scope(node::v1::LIMIT_SCOPE_UNAUTHENTICATED);
  limit.set_refused(9);
  ASSERT_EQ(Run({"status"}), 0) << err_.str();
  for (const char* line :
       {"node +alpha \\(00ff\\)", "state +degraded, up 90 s", "storage +read_only", "sessions +6",
        "patterns +3 of at most 100, of 384 values, 0 not linked yet\n", "members +4 alive",
        "witness +0 stored, 0 waiting, 0 refused, 8 crowded out", "accepted +expert 2",
        "member until +2026-11-21 19:00:00 UTC", "issuer +1, until 2026-11-21 19:01:00 UTC",
        "limit +joins \\(unauthenticated\\): 9 refused"}) {
    EXPECT_THAT(out_.str(), ContainsRegex(line));
  }
  ASSERT_EQ(Run({"status", "--format", "json"}), 0);
  EXPECT_EQ(json::parse(out_.str())["node"]["state"], "NODE_STATE_DEGRADED");
  EXPECT_EQ(json::parse(out_.str())["certificate"]["expire_time"], "2026-11-21T19:00:00Z");
}

TEST_F(VerbsOfServerTest, StatusLeavesOutWhatANodeWithoutFederationLacks) {
  ASSERT_EQ(Run({"status"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(ContainsRegex("members +0 alive"), ContainsRegex("refused +none"),
                                Not(HasSubstr("member until")), Not(HasSubstr("rounds"))));
}

TEST_F(VerbsOfServerTest, MembersAreThoseOfAllPages) {
  cluster::v1::Member self;
  self.set_name("alpha");
  self.set_state(cluster::v1::MEMBER_STATE_SELF);
  self.mutable_expert()->set_standing(cluster::v1::EXPERT_STANDING_NOT_OFFERED);
  cluster::v1::Member peer;
  peer.set_name("beta");
  peer.set_state(cluster::v1::MEMBER_STATE_SUSPECT);
  peer.set_rounds(cluster::v1::STATE_AGREEMENT_DIFFERS);
  peer.mutable_rtt()->set_nanos(1'500'000);
  peer.mutable_since_heard()->set_seconds(7);
  peer.mutable_expert()->set_standing(cluster::v1::EXPERT_STANDING_TEXTS_WORSE);
  peer.mutable_expert()->set_version(2);
  members_.members = {self, peer};
  ASSERT_EQ(Run({"members"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), ContainsRegex("alpha +self +- +- +- +- +- +none"));
  EXPECT_THAT(out_.str(),
              ContainsRegex("beta +suspect +- +differs +1.5 ms +7.0 s +- +@2 texts_worse"));
  ASSERT_EQ(Run({"members", "--format", "json"}), 0);
  EXPECT_EQ(json::parse(out_.str())["members"].size(), 2U);
  EXPECT_EQ(json::parse(out_.str())["next_page_token"], "");
}

TEST_F(VerbsOfServerTest, ADeepRoundShowsItsStepsOnATerminalOnly) {
  rounds_.result.set_outcome(learning::v1::DEEP_OUTCOME_NO_IMPROVEMENT);
  rounds_.result.set_steps(40);
  ASSERT_EQ(Run({"learn", "run-deep"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("no_improvement: 0 lesson(s) taught, 0 held back, 40 steps"));
  EXPECT_EQ(err_.str(), "");
  ASSERT_EQ(Run({"learn", "run-deep", "--format", "json"}, /*err_is_terminal=*/true), 0);
  EXPECT_EQ(json::parse(out_.str())["outcome"], "DEEP_OUTCOME_NO_IMPROVEMENT");
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("\r3 of 40 steps"), testing::EndsWith("\n")));
}

TEST_F(VerbsOfServerTest, ADeepRoundWithTooFewLessonsSaysHowManyItNeeds) {
  rounds_.result.set_outcome(learning::v1::DEEP_OUTCOME_TOO_FEW_LESSONS);
  rounds_.result.set_least_lessons(8);
  ASSERT_EQ(Run({"learn", "run-deep"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("a deep round needs 8 completions"));
}

TEST_F(VerbsOfServerTest, ABackgroundRoundPrintsItsResult) {
  ASSERT_EQ(Run({"learn", "replay"}, /*err_is_terminal=*/true), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("2 pattern(s) learned, 0 without gain, 0 failed, 0 merged in "
                                    "0.2 s; 0 lesson(s) wait"));
  EXPECT_EQ(err_.str(), "\r5 lesson(s) wait\n");
  ASSERT_EQ(Run({"learn", "run-background", "--format", "json"}), 0);
  EXPECT_EQ(json::parse(out_.str())["patterns_kept"], 1);
}

TEST_F(VerbsOfServerTest, ChangesHaveTheNamesOfTheirLoopAndKind) {
  ASSERT_EQ(Run({"learn", "changes"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), ContainsRegex("7-0 +2026-11-21 19:00:00 +background +patterns_merged "
                                        "+stays +pattern bb into aa"));
}

TEST_F(VerbsOfServerTest, APromptIsSentAsTheInputThatItIs) {
  ASSERT_EQ(Run({"run", "Hello", "--max-tokens", "9"}), 0) << err_.str();
  EXPECT_EQ(completions_.asked.prompt(), "Hello");
  EXPECT_EQ(completions_.asked.sampling().max_tokens(), 9U);
  EXPECT_FALSE(completions_.asked.sampling().has_steps()) << "what was not asked for is left out";

  ASSERT_EQ(Run({"run", "A [[2]] b", "--infill"}), 0) << err_.str();
  EXPECT_EQ(completions_.asked.infill().parts_size(), 3);

  ASSERT_EQ(Run({"run", "Hi", "--system", "Be brief.", "--chat-template", "chatml"}), 0)
      << err_.str();
  const inference::v1::Chat& chat = completions_.asked.chat();
  ASSERT_EQ(chat.messages_size(), 2);
  EXPECT_EQ(chat.messages(0).role(), inference::v1::CHAT_ROLE_SYSTEM);
  EXPECT_EQ(chat.messages(1).role(), inference::v1::CHAT_ROLE_USER);
  EXPECT_EQ(chat.messages(1).content(), "Hi");
  EXPECT_EQ(chat.format(), "chatml");
}

TEST_F(VerbsOfServerTest, ASuffixLeavesAGapOfTheNewTokens) {
  ASSERT_EQ(Run({"run", "Once", "--suffix", " end.", "--max-tokens", "9"}), 0) << err_.str();
  const auto& parts = completions_.asked.infill().parts();
  ASSERT_EQ(parts.size(), 3);
  EXPECT_EQ(parts[0].text(), "Once");
  EXPECT_EQ(parts[1].gap(), 9U);
  EXPECT_EQ(parts[2].text(), " end.");
  EXPECT_FALSE(completions_.asked.sampling().has_max_tokens()) << "the gap says it";
  ASSERT_EQ(Run({"run", "Once", "--suffix", " end."}), 0) << err_.str();
  EXPECT_EQ(completions_.asked.infill().parts(1).gap(), 64U);
}

TEST_F(VerbsOfServerTest, EmbedPrintsTheEmbeddingOfItsText) {
  ASSERT_EQ(Run({"embed", "four"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "4 tokens, 2 dimensions\n0.500000\n-0.500000\n");
}

TEST_F(VerbsOfServerTest, WatchPrintsChangesAndNamesTheirLog) {
  ASSERT_EQ(Run({"pattern", "watch", "--after", "4", "--log", "0a1b"}), 0) << err_.str();
  EXPECT_EQ(changes_.asked.after_sequence(), 4U);
  EXPECT_EQ(changes_.asked.log_id(), "0a1b");
  EXPECT_EQ(out_.str(),
            "watching behind change 4 of log 0a1b\n"
            "5  2026-11-21 19:00:00  put     70  task -  quality 0.00  tier public  adapter -\n");
}

}  // namespace
}  // namespace ruvd::cli
