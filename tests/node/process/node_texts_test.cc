// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a node takes texts, learns from them, and lets go of them.

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "node/client/client.h"
#include "node/program/program.h"
#include "node/serving/served_adapters.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "tests/node/node_fixture.h"
#include "tests/node/wait_until.h"

namespace ruvd::node {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class NodeTextsTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    texts_ = folder_ / "texts";
  }
  // Sentences that differ from each other and between documents.
  static std::string Document(const std::string& topic, int sentences) {
    std::string text = "# About " + topic + "\n\n";
    for (int i = 0; i < sentences; ++i) {
      text += "The " + topic + " of house " + std::to_string(i) + " is checked on day " +
              std::to_string(i * 7 % 31) + " and its keeper writes the result into the book. ";
    }
    return text;
  }
  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((texts_ / name).parent_path());
    std::ofstream(texts_ / name, std::ios::binary) << text;
  }
  int Ruvd(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    arguments.insert(arguments.end(), {"--server", node_->api_address()});
    cli::CommandContext context{.out = out_, .err = err_, .environment = {}};
    return RunProgram(arguments, context);
  }
  learning::v1::ListLessonSourcesResponse Sources() {
    return client::NodeClient(node_->api_address())
        .Call<learning::v1::ListLessonSourcesResponse>(learning::v1::ListLessonSourcesRequest())
        .value();
  }
  fs::path texts_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(NodeTextsTest, AFolderIsAddedListedAndWithdrawn) {
  Write("a/boiler.md", Document("boiler", 20));
  Write("pump.txt", Document("pump", 10));
  Write("photo.jpg", "no text");
  Write(".hidden/secret.txt", Document("secret", 10));
  Start();
  ASSERT_EQ(Ruvd({"learn", "add", texts_.string(), "--user", "ada", "--tier", "masked"}), 0)
      << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("a/boiler.md"), HasSubstr("pump.txt"),
                                HasSubstr("1 file(s) of other kinds were left out")));
  EXPECT_THAT(out_.str(), testing::Not(HasSubstr("secret")));
  const auto sources = Sources();
  ASSERT_EQ(sources.sources_size(), 2);
  EXPECT_EQ(sources.sources(0).user_id(), "ada");
  EXPECT_EQ(sources.sources(0).tier(), privacy::v1::SHARING_TIER_MASKED);
  EXPECT_TRUE(sources.sources(0).complete());

  ASSERT_EQ(Ruvd({"learn", "add", texts_.string(), "--user", "ada"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("0 lesson(s) added")) << "the user has all of them";
  ASSERT_EQ(Ruvd({"learn", "lessons", "--user", "ada"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("The pump of house 0"));

  Restart();
  ASSERT_EQ(Sources().sources_size(), 2);
  ASSERT_EQ(Ruvd({"learn", "withdraw", "--source", Sources().sources(0).source_id()}), 0)
      << err_.str();
  EXPECT_EQ(Sources().sources_size(), 1);
  ASSERT_EQ(Ruvd({"learn", "withdraw", "--user", "ada"}), 0) << err_.str();
  EXPECT_EQ(Sources().sources_size(), 0);
  EXPECT_EQ(Ruvd({"learn", "withdraw", "--user", "ada"}), 1);
}

TEST_F(NodeTextsTest, ARefusedFileIsNamedAndTheOthersAreTaken) {
  Write("bad.txt", std::string("text\0binary", 11));
  Write("good.txt", Document("pump", 10));
  Start();
  EXPECT_EQ(Ruvd({"learn", "add", texts_.string()}), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("bad.txt"), HasSubstr("byte 4 is zero")));
  ASSERT_EQ(Sources().sources_size(), 1);
  EXPECT_EQ(Sources().sources(0).name(), "good.txt");
  EXPECT_EQ(Ruvd({"learn", "add", (texts_ / "missing.txt").string()}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("FILE_NOT_FOUND"));
  Write("letter.docx", "x");
  EXPECT_EQ(Ruvd({"learn", "add", (texts_ / "letter.docx").string()}), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("letter.docx"), HasSubstr("*.md")));
}

// The first file is there before, the second appears, and the first changes.
TEST_F(NodeTextsTest, AWatchedFolderIsSentAsItChanges) {
  Write("pump.txt", Document("pump", 10));
  Start();
  std::thread person([&] {
    EXPECT_TRUE(test::WaitUntil([&] { return Sources().sources_size() == 1; }));
    Write("ward/boiler.md", Document("boiler", 20));
    Write("photo.jpg", "no text");
    EXPECT_TRUE(test::WaitUntil([&] { return Sources().sources_size() == 2; }));
    Write("pump.txt", Document("pump", 10) + Document("valve", 20));
  });
  EXPECT_EQ(Ruvd({"learn", "add", texts_.string(), "--user", "ada", "--watch", "--every", "0.1",
                  "--count", "3"}),
            0)
      << err_.str();
  person.join();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("ward/boiler.md: "), HasSubstr("pump.txt: ")));
  EXPECT_THAT(out_.str(), testing::Not(HasSubstr("photo")));
  ASSERT_EQ(Sources().sources_size(), 3);
  EXPECT_EQ(Ruvd({"learn", "add", (texts_ / "pump.txt").string(), "--watch"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("is not a folder"));
  EXPECT_EQ(Ruvd({"learn", "add", texts_.string(), "--count", "3"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--watch"));
}

TEST_F(NodeTextsTest, AnUploadThatBreaksOffStoresNothing) {
  Start();
  const auto stub = learning::v1::LearningService::NewStub(channel_);
  const auto add = [&](uint64_t said, const std::string& sent) {
    grpc::ClientContext context;
    learning::v1::AddLessonsResponse response;
    const auto writer = stub->AddLessons(&context, &response);
    learning::v1::AddLessonsRequest request;
    request.mutable_file()->set_name("a.txt");
    request.mutable_file()->set_bytes(said);
    writer->Write(request);
    request.set_data(sent);
    writer->Write(request);
    writer->WritesDone();
    return api::FromRpcStatus(writer->Finish());
  };
  const std::string text = Document("pump", 10);
  EXPECT_THAT(MessageOf(add(text.size() + 1, text)), HasSubstr("fewer bytes arrived"));
  EXPECT_THAT(MessageOf(add(text.size() - 1, text)), HasSubstr("more bytes arrived"));
  EXPECT_EQ(ReasonOf(add(uint64_t{1} << 40, text)), reasons::kLimitExceeded);
  EXPECT_EQ(Sources().sources_size(), 0);
  EXPECT_EQ(add(text.size(), text), absl::OkStatus());
  EXPECT_EQ(Sources().sources_size(), 1);
}

TEST_F(NodeTextsTest, ADeepRoundLearnsFromTextsAlone) {
  for (const std::string topic : {"boiler", "pump", "valve", "fan"}) {
    Write(topic + ".md", Document(topic, 30));
  }
  Start();
  ASSERT_EQ(Ruvd({"learn", "add", texts_.string()}), 0) << err_.str();
  const auto result =
      client::NodeClient(node_->api_address()).RunDeep(learning::v1::RunDeepRequest());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GE(result->lessons() + result->held_back_lessons(), 20U) << "texts alone";
  EXPECT_LT(result->held_out_loss_after(), result->held_out_loss_before() - 0.1)
      << result->outcome();
}

TEST_F(NodeTextsTest, WordsDecideWhichRequestsADeepAdapterServes) {
  for (const std::string topic : {"boiler", "pump", "valve", "fan"}) {
    Write(topic + ".md", Document(topic, 60));
  }
  Start();
  // Returns the weight with which the deep adapter began to serve; 0: it did not act. It depends on
  // the words of the prompt and not on what the model writes.
  const auto weight_of_deep = [this](const std::string& prompt) {
    inference::v1::GenerateRequest request = Request(prompt, 16);
    request.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_DIFFUSION);
    const Completion completion = Generate(request);
    EXPECT_TRUE(completion.status.ok()) << completion.status;
    for (const inference::v1::AdapterUse& use : completion.started.adapters()) {
      if (use.name() == serving::kDeepAdapter) {
        return use.weight();
      }
    }
    return 0.0F;
  };
  const std::string own = "The pump of house 77 is checked and its keeper writes the result";
  const std::string other = "Once upon a time a princess loved to dance with her kind friends";
  EXPECT_EQ(weight_of_deep(own), 0) << "nothing is learned";
  ASSERT_EQ(Ruvd({"learn", "add", texts_.string()}), 0) << err_.str();
  const auto result =
      client::NodeClient(node_->api_address()).RunDeep(learning::v1::RunDeepRequest());
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->outcome(), learning::v1::DEEP_OUTCOME_PUBLISHED);
  EXPECT_EQ(weight_of_deep(own), 1);
  EXPECT_LT(weight_of_deep(other), 0.6F);
  ASSERT_EQ(Ruvd({"adapter", "ls"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("1 by words"));
  Restart();
  EXPECT_EQ(weight_of_deep(own), 1) << "the words of its lessons are stored";
}

// Found by review: the text of a user who was erased while it arrived was stored afterwards.
TEST_F(NodeTextsTest, AFileThatArrivesDuringAnErasureIsNotStored) {
  Write("pump.txt", Document("pump", 10));
  Start();
  ASSERT_EQ(Ruvd({"learn", "add", texts_.string(), "--user", "ada"}), 0) << err_.str();
  const std::string text = Document("valve", 10);
  grpc::ClientContext context;
  learning::v1::AddLessonsResponse response;
  const auto stub = learning::v1::LearningService::NewStub(channel_);
  const auto writer = stub->AddLessons(&context, &response);
  learning::v1::AddLessonsRequest request;
  request.mutable_file()->set_name("valve.txt");
  request.mutable_file()->set_bytes(text.size());
  request.mutable_file()->set_user_id("ada");
  writer->Write(request);
  writer->WaitForInitialMetadata();
  node::v1::EraseUserRequest erase;
  erase.set_user_id("ada");
  ASSERT_TRUE(
      client::NodeClient(node_->api_address()).Call<node::v1::EraseUserResponse>(erase).ok());
  request.set_data(text);
  writer->Write(request);
  writer->WritesDone();
  EXPECT_TRUE(absl::IsAborted(api::FromRpcStatus(writer->Finish())));
  EXPECT_EQ(Sources().sources_size(), 0);
}

TEST_F(NodeTextsTest, ErasingAUserErasesTheTexts) {
  Write("pump.txt", Document("pump", 10));
  Start();
  ASSERT_EQ(Ruvd({"learn", "add", texts_.string(), "--user", "ada"}), 0) << err_.str();
  node::v1::EraseUserRequest erase;
  erase.set_user_id("ada");
  ASSERT_TRUE(
      client::NodeClient(node_->api_address()).Call<node::v1::EraseUserResponse>(erase).ok());
  EXPECT_EQ(Sources().sources_size(), 0);
  ASSERT_EQ(Ruvd({"learn", "lessons"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), testing::Not(HasSubstr("pump")));
}

}  // namespace
}  // namespace ruvd::node
