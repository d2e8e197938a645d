// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a node keeps of a user's requests, and that it can be made to forget it.

#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>

#include <set>
#include <sstream>
#include <string>

#include "node/client/client.h"
#include "node/program/program.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "ruvd/witness/v1/witness.grpc.pb.h"
#include "ruvd/witness/v1/witness.pb.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

using google::protobuf::util::TimeUtil;
using testing::HasSubstr;

constexpr char kUsersPrompt[] = "The old man walked";

class NodeUsersTest : public NodeTest {
 protected:
  std::string Say(const std::string& user, const std::string& session) {
    auto request = Request(kUsersPrompt, 8);
    request.set_user_id(user);
    request.set_session_id(session);
    const Completion completion = Generate(request);
    EXPECT_TRUE(completion.status.ok()) << completion.status;
    return completion.finished.response_id();
  }
  absl::Status Like(const std::string& response_id) {
    learning::v1::SubmitFeedbackRequest request;
    request.set_response_id(response_id);
    request.set_rating(1);
    learning::v1::SubmitFeedbackResponse response;
    return Rate(request, &response);
  }
  // Returns the ids of requests whose embeddings can still be compared.
  std::vector<std::string> Similar() {
    witness::v1::ListEntriesRequest request;
    request.set_similar_to(kUsersPrompt);
    request.set_page_size(50);
    witness::v1::ListEntriesResponse response;
    grpc::ClientContext context;
    const auto stub = witness::v1::WitnessService::NewStub(channel_);
    EXPECT_TRUE(stub->ListEntries(&context, request, &response).ok());
    std::vector<std::string> ids;
    for (const auto& hit : response.hits()) {
      ids.push_back(hit.entry().request_id());
    }
    return ids;
  }
  // Restarts the node; while it is stopped, a verb of `ruvd store` must find nothing wrong.
  void RestartBehind(const std::string& verb) {
    ASSERT_TRUE(node_->Drain(kDrain).ok());
    node_.reset();
    std::ostringstream out;
    cli::CommandContext context{.out = out, .err = out, .environment = {}};
    EXPECT_EQ(RunProgram({"store", verb, "--node.data_dir", config_.node.data_dir}, context), 0)
        << out.str();
    Start();
  }
  void Allow(const std::string& user) {
    privacy::v1::SetUserConsentRequest request;
    request.set_user_id(user);
    request.set_training(true);
    request.set_sharing(true);
    request.set_widest(privacy::v1::SHARING_TIER_DP);
    *request.mutable_lifetime() = TimeUtil::HoursToDuration(24);
    EXPECT_TRUE(client::NodeClient(node_->api_address())
                    .Call<privacy::v1::SetUserConsentResponse>(request)
                    .ok());
  }
  // Returns the names of users whose lessons may be shared.
  std::set<std::string> Agreeing() {
    std::set<std::string> users;
    const auto listed =
        client::NodeClient(node_->api_address())
            .Call<privacy::v1::ListUserConsentsResponse>(privacy::v1::ListUserConsentsRequest());
    EXPECT_TRUE(listed.ok()) << listed.status();
    for (const auto& consent : listed->consents()) {
      if (consent.sharing()) {
        users.insert(consent.user_id());
      }
    }
    return users;
  }
  void Erase(const std::string& user) {
    std::ostringstream out;
    cli::CommandContext context{.out = out, .err = out, .environment = {}};
    EXPECT_EQ(RunProgram(
                  {"store", "erase", "--running", "--user", user, "--server", node_->api_address()},
                  context),
              0)
        << out.str();
  }
};

TEST_F(NodeUsersTest, AnErasedUsersRequestsAreGoneAndNobodyElses) {
  Start();
  const std::string hers = Say("alice", "a");
  const std::string his = Say("bob", "b");
  const std::string nobodys = Say("", "");
  Restart();  // all of it is on the disk
  const std::string queued = Say("alice", "a");
  ASSERT_TRUE(Like(hers).ok());
  EXPECT_THAT(Similar(), testing::IsSupersetOf({hers, his, nobodys}));

  Erase("alice");
  for (const bool restarted : {false, true}) {
    SCOPED_TRACE(restarted ? "after a restart" : "at once");
    EXPECT_EQ(Status().store().sessions(), 1u);
    EXPECT_EQ(Status().store().trajectories(), 2u);
    const auto status = Status();  // the newest may wait to be written
    EXPECT_EQ(status.witness().stored() + status.witness().queued(), 4u)
        << "what it cost still counts";
    EXPECT_EQ(ReasonOf(Like(hers)), reasons::kUnknownResponse);
    EXPECT_EQ(ReasonOf(Like(queued)), reasons::kUnknownResponse);
    EXPECT_TRUE(Like(his).ok());
    EXPECT_TRUE(Like(nobodys).ok());
    EXPECT_THAT(Similar(), testing::UnorderedElementsAre(his, nobodys));
    for (const std::string& id : {hers, queued}) {
      witness::v1::GetEntryRequest request;
      request.set_request_id(id);
      witness::v1::GetEntryResponse entry;
      grpc::ClientContext context;
      EXPECT_TRUE(
          witness::v1::WitnessService::NewStub(channel_)->GetEntry(&context, request, &entry).ok());
    }
    RestartBehind("verify");
  }
  RestartBehind("compact");
  RestartBehind("verify");
  // A user who comes back begins again.
  const std::string again = Say("alice", "a");
  EXPECT_TRUE(Like(again).ok());
}

// Found by review: work that was under way was stored afterwards, under a new key.
TEST_F(NodeUsersTest, WhatIsUnderWayWhenItsUserIsErasedIsNotStored) {
  Start();
  Say("alice", "a");
  auto request = Request(kUsersPrompt, 256);
  request.set_user_id("alice");
  request.set_session_id("a");
  request.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_AUTOREGRESSIVE);
  request.mutable_sampling()->set_ignore_end_of_text(true);
  bool erased = false;
  const Completion completion = Generate(request, [&] {
    if (!erased) {
      erased = true;
      Erase("alice");
    }
    return true;
  });
  ASSERT_TRUE(completion.status.ok()) << completion.status;
  EXPECT_EQ(ReasonOf(Like(completion.finished.response_id())), reasons::kUnknownResponse);
  for (const bool restarted : {false, true}) {
    SCOPED_TRACE(restarted ? "after a restart" : "at once");
    EXPECT_EQ(Status().store().trajectories(), 0u);
    EXPECT_EQ(Status().store().sessions(), 0u);
    EXPECT_TRUE(Similar().empty());
    Restart();
  }
}

// Found by review: what had been learned from an erased user continued to be shared.
TEST_F(NodeUsersTest, AnErasedUsersConsentIsWithdrawn) {
  Start();
  Say("alice", "a");
  Allow("alice");
  Allow("bob");
  ASSERT_THAT(Agreeing(), testing::ElementsAre("alice", "bob"));
  Erase("alice");
  EXPECT_THAT(Agreeing(), testing::ElementsAre("bob"));
  Restart();
  EXPECT_THAT(Agreeing(), testing::ElementsAre("bob"));
  Erase("bob");  // nothing else is stored for this user
  EXPECT_THAT(Agreeing(), testing::IsEmpty());
}

TEST_F(NodeUsersTest, AUserErasedFromAStoppedStoreTakesTheConsentBack) {
  Start();
  Say("alice", "a");
  Allow("alice");
  ASSERT_TRUE(node_->Drain(kDrain).ok());
  node_.reset();
  std::ostringstream out;
  cli::CommandContext context{.out = out, .err = out, .environment = {}};
  EXPECT_EQ(
      RunProgram({"store", "erase", "--user", "alice", "--node.data_dir", config_.node.data_dir},
                 context),
      0)
      << out.str();
  Start();
  EXPECT_THAT(Agreeing(), testing::IsEmpty());
}

TEST_F(NodeUsersTest, ASessionIsOfItsFirstUserOnly) {
  Start();
  Say("alice", "shared");
  Say("bob", "shared");
  Say("", "shared");
  Restart();
  EXPECT_EQ(Status().store().sessions(), 1u);
  Erase("bob");
  EXPECT_EQ(Status().store().sessions(), 1u);
  Erase("alice");
  EXPECT_EQ(Status().store().sessions(), 0u);
}

TEST_F(NodeUsersTest, AUserIdThatIsTooLongIsRefused) {
  Start();
  auto request = Request(kUsersPrompt, 8);
  request.set_user_id(std::string(129, 'u'));
  const Completion completion = Generate(request);
  EXPECT_EQ(ReasonOf(completion.status), reasons::kInvalidArgument);
  EXPECT_THAT(MessageOf(completion.status), HasSubstr("user_id has 129 bytes; use at most 128"));
}

}  // namespace
}  // namespace ruvd::node
