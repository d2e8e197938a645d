// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests `ruvd adapter` on a running node: what requests may choose, and which version they get.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "inference/adapter/talora_file.h"
#include "inference/reasons.h"
#include "node/client/client.h"
#include "node/program/program.h"
#include "node/reasons.h"
#include "ruvd/adapter/v1/adapter.grpc.pb.h"
#include "tests/inference/text_model.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

using inference::v1::AdapterChoice;
using inference::v1::GenerateRequest;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class NodeAdapterCatalogTest : public NodeTest {
 protected:
  std::shared_ptr<const inference::Adapter> Random(uint64_t seed) {
    const std::string target = "blk.1.attn_output.weight";
    return test::RandomAdapter(*model_, {{target, inference::FindMatrix(*model_, target)}}, seed);
  }
  // Writes a plain file NAME-vVERSION.gguf; equal seeds give equal changes.
  std::string PlainFile(const std::string& name, uint32_t version, uint64_t seed) {
    inference::Adapter adapter = *Random(seed);
    adapter.name = name;
    adapter.version = version;
    const std::string path = folder_ / (name + "-v" + std::to_string(version) + ".gguf");
    EXPECT_TRUE(inference::SaveAdapterFile(adapter, *model_, path).ok());
    return path;
  }
  // Writes a file with three banks and a trunk.
  std::string BankedFile() {
    inference::Talora talora;
    talora.name = "tale";
    talora.version = 1;
    talora.model_hash = model_->hash();
    talora.trunk = Random(1);
    talora.residuals = {Random(2), Random(3), Random(4)};
    const std::string path = folder_ / "tale.gguf";
    EXPECT_TRUE(inference::SaveTaloraFile(talora, *model_, path).ok());
    return path;
  }
  static GenerateRequest Plain() {
    GenerateRequest request = Request("The old man walked", 16);
    request.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_DIFFUSION);
    return request;
  }
  Completion With(const std::string& name, std::optional<uint32_t> version = std::nullopt) {
    GenerateRequest request = Plain();
    AdapterChoice& choice = *request.mutable_adapters()->add_chosen();
    choice.set_name(name);
    if (version) {
      choice.set_version(*version);
    }
    Completion completion = Generate(request);
    EXPECT_TRUE(completion.status.ok()) << completion.status;
    return completion;
  }
  std::string BaseText() {
    GenerateRequest request = Plain();
    request.mutable_adapters()->set_disabled(true);
    return Generate(request).text;
  }

  int Run(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    cli::CommandContext context{.out = out_, .err = err_, .environment = {}};
    if (node_ != nullptr) {
      arguments.insert(arguments.end(), {"--server", node_->api_address()});
    }
    return RunProgram(arguments, context);
  }
  json RunJson(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--format", "json"});
    EXPECT_EQ(Run(std::move(arguments)), 0) << err_.str();
    return json::parse(out_.str());
  }
  // Returns NAME@VERSION of everything that `ls` shows.
  std::vector<std::string> Listed() {
    std::vector<std::string> labels;
    const json list = RunJson({"adapter", "ls"});
    for (const json& entry : list["adapters"]) {
      labels.push_back(entry["name"].get<std::string>() + "@" +
                       std::to_string(entry["version"].get<uint32_t>()));
    }
    return labels;
  }

  std::shared_ptr<const inference::Model> model_ = inference::Model::Load(kSmallModel).value();
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(NodeAdapterCatalogTest, FilesAreLoadedAndUnloadedWhileTheNodeRuns) {
  Start();
  EXPECT_TRUE(Listed().empty());
  EXPECT_EQ(Run({"adapter", "load", PlainFile("one", 3, 1)}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("loaded one@3"));
  EXPECT_EQ(Generate(Plain()).text, BaseText()) << "weight 0: for those who ask";
  EXPECT_NE(With("one").text, BaseText());
  EXPECT_EQ(With("one").finished.adapters_used(0).version(), 3U);

  EXPECT_NE(Run({"adapter", "load", PlainFile("one", 3, 2)}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("is there already"));
  EXPECT_EQ(Run({"adapter", "load", PlainFile("two", 1, 2), "--weight", "1"}), 0) << err_.str();
  EXPECT_EQ(Generate(Plain()).text, With("two").text);
  EXPECT_EQ(Run({"adapter", "unload", "two"}), 0) << err_.str();
  EXPECT_EQ(Generate(Plain()).text, BaseText());
  EXPECT_EQ(Listed(), std::vector<std::string>{"one@3"});
  Restart();
  EXPECT_TRUE(Listed().empty());
}

TEST_F(NodeAdapterCatalogTest, VersionsAreServedAndRolledBack) {
  config_.inference.adapters = {PlainFile("one", 1, 1)};
  Start();
  const std::string first = Generate(Plain()).text;
  ASSERT_EQ(Run({"adapter", "load", PlainFile("one", 2, 2)}), 0) << err_.str();
  const Completion swapped = Generate(Plain());
  EXPECT_EQ(swapped.finished.adapters_used(0).version(), 2U) << "with the weight of the former";
  EXPECT_NE(swapped.text, first);
  EXPECT_EQ(With("one", 1).text, first);
  EXPECT_EQ(RunJson({"adapter", "rollback", "one"})["version"], 1);
  EXPECT_EQ(Generate(Plain()).text, first);
  EXPECT_EQ(With("one", 2).text, swapped.text);
  EXPECT_NE(Run({"adapter", "rollback", "one"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("no version below 1"));
  EXPECT_EQ(Run({"adapter", "rollback", "one@2"}), 0) << err_.str();
  EXPECT_EQ(Generate(Plain()).text, swapped.text);
  EXPECT_NE(Run({"adapter", "rollback", "one@9"}), 0);
}

TEST_F(NodeAdapterCatalogTest, MemoryIsBoundedAndPinsHold) {
  config_.inference.adapter_bytes = 1 << 20;
  Start();
  // An adapter has rank 2 on a matrix of the small model, which is 4 KiB; the budget holds all of
  // them.
  ASSERT_EQ(Run({"adapter", "load", PlainFile("one", 1, 1)}), 0) << err_.str();
  EXPECT_TRUE(RunJson({"adapter", "pin", "one"})["pinned"].get<bool>());
  EXPECT_NE(Run({"adapter", "unload", "one"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr(reasons::kAdapterPinned));
  EXPECT_FALSE(RunJson({"adapter", "pin", "one@1", "--off"})["pinned"].get<bool>());
  const json list = RunJson({"adapter", "ls"});
  EXPECT_EQ(list["budget_bytes"], std::to_string(1 << 20));
  EXPECT_EQ(list["hot_bytes"], list["adapters"][0]["bytes"]);
  EXPECT_EQ(Run({"adapter", "unload", "one@1"}), 0) << err_.str();
}

TEST_F(NodeAdapterCatalogTest, ImportedFilesStay) {
  Start();
  const std::string file = PlainFile("one", 1, 1);
  ASSERT_EQ(Run({"adapter", "import", file}), 0) << err_.str();
  fs::remove(file);
  const std::string text = With("one").text;
  Restart();
  EXPECT_EQ(Listed(), std::vector<std::string>{"one@1"});
  EXPECT_EQ(With("one").text, text);
  ASSERT_EQ(Run({"adapter", "unload", "one"}), 0) << err_.str();
  EXPECT_TRUE(fs::is_empty(folder_ / "data" / "adapters"));
  Restart();
  EXPECT_TRUE(Listed().empty());
}

// Found by review: an import that came too late deleted the file of the one that succeeded.
TEST_F(NodeAdapterCatalogTest, OfImportsOfOneFileAtOnceOneStays) {
  Start();
  const std::string bytes = ReadFile(PlainFile("one", 1, 1), 1 << 24).value();
  adapter::v1::AdapterFile file;
  file.set_bytes(bytes.size());
  const fs::path imported = folder_ / "data" / "adapters";
  for (int round = 0; round < 25; ++round) {
    std::atomic<int> succeeded = 0;
    std::vector<std::thread> callers;
    for (int i = 0; i < 8; ++i) {
      callers.emplace_back([&] {
        client::NodeClient client(node_->api_address());
        succeeded += client.ImportAdapter(file, bytes).ok() ? 1 : 0;
      });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
    EXPECT_EQ(succeeded, 1);
    EXPECT_FALSE(fs::is_empty(imported));
    ASSERT_EQ(Run({"adapter", "unload", "one"}), 0) << err_.str();
    EXPECT_TRUE(fs::is_empty(imported));
  }
}

// Found by a hostile review: four calls that named a pipe hung the node for good, its end included.
TEST_F(NodeAdapterCatalogTest, APipeInPlaceOfAFileIsRefusedAtOnce) {
  const std::string file = PlainFile("one", 1, 1);
  config_.inference.adapters = {file + "=0"};
  config_.inference.adapter_bytes = 1;  // nothing stays in memory
  Start();
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);  // to open it would wait for a writer
  for (int call = 0; call < 5; ++call) {
    EXPECT_NE(Run({"adapter", "load", file}), 0);
    EXPECT_THAT(err_.str(), HasSubstr("not a regular file"));
  }
  GenerateRequest again = Plain();
  again.mutable_adapters()->add_chosen()->set_name("one");
  EXPECT_THAT(MessageOf(Generate(again).status), HasSubstr("not a regular file"));
  EXPECT_FALSE(BaseText().empty());
  EXPECT_TRUE(node_->Drain(kDrain).ok());
}

TEST_F(NodeAdapterCatalogTest, ADamagedImportIsLeftOut) {
  Start();
  ASSERT_EQ(Run({"adapter", "import", PlainFile("one", 1, 1)}), 0) << err_.str();
  ASSERT_TRUE(WriteFileAtomically(folder_ / "data" / "adapters" / "damaged.gguf", "GGUF?").ok());
  Restart();
  EXPECT_EQ(Listed(), std::vector<std::string>{"one@1"});
}

TEST_F(NodeAdapterCatalogTest, ExportsAreWhatWasImported) {
  Start();
  ASSERT_EQ(Run({"adapter", "import", BankedFile()}), 0) << err_.str();
  const std::string out = folder_ / "out.gguf";
  ASSERT_EQ(Run({"adapter", "export", "tale", "--out", out}), 0) << err_.str();
  EXPECT_EQ(ReadFile(out, 1 << 24).value(), ReadFile(folder_ / "tale.gguf", 1 << 24).value());
  ASSERT_EQ(Run({"adapter", "export", "tale@1", "--bank", "2", "--out", out}), 0) << err_.str();
  const auto bank = inference::LoadAdapterFile(out, *model_);
  ASSERT_TRUE(bank.ok()) << bank.status();
  EXPECT_EQ((*bank)->name, "tale-bank2");
  ASSERT_EQ(Run({"adapter", "export", "tale", "--trunk", "--out", out}), 0) << err_.str();
  EXPECT_EQ(inference::AdapterId(*LoadAdapterFile(out, *model_).value()),
            inference::AdapterId(*Random(1)));
  EXPECT_NE(Run({"adapter", "export", "tale", "--bank", "3", "--out", out}), 0);
}

TEST_F(NodeAdapterCatalogTest, BanksActAtTheirTimes) {
  config_.inference.adapters = {BankedFile() + "=0", PlainFile("trunk", 1, 1) + "=0",
                                PlainFile("low", 1, 2) + "=0", PlainFile("middle", 1, 3) + "=0",
                                PlainFile("high", 1, 4) + "=0"};
  Start();
  // The request does the same by hand, with ranges of t that end just below the banks' boundaries.
  GenerateRequest by_hand = Plain();
  const auto add = [&](const std::string& name, float t_min, float t_max) {
    AdapterChoice& choice = *by_hand.mutable_adapters()->add_chosen();
    choice.set_name(name);
    choice.set_t_min(t_min);
    choice.set_t_max(t_max);
  };
  add("trunk", 0, 1);
  add("low", 0, 0.299F);
  add("middle", 0.299F, 0.599F);
  add("high", 0.599F, 1);
  EXPECT_EQ(With("tale").text, Generate(by_hand).text);
  EXPECT_NE(With("tale").text, With("trunk").text);

  // Every masking of a score is scored with the adapters that act at its t.
  const auto score = [&](const std::string& name) {
    inference::v1::ScoreRequest request;
    request.set_prompt("The sea");
    request.set_completion(" was calm.");
    request.mutable_adapters()->add_chosen()->set_name(name);
    inference::v1::ScoreResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        inference::v1::InferenceService::NewStub(channel_)->Score(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.nats_per_token();
  };
  EXPECT_NE(score("tale"), score("trunk"));
}

TEST_F(NodeAdapterCatalogTest, ShowAndDiff) {
  config_.inference.adapters = {BankedFile() + "=0", PlainFile("one", 1, 1) + "=0",
                                PlainFile("copy", 1, 1) + "=0"};
  Start();
  const json shown = RunJson({"adapter", "show", "tale"});
  EXPECT_EQ(shown["targets"].size(), 4U);
  EXPECT_EQ(shown["targets"][0]["part"], "trunk");
  EXPECT_EQ(shown["adapter"]["banks"]["strategy"], "BANK_STRATEGY_DISCRETE");
  EXPECT_EQ(shown["adapter"]["source"], "ADAPTER_SOURCE_CONFIG");
  EXPECT_EQ(Run({"adapter", "show", "one"}), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("blk.1.attn_output.weight"), HasSubstr("one@1")));
  EXPECT_TRUE(RunJson({"adapter", "diff", "one", "copy"})["equal"].get<bool>());
  const json diff = RunJson({"adapter", "diff", "one", "tale"});
  EXPECT_FALSE(diff["equal"].get<bool>());
  ASSERT_EQ(diff["targets"].size(), 4U);
  EXPECT_NEAR(diff["targets"][0]["cosine"].get<double>(), 1, 1e-6) << "the trunk is the same";
  EXPECT_EQ(diff["targets"][1]["norm_a"], 0);
  EXPECT_EQ(Run({"adapter", "ls"}), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("tale@1"), HasSubstr("lora x 3 banks")));
}

TEST_F(NodeAdapterCatalogTest, ErrorsNameTheRemedy) {
  config_.inference.adapters = {PlainFile("one", 1, 1)};
  Start();
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"adapter", "show", "two"},
           {"adapter", "unload", "one@7"},
           {"adapter", "pin", "two"},
           {"adapter", "diff", "one", "two"},
           {"adapter", "load", folder_ / "nothing.gguf"},
           {"adapter", "load", std::string(kSmallModel)},
           {"adapter", "import", folder_ / "nothing.gguf"},
           {"adapter", "load", PlainFile("heavy", 1, 2), "--weight", "1e9"},
           {"adapter", "show", "one@x"}}) {
    EXPECT_NE(Run(arguments), 0) << arguments[1];
    EXPECT_THAT(err_.str(), HasSubstr("; ")) << "cause; remedy";
  }
  EXPECT_EQ(Listed(), std::vector<std::string>{"one@1"});
}

// gRPC bounds the size of an error.
TEST_F(NodeAdapterCatalogTest, AnUnknownNameIsAnsweredWithSomeThatAreKnown) {
  for (int i = 0; i < 20; ++i) {
    config_.inference.adapters.push_back(PlainFile("adapter-" + std::to_string(100 + i), 1, 1) +
                                         "=0");
  }
  Start();
  GenerateRequest request = Plain();
  request.mutable_adapters()->add_chosen()->set_name("two");
  const std::string message = MessageOf(Generate(request).status);
  EXPECT_THAT(message, AllOf(HasSubstr("adapter-107 and 12 more"), HasSubstr("adapter ls"),
                             Not(HasSubstr("adapter-108"))));
}

TEST_F(NodeAdapterCatalogTest, PathsAreForCallersOnTheSameMachine) {
  config_.api.allow_remote = true;
  Start();
  EXPECT_NE(Run({"adapter", "load", PlainFile("one", 1, 1)}), 0);
  EXPECT_THAT(err_.str(), HasSubstr(reasons::kPathsAreLocal));
  EXPECT_EQ(Run({"adapter", "import", PlainFile("one", 1, 1)}), 0) << err_.str();
}

TEST_F(NodeAdapterCatalogTest, MergesFilesWithoutANode) {
  const std::string out = folder_ / "merged.gguf";
  const std::vector<std::string> base = {"adapter", "merge", "--model", kSmallModel, "--out", out};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  const std::string one = PlainFile("one", 1, 1);
  const std::string two = PlainFile("two", 1, 2);
  EXPECT_EQ(RunJson(with({one + "=0.5", two}))["rank"], 4);
  EXPECT_EQ(inference::LoadAdapterFile(out, *model_).value()->name, "merged");
  EXPECT_EQ(RunJson(with({one, two, "--rank", "2", "--name", "both"}))["rank"], 2);
  for (const char* method : {"ties", "dare", "slerp"}) {
    EXPECT_EQ(Run(with({one, two, "--method", method})), 0) << err_.str();
  }
  EXPECT_NE(Run(with({one, "--method", "slerp"})), 0);
  EXPECT_NE(Run(with({one, "--method", "mean"})), 0);
}

TEST_F(NodeAdapterCatalogTest, AMergedFileHasTheWordsOfAllItsParts) {
  const std::string out = folder_ / "merged.gguf";
  const auto words_of = [&](const std::vector<std::string>& files) {
    std::vector<std::string> arguments = {"adapter", "merge", "--model", kSmallModel, "--out", out};
    arguments.insert(arguments.end(), files.begin(), files.end());
    EXPECT_EQ(Run(arguments), 0) << err_.str();
    return inference::LoadTaloraFile(out, *model_).value()->words;
  };
  const auto with_words = [&](const std::string& name, inference::TokenId token) {
    const auto plain = inference::LoadAdapterFile(PlainFile(name, 1, 1), *model_).value();
    const std::string path = folder_ / (name + "-words.gguf");
    const std::string bytes =
        inference::SerializeAdapterFile(
            *plain, *model_,
            inference::LessonWords{.lessons = 3, .counts = {{.token = token, .lessons = 2}}})
            .value();
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
    return path;
  };
  const std::string one = with_words("one", 7);
  const std::string two = with_words("two", 9);
  EXPECT_EQ(words_of({one, two + "=0.5"}),
            (inference::LessonWords{
                .lessons = 6, .counts = {{.token = 7, .lessons = 2}, {.token = 9, .lessons = 2}}}));
  EXPECT_EQ(words_of({one, PlainFile("three", 1, 3)}), std::nullopt)
      << "the words of one part are not known";
}

}  // namespace
}  // namespace ruvd::node
