// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a client of the API can rely on: models, embeddings in lists, answers that say what they
// came from, long work as streams, and files in pieces.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "inference/model/model.h"
#include "node/limits.h"
#include "node/openai/limits.h"
#include "node/openai/reasons.h"
#include "node/reasons.h"
#include "ruvd/adapter/v1/adapter.grpc.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/node/v1/node.grpc.pb.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns the field that an error is about; "" if it names none.
std::string FieldOfCall(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  for (const auto& any : details.details()) {
    if (google::rpc::BadRequest bad; any.UnpackTo(&bad)) {
      return bad.field_violations(0).field();
    }
  }
  return "";
}

class NodeApiTest : public NodeTest {
 protected:
  grpc::Status Embed(const inference::v1::EmbedRequest& request,
                     inference::v1::EmbedResponse* response) {
    grpc::ClientContext context;
    return inference::v1::InferenceService::NewStub(channel_)->Embed(&context, request, response);
  }
  // Sends a file in pieces of `piece` bytes, and says that it has `said` bytes.
  absl::StatusOr<adapter::v1::ImportAdapterResponse> Import(std::string_view file, size_t piece,
                                                            size_t said) {
    grpc::ClientContext context;
    adapter::v1::ImportAdapterResponse response;
    const auto stub = adapter::v1::AdapterService::NewStub(channel_);
    const auto writer = stub->ImportAdapter(&context, &response);
    adapter::v1::ImportAdapterRequest request;
    request.mutable_file()->set_bytes(said);
    bool open = writer->Write(request);
    for (size_t begin = 0; open && begin < file.size(); begin += piece) {
      request.set_data(std::string(file.substr(begin, piece)));
      open = writer->Write(request);
    }
    writer->WritesDone();
    RETURN_IF_ERROR(api::FromRpcStatus(writer->Finish()));
    return response;
  }
  // Receives a file, and counts its messages.
  std::string Export(const std::string& name, size_t* messages) {
    grpc::ClientContext context;
    adapter::v1::ExportAdapterRequest request;
    request.mutable_adapter()->set_name(name);
    const auto stub = adapter::v1::AdapterService::NewStub(channel_);
    const auto reader = stub->ExportAdapter(&context, request);
    std::string file;
    adapter::v1::ExportAdapterResponse response;
    for (*messages = 0; reader->Read(&response); ++*messages) {
      EXPECT_LE(response.data().size(), limits::kMaxChunkBytes);
      file += response.data();
    }
    EXPECT_TRUE(reader->Finish().ok());
    EXPECT_EQ(response.total_bytes(), file.size());
    return file;
  }
  // A file of some megabytes.
  std::string LargeAdapter() {
    const auto model = inference::Model::Load(kSmallModel).value();
    Random random(1);
    inference::Adapter adapter;
    adapter.model_hash = model->hash();
    for (int layer = 0; layer < model->config().layers; ++layer) {
      for (const char* const name : {"ffn_up", "ffn_gate", "ffn_down", "attn_output"}) {
        const std::string target = fmt::format("blk.{}.{}.weight", layer, name);
        const inference::Matrix& matrix = *inference::FindMatrix(*model, target);
        inference::LowRank change{.rank = 32, .in = matrix.columns, .out = matrix.rows};
        change.scale = 1;
        change.a.resize(static_cast<size_t>(change.rank) * static_cast<size_t>(change.in));
        change.b.resize(static_cast<size_t>(change.rank) * static_cast<size_t>(change.out));
        for (std::vector<float>* values : {&change.a, &change.b}) {
          for (float& value : *values) {
            value = static_cast<float>(random.Normal() * 0.01);
          }
        }
        adapter.targets.emplace(target, std::move(change));
      }
    }
    adapter.name = "large";
    adapter.version = 1;
    return inference::SerializeAdapterFile(adapter, *model).value();
  }
};

TEST_F(NodeApiTest, AModelSaysWhatItCanDo) {
  Start();
  const auto stub = node::v1::NodeService::NewStub(channel_);
  node::v1::ListModelsResponse list;
  grpc::ClientContext first;
  ASSERT_TRUE(stub->ListModels(&first, {}, &list).ok());
  ASSERT_EQ(list.models_size(), 1);
  node::v1::GetModelRequest request;
  request.set_name(list.models(0).name());
  node::v1::GetModelResponse response;
  grpc::ClientContext second;
  ASSERT_TRUE(stub->GetModel(&second, request, &response).ok());
  const node::v1::Model& model = response.model();
  EXPECT_EQ(model.SerializeAsString(), list.models(0).SerializeAsString());
  EXPECT_EQ(model.context_length(), 512u);
  EXPECT_EQ(model.vocabulary(), 8192u);
  EXPECT_EQ(model.package(), Status().node().model_package());
  EXPECT_THAT(model.modes(), ElementsAre(inference::v1::DECODING_MODE_DIFFUSION,
                                         inference::v1::DECODING_MODE_BLOCK,
                                         inference::v1::DECODING_MODE_AUTOREGRESSIVE));
  for (const auto mode : model.modes()) {  // what it says is so
    auto completion = Request("The river", 2);
    completion.mutable_sampling()->set_mode(static_cast<inference::v1::DecodingMode>(mode));
    EXPECT_TRUE(Generate(completion).status.ok());
  }
  EXPECT_THAT(model.samplers(), ::testing::Contains("low_confidence"));
}

TEST_F(NodeApiTest, AnotherModelIsUnknownInEveryCall) {
  Start();
  auto generate = Request("The river", 2);
  generate.set_model("gpt-4");
  EXPECT_EQ(ReasonOf(Generate(generate).status), reasons::kModelUnknown);
  generate.set_model(Status().node().model());
  EXPECT_TRUE(Generate(generate).status.ok());
  inference::v1::EmbedRequest embed;
  embed.set_model("gpt-4");
  embed.add_texts("x");
  inference::v1::EmbedResponse embedded;
  const grpc::Status status = Embed(embed, &embedded);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(FieldOfCall(status), "model");
  inference::v1::ScoreRequest score;
  score.set_model("gpt-4");
  score.set_completion("x");
  inference::v1::ScoreResponse scored;
  grpc::ClientContext first;
  const auto stub = inference::v1::InferenceService::NewStub(channel_);
  EXPECT_EQ(stub->Score(&first, score, &scored).error_code(), grpc::StatusCode::NOT_FOUND);
  inference::v1::TokenizeRequest tokenize;
  tokenize.set_model("gpt-4");
  inference::v1::TokenizeResponse tokens;
  grpc::ClientContext second;
  EXPECT_EQ(stub->Tokenize(&second, tokenize, &tokens).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(NodeApiTest, AListOfTextsIsEmbeddedAsEachAlone) {
  Start();
  const std::vector<std::string> texts = {"the river", "a bridge of stone", "x"};
  const auto together = NodeTest::Embed(texts);
  ASSERT_TRUE(together.ok()) << together.status();
  ASSERT_EQ(together->embeddings_size(), 3);
  EXPECT_EQ(together->model_package(), Status().node().model_package());
  for (int i = 0; i < 3; ++i) {
    const auto alone = NodeTest::Embed({texts[static_cast<size_t>(i)]});
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(alone->embeddings(0).SerializeAsString(),
              together->embeddings(i).SerializeAsString());
  }
}

TEST_F(NodeApiTest, AListOfTextsHasALimitAndNamesTheWrongOne) {
  Start();
  inference::v1::EmbedResponse response;
  EXPECT_EQ(FieldOfCall(Embed({}, &response)), "texts");
  inference::v1::EmbedRequest many;
  for (size_t i = 0; i <= limits::kMaxEmbeddingInputs; ++i) {
    many.add_texts("x");
  }
  EXPECT_EQ(FieldOfCall(Embed(many, &response)), "texts");
  inference::v1::EmbedRequest request;
  request.add_texts("short");
  std::string words;
  for (int i = 0; i < 2000; ++i) {
    words += "river ";
  }
  request.add_texts(words);
  EXPECT_EQ(FieldOfCall(Embed(request, &response)), "texts[1]");
}

TEST_F(NodeApiTest, AnAnswerSaysWhatItCameFrom) {
  Start();
  auto request = Request("The river runs", 6);
  request.mutable_sampling()->set_seed(7);
  request.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_DIFFUSION);
  request.mutable_sampling()->set_sampler("margin");
  const Completion completion = Generate(request);
  ASSERT_TRUE(completion.status.ok()) << completion.status;
  EXPECT_EQ(completion.started.model(), Status().node().model());
  EXPECT_EQ(completion.started.model_package(), Status().node().model_package());
  EXPECT_EQ(completion.finished.seed(), 7u);
  EXPECT_EQ(completion.finished.mode(), inference::v1::DECODING_MODE_DIFFUSION);
  EXPECT_EQ(completion.finished.sampler(), "margin");
  EXPECT_EQ(completion.finished.usage().prompt_tokens(), completion.started.prompt_tokens());
  EXPECT_GT(completion.finished.usage().completion_tokens(), 0u);
  EXPECT_GE(completion.finished.duration().seconds(), 0);
}

// A second request with the same prompt finds the keys and values of the first.
TEST_F(NodeApiTest, UsageSaysWhatTheCacheHeld) {
  Start();
  std::string prompt;
  for (int i = 0; i < 40; ++i) {
    prompt += " the river runs to the sea";
  }
  auto request = Request(prompt, 2);
  request.mutable_adapters()->set_disabled(true);
  request.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_AUTOREGRESSIVE);
  const Completion first = Generate(request);
  ASSERT_TRUE(first.status.ok()) << first.status;
  EXPECT_EQ(first.finished.usage().cached_tokens(), 0u);
  const Completion second = Generate(request);
  EXPECT_GT(second.finished.usage().cached_tokens(), 100u);
  EXPECT_LE(second.finished.usage().cached_tokens(), second.finished.usage().prompt_tokens());
}

TEST_F(NodeApiTest, FramesSayBlockBankAndAdapters) {
  Start();
  ASSERT_TRUE(Import(LargeAdapter(), 100'000, LargeAdapter().size()).ok());
  auto request = Request("The river runs", 40);
  request.set_stream_frames(true);
  request.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_BLOCK);
  request.mutable_sampling()->set_block_length(16);
  request.mutable_sampling()->set_ignore_end_of_text(true);
  auto* const chosen = request.mutable_adapters()->add_chosen();
  chosen->set_name("large");
  chosen->set_weight(0.5F);
  const Completion completion = Generate(request);
  ASSERT_TRUE(completion.status.ok()) << completion.status;
  ASSERT_FALSE(completion.frames.empty());
  EXPECT_EQ(completion.frames.front().block(), 0u);
  EXPECT_GE(completion.frames.back().block(), 2u);
  for (const inference::v1::DenoiseFrame& frame : completion.frames) {
    EXPECT_LE(frame.bank(), 2u);
    ASSERT_EQ(frame.adapters_size(), 1);
    EXPECT_EQ(frame.adapters(0).name(), "large");
    EXPECT_FLOAT_EQ(frame.adapters(0).weight(), 0.5F);
  }
}

TEST_F(NodeApiTest, AZeroThatMeansNothingIsRefusedByName) {
  Start();
  const auto field_of = [this](const std::function<void(inference::v1::SamplingOptions*)>& set) {
    inference::v1::GenerateRequest request;
    request.set_prompt("x");
    set(request.mutable_sampling());
    grpc::ClientContext context;
    const auto reader =
        inference::v1::InferenceService::NewStub(channel_)->Generate(&context, request);
    inference::v1::GenerateResponse response;
    while (reader->Read(&response)) {
    }
    return FieldOfCall(reader->Finish());
  };
  EXPECT_EQ(field_of([](auto* s) { s->set_max_tokens(0); }), "sampling.max_tokens");
  EXPECT_EQ(field_of([](auto* s) { s->set_steps(0); }), "sampling.steps");
  EXPECT_EQ(field_of([](auto* s) { s->set_confidence_threshold(0); }),
            "sampling.confidence_threshold");
  EXPECT_EQ(field_of([](auto* s) { s->set_top_p(7); }), "sampling.top_p");
  // What contradicts another option is found out by the engine only.
  EXPECT_EQ(field_of([](auto* s) { s->set_top_p(0.5F); }), "sampling.top_p");
}

TEST_F(NodeApiTest, AnAdapterOfMegabytesTravelsInPieces) {
  Start();
  const std::string file = LargeAdapter();
  ASSERT_GT(file.size(), 1u << 20);
  const auto imported = Import(file, 100'000, file.size());
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->adapter().name(), "large");
  size_t messages = 0;
  EXPECT_EQ(Export("large", &messages), file);
  EXPECT_GT(messages, 4u);
}

TEST_F(NodeApiTest, AnUploadThatBreaksOffStoresNothing) {
  Start();
  const std::string file = LargeAdapter();
  const std::string_view half = std::string_view(file).substr(0, file.size() / 2);
  const absl::Status cut = Import(half, 100'000, file.size()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(cut)) << cut;
  EXPECT_THAT(MessageOf(cut), HasSubstr("fewer bytes arrived"));
  EXPECT_THAT(MessageOf(Import(file, 100'000, file.size() - 1).status()),
              HasSubstr("more bytes arrived"));
  EXPECT_EQ(ReasonOf(Import("x", 1, limits::kMaxImportedAdapterBytes + 1).status()),
            reasons::kLimitExceeded);
  adapter::v1::ListAdaptersResponse list;
  grpc::ClientContext context;
  ASSERT_TRUE(
      adapter::v1::AdapterService::NewStub(channel_)->ListAdapters(&context, {}, &list).ok());
  EXPECT_EQ(list.adapters_size(), 0);
  EXPECT_TRUE(Import(file, 1 << 20, file.size()).ok()) << "places are free again";
}

TEST_F(NodeApiTest, ADownloadThatIsLeftFreesItsPlace) {
  Start();
  const std::string file = LargeAdapter();
  ASSERT_TRUE(Import(file, 1 << 20, file.size()).ok());
  const auto stub = adapter::v1::AdapterService::NewStub(channel_);
  for (size_t i = 0; i < 3 * limits::kMaxDownloads; ++i) {
    grpc::ClientContext context;
    adapter::v1::ExportAdapterRequest request;
    request.mutable_adapter()->set_name("large");
    const auto reader = stub->ExportAdapter(&context, request);
    adapter::v1::ExportAdapterResponse response;
    reader->Read(&response);
    context.TryCancel();
    reader->Finish();
  }
  // The node hears a little later that a caller left.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::string again;
  while (again != file && std::chrono::steady_clock::now() < end) {
    grpc::ClientContext context;
    adapter::v1::ExportAdapterRequest request;
    request.mutable_adapter()->set_name("large");
    const auto reader = stub->ExportAdapter(&context, request);
    adapter::v1::ExportAdapterResponse response;
    again.clear();
    while (reader->Read(&response)) {
      again += response.data();
    }
    reader->Finish();
  }
  EXPECT_EQ(again, file);
}

TEST_F(NodeApiTest, ABackupTellsItsNameAndItsResult) {
  Start();
  node::v1::BackUpStoreRequest request;
  request.set_name("first");
  grpc::ClientContext context;
  const auto reader = node::v1::StoreService::NewStub(channel_)->BackUpStore(&context, request);
  node::v1::BackUpStoreResponse response;
  std::optional<node::v1::BackUpResult> result;
  while (reader->Read(&response)) {
    EXPECT_FALSE(result.has_value()) << "the result is the last message";
    if (response.has_result()) {
      result = response.result();
    } else {
      EXPECT_EQ(response.progress().name(), "first");
    }
  }
  ASSERT_TRUE(reader->Finish().ok());
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(result->folder(), HasSubstr("first"));
  EXPECT_GT(result->files(), 0u);
  EXPECT_TRUE(fs::exists(result->folder()));
}

TEST_F(NodeApiTest, TwoCallersOfADeepRoundGetOneResult) {
  Start();
  const auto run = [this] {
    grpc::ClientContext context;
    const auto stub = learning::v1::LearningService::NewStub(channel_);
    const auto reader = stub->RunDeep(&context, {});
    learning::v1::RunDeepResponse response;
    std::string result;
    while (reader->Read(&response)) {
      if (response.has_result()) {
        result = response.result().SerializeAsString();
      }
    }
    EXPECT_TRUE(reader->Finish().ok());
    return result;
  };
  auto other = std::async(std::launch::async, run);
  const std::string mine = run();
  learning::v1::DeepResult result;
  ASSERT_TRUE(result.ParseFromString(mine));
  EXPECT_EQ(result.outcome(), learning::v1::DEEP_OUTCOME_TOO_FEW_LESSONS);
  EXPECT_EQ(other.get(), mine);
}

TEST_F(NodeApiTest, ABackgroundRoundEndsWithItsResult) {
  Start();
  const auto stub = learning::v1::LearningService::NewStub(channel_);
  grpc::ClientContext context;
  const auto reader = stub->RunBackground(&context, {});
  learning::v1::RunBackgroundResponse response;
  bool result = false;
  while (reader->Read(&response)) {
    EXPECT_FALSE(result) << "the result is the last message";
    result = response.has_result();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_TRUE(result);
}

}  // namespace
}  // namespace ruvd::node
