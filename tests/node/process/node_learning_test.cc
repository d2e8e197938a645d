// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what operators and clients see of learning: changes and their undo, pauses, rounds,
// lessons.

#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>

#include <future>
#include <sstream>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "inference/adapter/adapter_bytes.h"
#include "node/client/client.h"
#include "node/program/program.h"
#include "tests/node/node_fixture.h"
#include "tests/node/stream_result.h"

namespace ruvd::node {
namespace {

using google::protobuf::util::TimeUtil;
using learning::v1::LearningService;

constexpr char kWanted[] = " counted the ships every evening and wrote their names in a book.";

class NodeLearningTest : public NodeTest {
 protected:
  template <typename Request, typename Response>
  using Method = grpc::Status (LearningService::Stub::*)(grpc::ClientContext*, const Request&,
                                                         Response*);
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(Method<Request, Response> method, const Request& request) {
    const auto stub = LearningService::NewStub(channel_);
    grpc::ClientContext context;
    Response response;
    RETURN_IF_ERROR(api::FromRpcStatus((stub.get()->*method)(&context, request, &response)));
    return response;
  }
  absl::StatusOr<learning::v1::UndoResponse> Undo(const std::string& token) {
    learning::v1::UndoRequest request;
    request.set_undo_token(token);
    return Call(&LearningService::Stub::Undo, request);
  }
  std::vector<learning::v1::Change> Changes() {
    const auto response = Call(&LearningService::Stub::ListChanges,
                               learning::v1::ListChangesRequest::default_instance());
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? std::vector<learning::v1::Change>{response->changes().begin(),
                                                             response->changes().end()}
                         : std::vector<learning::v1::Change>{};
  }
  absl::StatusOr<learning::v1::BackgroundResult> RunBackground() {
    grpc::ClientContext context;
    const auto stub = LearningService::NewStub(channel_);
    return test::ResultOf(stub->RunBackground(&context, learning::v1::RunBackgroundRequest()));
  }
  learning::v1::LearningStatus LearningNow() {
    return Call(&LearningService::Stub::GetLearningStatus,
                learning::v1::GetLearningStatusRequest::default_instance())
        .value()
        .status();
  }
  learning::v1::SubmitFeedbackRequest Edit(const std::string& text) {
    auto generate = Request("The lighthouse keeper", 8);
    generate.set_session_id("s");
    generate.set_session_memory(true);
    const Completion completion = Generate(generate);
    EXPECT_TRUE(completion.status.ok()) << completion.status;
    learning::v1::SubmitFeedbackRequest request;
    request.set_response_id(completion.finished.response_id());
    request.set_edited_text(text);
    return request;
  }
};

// Cores learn less of a single lesson, and a node without peers shares nothing.
TEST_F(NodeLearningTest, ANodeByItselfLearnsLoras) {
  Start();
  learning::v1::SubmitFeedbackResponse response;
  ASSERT_TRUE(Rate(Edit(kWanted), &response).ok());
  ASSERT_TRUE(response.learned()) << response.explanation();
  const auto exported =
      client::NodeClient(node_->api_address()).ExportPattern(response.pattern_id());
  ASSERT_TRUE(exported.ok()) << exported.status();
  const auto adapter = inference::DecodeAdapter(AsBytes(exported->adapter));
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  EXPECT_NE((*adapter)->kind, inference::AdapterKind::kCore);
}

TEST_F(NodeLearningTest, ACorrectionSaysWhatItChangedAndAllOfItIsUndone) {
  Start();
  learning::v1::SubmitFeedbackResponse response;
  ASSERT_TRUE(Rate(Edit(kWanted), &response).ok());
  ASSERT_TRUE(response.learned()) << response.explanation();
  ASSERT_EQ(response.changes_size(), 2) << "its session and a pattern";
  EXPECT_EQ(response.changes(0).loop(), learning::v1::LEARNING_LOOP_INSTANT);
  EXPECT_EQ(response.changes(0).session_id(), "s");
  EXPECT_EQ(response.changes(1).loop(), learning::v1::LEARNING_LOOP_BACKGROUND);
  EXPECT_EQ(response.changes(1).pattern_id(), response.pattern_id());
  EXPECT_EQ(response.changes(1).version(), response.adapter_version());
  EXPECT_EQ(response.undo_token(), response.changes(1).undo_token());
  EXPECT_GT(TimeUtil::DurationToMicroseconds(response.learned_in()), 0);
  ASSERT_EQ(Changes().size(), 2u);
  EXPECT_TRUE(Changes()[0].can_be_undone());

  ASSERT_TRUE(Undo(response.undo_token()).ok());
  EXPECT_EQ(Status().patterns().stored(), 0u);
  EXPECT_TRUE(Changes()[0].has_undo_time());
  EXPECT_EQ(ReasonOf(Undo(response.undo_token()).status()), "CANNOT_UNDO");
  const auto other = Undo(Changes()[1].undo_token());
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->change().kind(), learning::v1::CHANGE_KIND_SESSION_TAUGHT);
  EXPECT_EQ(ReasonOf(Undo("7-00000000").status()), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(Undo("seven").status()), reasons::kInvalidArgument);
}

// A call without a token undid the newest change, so that a caller who repeated it after a lost
// answer undid one more.
TEST_F(NodeLearningTest, UndoIsNotRepeated) {
  Start();
  learning::v1::SubmitFeedbackResponse response;
  ASSERT_TRUE(Rate(Edit(kWanted), &response).ok());
  ASSERT_EQ(Changes().size(), 2u);
  EXPECT_EQ(ReasonOf(Undo("").status()), reasons::kInvalidArgument);
  const std::string newest = Changes()[0].undo_token();
  ASSERT_TRUE(Undo(newest).ok());
  EXPECT_EQ(ReasonOf(Undo(newest).status()), "CANNOT_UNDO");
  EXPECT_FALSE(Changes()[1].has_undo_time());
}

TEST_F(NodeLearningTest, ChangesAreListedInPages) {
  Start();
  learning::v1::SubmitFeedbackResponse response;
  ASSERT_TRUE(Rate(Edit(kWanted), &response).ok());
  ASSERT_EQ(response.changes_size(), 2);
  learning::v1::ListChangesRequest request;
  request.set_page_size(1);
  const auto newest = Call(&LearningService::Stub::ListChanges, request);
  ASSERT_TRUE(newest.ok()) << newest.status();
  ASSERT_EQ(newest->changes_size(), 1);
  EXPECT_EQ(newest->changes(0).undo_token(), response.changes(1).undo_token());
  request.set_page_token(newest->next_page_token());
  const auto oldest = Call(&LearningService::Stub::ListChanges, request);
  ASSERT_TRUE(oldest.ok()) << oldest.status();
  ASSERT_EQ(oldest->changes_size(), 1);
  EXPECT_EQ(oldest->changes(0).undo_token(), response.changes(0).undo_token());
  EXPECT_EQ(oldest->next_page_token(), "");
}

TEST_F(NodeLearningTest, TheVerbsShowWhatIsLearnedUndoItAndSayWhatIsMissing) {
  Start();
  std::ostringstream out;
  std::ostringstream err;
  const auto run = [&](std::vector<std::string> arguments) {
    out.str("");
    err.str("");
    cli::CommandContext context{.out = out, .err = err, .environment = {}};
    arguments.insert(arguments.end(), {"--server", node_->api_address()});
    return RunProgram(arguments, context);
  };
  learning::v1::SubmitFeedbackResponse response;
  ASSERT_TRUE(Rate(Edit(kWanted), &response).ok());
  ASSERT_TRUE(response.learned()) << response.explanation();
  EXPECT_EQ(run({"learn", "changes"}), 0) << err.str();
  EXPECT_THAT(out.str(), testing::HasSubstr(response.undo_token()));
  EXPECT_EQ(run({"undo", response.undo_token()}), 0) << err.str();
  EXPECT_THAT(out.str(), testing::HasSubstr("undone: " + response.undo_token()));
  EXPECT_EQ(run({"undo", response.undo_token()}), 1);
  EXPECT_THAT(err.str(), testing::HasSubstr("CANNOT_UNDO"));
  EXPECT_EQ(run({"undo", "--last"}), 0) << err.str();
  EXPECT_EQ(Changes()[1].kind(), learning::v1::CHANGE_KIND_SESSION_TAUGHT);
  EXPECT_TRUE(Changes()[1].has_undo_time());
  EXPECT_EQ(run({"undo", "--last"}), 1);
  EXPECT_THAT(err.str(), testing::HasSubstr("no change that the node lists can be undone"));
  // Found by use: losses of 0.0000 were shown where nothing had been trained.
  EXPECT_EQ(run({"learn", "run-deep"}), 0) << err.str();
  EXPECT_THAT(out.str(), testing::HasSubstr("too few lessons: a deep round needs 16 completions"));
  EXPECT_THAT(out.str(), testing::Not(testing::HasSubstr("0.0000")));
  EXPECT_EQ(run({"learn", "pause"}), 0) << err.str();
  EXPECT_THAT(out.str(), testing::HasSubstr("learning: paused"));
  EXPECT_EQ(run({"learn", "run-background"}), 1);
  EXPECT_THAT(err.str(), testing::HasSubstr("`ruvd learn resume`"));
  EXPECT_EQ(run({"learn", "resume"}), 0) << err.str();
}

TEST_F(NodeLearningTest, APatternIsUndoneAfterARestartWhatASessionForgotIsNot) {
  Start();
  learning::v1::SubmitFeedbackResponse response;
  ASSERT_TRUE(Rate(Edit(kWanted), &response).ok());
  ASSERT_EQ(response.changes_size(), 2);
  Restart();
  EXPECT_EQ(Changes().size(), 1u);
  EXPECT_EQ(ReasonOf(Undo(response.changes(0).undo_token()).status()), reasons::kNotFound);
  EXPECT_TRUE(Undo(response.undo_token()).ok());
  EXPECT_EQ(Status().patterns().stored(), 0u);
}

TEST_F(NodeLearningTest, APauseEndsTheRoundThatRunsAndSurvivesARestart) {
  tuning_.background.training.steps = 10'000;  // hours
  Start();
  const auto edit = Edit(kWanted);
  auto waiting = std::async(std::launch::async, [&] {
    learning::v1::SubmitFeedbackResponse response;
    EXPECT_TRUE(Rate(edit, &response).ok());
    return response;
  });
  while (!LearningNow().round_running()) {
    std::this_thread::yield();
  }
  const auto paused = Call(&LearningService::Stub::PauseLearning,
                           learning::v1::PauseLearningRequest::default_instance());
  ASSERT_TRUE(paused.ok()) << paused.status();
  EXPECT_TRUE(paused->status().paused());
  const auto response = waiting.get();
  EXPECT_FALSE(response.learned());
  EXPECT_THAT(response.explanation(), testing::HasSubstr("paused"));
  EXPECT_EQ(LearningNow().lessons_waiting(), 1u);
  ASSERT_TRUE(node_->Drain(kDrain).ok());
  node_.reset();
  tuning_.background.training.steps = 2;
  Start();
  EXPECT_TRUE(LearningNow().paused());
  EXPECT_EQ(ReasonOf(RunBackground().status()), "LEARNING_PAUSED");
  const auto resumed = Call(&LearningService::Stub::ResumeLearning,
                            learning::v1::ResumeLearningRequest::default_instance());
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_FALSE(resumed->status().paused());
  const auto summary = RunBackground();
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_GT(LearningNow().rounds(), 0u);
  EXPECT_EQ(LearningNow().lessons_waiting(), 0u);
}

TEST_F(NodeLearningTest, LessonsAreListedInPagesWithWhatUsersSaid) {
  config_.learning.enabled = false;
  Start();
  std::vector<std::string> responses;
  for (const char* text : {" one", " two", " three"}) {
    auto edit = Edit(text);
    (*edit.mutable_metadata())["client"] = "editor";
    responses.push_back(edit.response_id());
    learning::v1::SubmitFeedbackResponse response;
    ASSERT_TRUE(Rate(edit, &response).ok());
  }
  auto regenerated = Edit("");
  regenerated.set_regenerated(true);
  learning::v1::SubmitFeedbackResponse ignored;
  ASSERT_TRUE(Rate(regenerated, &ignored).ok());
  learning::v1::ListLessonsRequest request;
  request.set_page_size(2);
  const auto first = Call(&LearningService::Stub::ListLessons, request);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->lessons_size(), 2);
  EXPECT_EQ(first->lessons(0).text(), " one");
  EXPECT_TRUE(first->lessons(0).edited());
  EXPECT_EQ(first->lessons(0).metadata().at("client"), "editor");
  ASSERT_FALSE(first->next_page_token().empty());
  request.set_page_token(first->next_page_token());
  const auto second = Call(&LearningService::Stub::ListLessons, request);
  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_EQ(second->lessons_size(), 1);
  EXPECT_EQ(second->lessons(0).response_id(), responses[2]);
  EXPECT_EQ(second->next_page_token(), "");
  request.set_page_token("nonsense");
  const absl::Status stale = Call(&LearningService::Stub::ListLessons, request).status();
  EXPECT_EQ(ReasonOf(stale), reasons::kInvalidArgument);
  EXPECT_THAT(MessageOf(stale), testing::HasSubstr("page_token"));
}

TEST_F(NodeLearningTest, RefusesSignalsThatSayNothingAndTooMuchMetadata) {
  config_.learning.enabled = false;
  Start();
  auto request = Edit("");
  learning::v1::SubmitFeedbackResponse response;
  EXPECT_EQ(ReasonOf(Rate(request, &response)), reasons::kInvalidArgument);
  request.set_copied(false);
  EXPECT_EQ(ReasonOf(Rate(request, &response)), reasons::kInvalidArgument);
  request.set_copied(true);
  (*request.mutable_metadata())["client"] = std::string(10'000, 'x');
  EXPECT_EQ(ReasonOf(Rate(request, &response)), reasons::kLimitExceeded);
  (*request.mutable_metadata())["client"] = "editor";
  EXPECT_TRUE(Rate(request, &response).ok());
}

}  // namespace
}  // namespace ruvd::node
