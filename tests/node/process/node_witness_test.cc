// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a node remembers of its requests, over its API and its command line.

#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>

#include <sstream>

#include "node/program/program.h"
#include "ruvd/witness/v1/witness.grpc.pb.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

using testing::HasSubstr;
using testing::Not;

class NodeWitnessTest : public NodeTest {
 protected:
  using Stub = witness::v1::WitnessService::Stub;
  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    auto stub = witness::v1::WitnessService::NewStub(channel_);
    return api::FromRpcStatus((*stub.*method)(&context, request, response));
  }
  witness::v1::ListEntriesResponse List(const witness::v1::ListEntriesRequest& request) {
    witness::v1::ListEntriesResponse response;
    const absl::Status status = Call(&Stub::ListEntries, request, &response);
    EXPECT_TRUE(status.ok()) << status;
    return response;
  }
  // Returns what `ruvd` prints, errors included.
  std::string Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", node_->api_address()});
    std::ostringstream out;
    cli::CommandContext context{.out = out, .err = out, .environment = {}};
    RunProgram(arguments, context);
    return out.str();
  }
  std::string long_prompt() const {
    std::string prompt;
    for (int i = 0; i < 600; ++i) {
      prompt += " house";
    }
    return prompt;
  }
};

TEST_F(NodeWitnessTest, RequestsAreWitnessedAndTheirSessionsKept) {
  Start();
  auto request = Request("The old man walked", 12);
  request.set_session_id("s");
  const Completion first = Generate(request);
  const Completion second = Generate(request);
  ASSERT_TRUE(second.status.ok()) << second.status;
  EXPECT_FALSE(Generate(Request(long_prompt(), 8)).status.ok());

  // The entry can be read at once, although it is not on disk yet.
  witness::v1::GetEntryRequest get;
  get.set_request_id(first.finished.response_id());
  witness::v1::GetEntryResponse entry;
  ASSERT_TRUE(Call(&Stub::GetEntry, get, &entry).ok());
  EXPECT_EQ(entry.entry().session_id(), "s");
  EXPECT_EQ(entry.entry().prompt_tokens(), first.started.prompt_tokens());
  EXPECT_EQ(entry.entry().completion_tokens(), first.finished.usage().completion_tokens());
  const witness::v1::Latency& latency = entry.entry().latency();
  EXPECT_GT(latency.generation(), google::protobuf::Duration());
  EXPECT_GE(latency.total(), latency.generation());
  EXPECT_EQ(entry.entry().model(), Status().node().model());

  learning::v1::SubmitFeedbackRequest rating;
  rating.set_response_id(second.finished.response_id());
  rating.set_rating(0.25F);
  learning::v1::SubmitFeedbackResponse answer;
  ASSERT_TRUE(Rate(rating, &answer).ok());

  Restart();
  EXPECT_EQ(Status().witness().stored(), 3u);
  EXPECT_EQ(Status().store().sessions(), 1u);
  EXPECT_EQ(List({}).hits_size(), 3);
  witness::v1::ListEntriesRequest rated;
  rated.mutable_filter()->set_max_quality(0.5F);
  ASSERT_EQ(List(rated).hits_size(), 1);
  EXPECT_EQ(List(rated).hits(0).entry().request_id(), second.finished.response_id());
  witness::v1::ListEntriesRequest failed;
  failed.mutable_filter()->set_outcome(witness::v1::OUTCOME_FAILED);
  ASSERT_EQ(List(failed).hits_size(), 1);
  EXPECT_EQ(List(failed).hits(0).entry().error_reason(), reasons::kContextTooLong);
  witness::v1::ListEntriesRequest similar;
  similar.set_similar_to("The old man walked");
  similar.set_page_size(1);
  ASSERT_EQ(List(similar).hits_size(), 1);
  EXPECT_GT(List(similar).hits(0).similarity(), 0.999F);
  witness::v1::GetStatsResponse stats;
  ASSERT_TRUE(Call(&Stub::GetStats, witness::v1::GetStatsRequest(), &stats).ok());
  EXPECT_EQ(stats.entries(), 3u);
  EXPECT_EQ(stats.failed(), 1u);
  EXPECT_EQ(stats.by_error().at(reasons::kContextTooLong), 1u);
  EXPECT_GE(stats.total().max(), stats.total().p50());
}

// Found by review: this request closed the log permanently and put a user's words into it.
TEST_F(NodeWitnessTest, ANameThatIsCutInsideACharacterDoesNotCloseTheLog) {
  Start();
  auto request = Request("The old man walked", 8);
  const std::string words(63, 'w');
  request.mutable_adapters()->add_chosen()->set_name(words + "\xC3\xA9");
  EXPECT_EQ(ReasonOf(Generate(request).status), reasons::kNotFound);
  ASSERT_TRUE(Generate(Request("The old man walked", 8)).status.ok());
  Restart();
  const auto entries = List({});
  ASSERT_EQ(entries.hits_size(), 2);
  EXPECT_EQ(entries.undecodable(), 0U);
  EXPECT_EQ(entries.hits(1).entry().error_reason(), reasons::kNotFound);
  EXPECT_THAT(entries.hits(1).entry().error_message(), Not(HasSubstr("www")));
}

TEST_F(NodeWitnessTest, TheCommandLineShowsThem) {
  Start();
  const Completion completion = Generate(Request("The old man walked", 8));
  ASSERT_TRUE(completion.status.ok());
  EXPECT_FALSE(Generate(Request(long_prompt(), 8)).status.ok());
  Restart();
  const std::string id = completion.finished.response_id();
  EXPECT_THAT(Run({"witness", "ls"}), AllOf(HasSubstr(id), HasSubstr("CONTEXT_TOO_LONG")));
  EXPECT_THAT(Run({"witness", "ls", "--failed"}), Not(HasSubstr(id)));
  EXPECT_THAT(Run({"witness", "ls", "--since", "1h", "--limit", "1"}), HasSubstr("more: --page"));
  EXPECT_THAT(Run({"witness", "ls", "--since", "1x"}), HasSubstr("is not a period"));
  EXPECT_THAT(Run({"witness", "show", id}), HasSubstr("generation"));
  EXPECT_THAT(Run({"witness", "show", "nothing"}), HasSubstr("NOT_FOUND"));
  EXPECT_THAT(Run({"witness", "stats", "--interval", "1h"}),
              AllOf(HasSubstr("1 (50.0 %): CONTEXT_TOO_LONG 1"), HasSubstr("FROM (UTC)")));
  EXPECT_THAT(Run({"status"}), HasSubstr("2 stored"));
}

}  // namespace
}  // namespace ruvd::node
