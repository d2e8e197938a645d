// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests patterns, backups and erasure over the API and the command line of a running node.

#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>

#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <sstream>

#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "node/cli/pattern_file.h"
#include "node/client/client.h"
#include "node/limits.h"
#include "node/process/node_files.h"
#include "node/program/program.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "storage/db/backup.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/sessions/session_index.h"
#include "tests/inference/text_model.h"
#include "tests/node/import_pattern.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

using google::protobuf::util::TimeUtil;
using nlohmann::json;
using pattern::v1::UpsertPatternRequest;
using pattern::v1::UpsertPatternResponse;
using ::testing::HasSubstr;

constexpr char kPatternPrompt[] = "The old man walked";

class NodePatternsTest : public NodeTest {
 protected:
  // Returns what `ruvd` prints, errors included.
  std::string Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", node_->api_address()});
    std::ostringstream out;
    cli::CommandContext context{.out = out, .err = out, .environment = {}};
    exit_code_ = RunProgram(arguments, context);
    return out.str();
  }
  json RunJson(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--format", "json"});
    const std::string out = Run(std::move(arguments));
    EXPECT_EQ(exit_code_, 0) << out;
    return json::parse(out);
  }
  // Runs a command on the store of a node that does not run.
  int RunOffline(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--node.data_dir", config_.node.data_dir});
    std::ostringstream out;
    cli::CommandContext context{.out = out, .err = out, .environment = {}};
    const int code = RunProgram(arguments, context);
    EXPECT_EQ(code, 0) << out.str();
    return code;
  }
  client::NodeClient Client() { return client::NodeClient(node_->api_address()); }

  // Returns a pattern at the embedding of kPatternPrompt.
  UpsertPatternRequest Lesson() {
    const auto answer = Embed({kPatternPrompt});
    EXPECT_TRUE(answer.ok()) << answer.status();
    UpsertPatternRequest request;
    auto& pattern = *request.mutable_pattern();
    *pattern.mutable_embedding()->mutable_values() = answer->embeddings(0).values();
    pattern.set_bank(2);
    pattern.set_task("walks");
    pattern.set_quality(0.75F);
    return request;
  }
  static std::string AdapterBytes(uint64_t seed) {
    const auto model = inference::Model::Load(kSmallModel).value();
    const std::string target = "blk.1.attn_output.weight";
    inference::Adapter adapter =
        *test::RandomAdapter(*model, {{target, inference::FindMatrix(*model, target)}}, seed);
    adapter.name = "anything";
    return EncodeAdapter(adapter);
  }
  std::string Upsert(const UpsertPatternRequest& request) {
    const auto response = Client().Call<pattern::v1::UpsertPatternResponse>(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->pattern().id() : "";
  }
  // Stores the pattern with an adapter of its own.
  std::string Upsert(const UpsertPatternRequest& request, uint64_t seed) {
    const auto response = Import(request, AdapterBytes(seed));
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->pattern().id() : "";
  }
  absl::StatusOr<pattern::v1::ImportPatternResponse> Import(const UpsertPatternRequest& request,
                                                            const std::string& adapter) {
    return test::ImportPattern(*pattern::v1::PatternService::NewStub(channel_), request, adapter);
  }

  int exit_code_ = 0;
};

TEST_F(NodePatternsTest, AnAdapterThatAClientStoresServesTheNextRequest) {
  Start();
  const std::string id = Upsert(Lesson(), 1);
  const Completion first = Generate(Request(kPatternPrompt, 12));
  ASSERT_TRUE(first.status.ok()) << first.status;
  ASSERT_EQ(first.finished.adapters_used_size(), 1);
  EXPECT_EQ(first.finished.adapters_used(0).pattern_id(), id);
  EXPECT_THAT(first.finished.adapters_used(0).name(), HasSubstr("pattern-" + id.substr(0, 8)));

  // Other content under the same id gets a name of its own, so it takes effect at once.
  UpsertPatternRequest changed = Lesson();
  changed.mutable_pattern()->set_id(id);
  Upsert(changed, 2);
  const Completion second = Generate(Request(kPatternPrompt, 12));
  ASSERT_EQ(second.finished.adapters_used_size(), 1);
  EXPECT_NE(second.finished.adapters_used(0).name(), first.finished.adapters_used(0).name());
  EXPECT_THAT(
      Run({"pattern", "search", kPatternPrompt, "--task", "walks", "--min-similarity", "0.99"}),
      HasSubstr(id));
  EXPECT_THAT(Run({"pattern", "search", kPatternPrompt, "--task", "runs"}),
              ::testing::Not(HasSubstr(id)));
}

// In a bank with patterns near the prompt these act in its steps; the other banks use those of t =
// 1.
TEST_F(NodePatternsTest, PatternsOfABankActInItsSteps) {
  for (const uint64_t seed : {1U, 2U}) {
    const auto model = inference::Model::Load(kSmallModel).value();
    const auto adapter = inference::DecodeAdapter(AsBytes(AdapterBytes(seed))).value();
    inference::Adapter named = *adapter;
    named.name = "seed" + std::to_string(seed);
    const std::string path = folder_ / (named.name + ".gguf");
    ASSERT_TRUE(inference::SaveAdapterFile(named, *model, path).ok());
    config_.inference.adapters.push_back(path + "=0");
  }
  Start();
  inference::v1::GenerateRequest plain = Request(kPatternPrompt, 16);
  plain.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_DIFFUSION);
  inference::v1::GenerateRequest by_hand = plain;
  auto& early = *by_hand.mutable_adapters()->add_chosen();
  early.set_name("seed1");
  early.set_t_min(0.299F);
  auto& late = *by_hand.mutable_adapters()->add_chosen();
  late.set_name("seed2");
  late.set_t_max(0.299F);
  const std::string expected = Generate(by_hand).text;
  const std::string first = Upsert(Lesson(), 1);
  EXPECT_NE(Generate(plain).text, expected);
  UpsertPatternRequest low = Lesson();
  low.mutable_pattern()->set_bank(0);
  const std::string second = Upsert(low, 2);
  const Completion both = Generate(plain);
  EXPECT_EQ(both.text, expected);
  ASSERT_EQ(both.finished.adapters_used_size(), 2);
  EXPECT_EQ(both.finished.adapters_used(0).pattern_id(), second) << "from low t on";
  EXPECT_EQ(both.finished.adapters_used(1).pattern_id(), first);
}

// Found by review: what was learned had no name, could not be decoded, and failed every request
// nearby.
TEST_F(NodePatternsTest, APatternWithoutAnAdapterLearns) {
  Start();
  UpsertPatternRequest request = Lesson();
  const std::string id = Upsert(request);
  const Completion completion = Generate(Request(kPatternPrompt, 24));
  ASSERT_TRUE(completion.status.ok()) << completion.status;
  learning::v1::SubmitFeedbackRequest edit;
  edit.set_response_id(completion.finished.response_id());
  edit.set_edited_text(" counted the ships every evening and wrote their names in a blue book.");
  edit.set_idempotency_key("once");
  learning::v1::SubmitFeedbackResponse answer;
  ASSERT_TRUE(Rate(edit, &answer).ok());
  ASSERT_TRUE(answer.learned()) << answer.explanation();
  EXPECT_EQ(answer.pattern_id(), id);
  const Completion adapted = Generate(Request(kPatternPrompt, 24));
  ASSERT_TRUE(adapted.status.ok()) << adapted.status;
  ASSERT_EQ(adapted.finished.adapters_used_size(), 1);
  EXPECT_EQ(adapted.finished.adapters_used(0).name(), answer.adapter_name());
}

TEST_F(NodePatternsTest, AnAdapterOfAnotherModelIsRefused) {
  Start();
  std::string bytes = AdapterBytes(1);
  const auto adapter = inference::DecodeAdapter(AsBytes(bytes)).value();
  inference::Adapter foreign = *adapter;
  foreign.model_hash = Sha256("another");
  EXPECT_EQ(ReasonOf(Import(Lesson(), EncodeAdapter(foreign)).status()),
            reasons::kAdapterForOtherModel);
  bytes.resize(bytes.size() - 1);
  EXPECT_EQ(ReasonOf(Import(Lesson(), bytes).status()), reasons::kAdapterInvalid);
  EXPECT_EQ(Status().patterns().stored(), 0u);
}

TEST_F(NodePatternsTest, LargeTextsAreRefusedAlthoughPatternsMayBeLarge) {
  Start();
  const std::string text(limits::kMaxTextRequestBytes + 1, 'x');
  EXPECT_EQ(ReasonOf(Embed({text}).status()), reasons::kLimitExceeded);
  EXPECT_EQ(ReasonOf(Generate(Request(text, 4)).status), reasons::kLimitExceeded);
  inference::v1::TokenizeRequest tokenize;
  tokenize.set_text(text);
  EXPECT_EQ(ReasonOf(Client().Call<inference::v1::TokenizeResponse>(tokenize).status()),
            reasons::kLimitExceeded);
}

TEST_F(NodePatternsTest, AnExportComesBackAndASecondImportChangesNothing) {
  Start();
  const std::string with_adapter = Upsert(Lesson(), 1);
  UpsertPatternRequest plain = Lesson();
  plain.mutable_pattern()->set_task("stands");
  plain.mutable_pattern()->set_origin(std::string(64, 'e'));
  const std::string without = Upsert(plain);
  const std::string file = folder_ / "patterns.jsonl";
  EXPECT_THAT(Run({"pattern", "export", file}),
              AllOf(HasSubstr("2 patterns"), HasSubstr("not encrypted")));
  EXPECT_EQ(fs::status(file).permissions() & fs::perms::all,
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(Run({"pattern", "import", file}), HasSubstr("0 new, 0 replaced, 2 unchanged"));

  EXPECT_THAT(Run({"pattern", "rm", with_adapter, without}), HasSubstr("deleted " + without));
  EXPECT_EQ(RunJson({"pattern", "import", file, "--check"})["patterns"], "2");
  EXPECT_EQ(Status().patterns().stored(), 0u);
  EXPECT_EQ(RunJson({"pattern", "import", file})["created"], "2");
  EXPECT_EQ(RunJson({"pattern", "import", file})["unchanged"], "2");
  EXPECT_EQ(Generate(Request(kPatternPrompt, 12)).finished.adapters_used(0).pattern_id(),
            with_adapter);
  EXPECT_EQ(RunJson({"pattern", "show", without})["origin"], std::string(64, 'e'));
  // A newer pattern of this node stays.
  UpsertPatternRequest newer = Lesson();
  newer.mutable_pattern()->set_id(with_adapter);
  Upsert(newer, 2);
  EXPECT_EQ(RunJson({"pattern", "import", file})["kept"], "1");
  EXPECT_THAT(Run({"pattern", "export", "-", "--task", "stands", "--without-adapters"}),
              AllOf(HasSubstr(without), ::testing::Not(HasSubstr(with_adapter))));
}

TEST_F(NodePatternsTest, NothingOfAFileThatIsWrongIsImported) {
  Start();
  Upsert(Lesson(), 1);
  const std::string file = folder_ / "patterns.jsonl";
  Run({"pattern", "export", file});
  const std::string bytes = ReadFile(file, 1 << 20).value();
  Run({"pattern", "rm", RunJson({"pattern", "ls"})["patterns"][0]["id"].get<std::string>()});
  ASSERT_TRUE(WriteFileAtomically(file, bytes.substr(0, bytes.size() - 2)).ok());
  EXPECT_THAT(Run({"pattern", "import", file}),
              AllOf(HasSubstr("patterns.jsonl: line 3"), HasSubstr("EXPORT_INVALID")));
  std::string other;
  cli::PatternFileWriter writer([&other](std::string_view piece) {
    other += piece;
    return absl::OkStatus();
  });
  const auto status = Client().Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest());
  pattern::v1::PatternFileHeader header;
  header.set_model_package(std::string(64, '0'));
  header.set_model_name("another");
  header.set_dimension(status->node().embedding_dimension());
  header.set_node_id(status->node().id());
  ASSERT_TRUE(writer.Begin(header).ok());
  ASSERT_TRUE(writer.End().ok());
  ASSERT_TRUE(WriteFileAtomically(file, other).ok());
  EXPECT_THAT(Run({"pattern", "import", file}),
              AllOf(HasSubstr("MODEL_MISMATCH"), HasSubstr("nothing was imported")));
  EXPECT_EQ(exit_code_, 1);
  EXPECT_THAT(Run({"pattern", "import", folder_ / "none"}), HasSubstr("FILE_NOT_FOUND"));
  EXPECT_EQ(Status().patterns().stored(), 0u);
}

// Regression test: a line that the node refuses ended every import of the file at that line.
TEST_F(NodePatternsTest, AnImportGoesOnBehindWhatTheNodeRefuses) {
  Start();
  const std::string file = folder_ / "patterns.jsonl";
  const auto status =
      Client().Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()).value();
  std::string bytes;
  cli::PatternFileWriter writer([&bytes](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  pattern::v1::PatternFileHeader header;
  header.set_model_package(status.node().model_package());
  header.set_model_name(status.node().model());
  header.set_dimension(status.node().embedding_dimension());
  header.set_node_id(status.node().id());
  ASSERT_TRUE(writer.Begin(header).ok());
  constexpr int kPatterns = 100;
  pattern::v1::Pattern pattern = Lesson().pattern();
  for (int i = 0; i < kPatterns; ++i) {
    pattern.set_tier(privacy::v1::SHARING_TIER_PRIVATE);
    pattern.set_id(fmt::format("{:032x}", i));
    pattern.set_origin(status.node().id());
    // The pattern comes from a node whose clock is years ahead.
    *pattern.mutable_update_time() =
        TimeUtil::MillisecondsToTimestamp(i % 50 == 10 ? SystemClock().WallMillis() * 2 : 1);
    ASSERT_TRUE(writer.Add(pattern, "").ok());
  }
  ASSERT_TRUE(writer.End().ok());
  ASSERT_TRUE(WriteFileAtomically(file, bytes).ok());
  EXPECT_THAT(Run({"pattern", "import", file}),
              AllOf(HasSubstr("98 new"), HasSubstr("2 refused"), HasSubstr("line 12: "),
                    HasSubstr("line 62: "), HasSubstr("the first refused one is in line 12")));
  EXPECT_EQ(exit_code_, 1);
  EXPECT_EQ(Status().patterns().stored(), 98u);
}

TEST_F(NodePatternsTest, AnImportWithoutAdaptersLeavesThoseOfTheNode) {
  Start();
  const std::string id = Upsert(Lesson(), 1);
  const std::string name = RunJson({"pattern", "show", id})["adapter_name"];
  const std::string file = folder_ / "patterns.jsonl";
  Run({"pattern", "export", file, "--without-adapters"});
  UpsertPatternRequest older = Lesson();
  older.mutable_pattern()->set_id(id);
  older.mutable_pattern()->set_task("sits");
  *older.mutable_pattern()->mutable_update_time() = TimeUtil::MillisecondsToTimestamp(1);
  Upsert(older, 1);
  EXPECT_THAT(Run({"pattern", "import", file}), HasSubstr("1 replaced"));
  const json now = RunJson({"pattern", "show", id});
  EXPECT_EQ(now["task"], "walks");
  EXPECT_EQ(now["adapter_name"], name);
}

TEST_F(NodePatternsTest, FoldersAreNoExportsAndAMissingIdDoesNotKeepTheNext) {
  Start();
  EXPECT_THAT(Run({"pattern", "import", folder_}), HasSubstr("not a regular file"));
  const std::string a = Upsert(Lesson(), 1);
  const std::string b = Upsert(Lesson(), 2);
  const std::string out = Run({"pattern", "rm", a, std::string(32, '0'), b, "--format", "json"});
  const json told = json::parse(out.substr(0, out.find('\n')));
  EXPECT_EQ(told["deleted"], json::array({a, b}));
  EXPECT_EQ(exit_code_, 1);
  EXPECT_EQ(Status().patterns().stored(), 0u);
}

TEST_F(NodePatternsTest, ListsPageByPageAndWatches) {
  Start();
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    UpsertPatternRequest request = Lesson();
    ids.push_back(Upsert(request));
  }
  std::ranges::sort(ids);
  const json first = RunJson({"pattern", "ls", "--limit", "2"});
  EXPECT_EQ(first["patterns"].size(), 2u);
  const std::string next = first["next_page_token"];
  EXPECT_THAT(Run({"pattern", "ls", "--limit", "2"}), HasSubstr("more: --page " + next));
  const json rest = RunJson({"pattern", "ls", "--page", next});
  ASSERT_EQ(rest["patterns"].size(), 1u);
  EXPECT_EQ(rest["patterns"][0]["id"], ids[2]);
  EXPECT_THAT(Run({"pattern", "ls", "--tier", "secret"}),
              HasSubstr("use private, masked, dp or public"));
  EXPECT_THAT(Run({"pattern", "ls", "--since", "1d", "--until", "1h"}),
              ::testing::Not(HasSubstr(ids[0])));
  EXPECT_THAT(Run({"pattern", "show", ids[0], "--embedding"}), HasSubstr("embedding  "));
  EXPECT_THAT(Run({"pattern", "watch", "--after", "0", "--count", "3"}),
              AllOf(HasSubstr("watching behind change 0"), HasSubstr("put"), HasSubstr(ids[2])));
}

TEST_F(NodePatternsTest, AStopOfTheNodeEndsAWatchInGoodOrder) {
  Start();
  std::promise<void> started;
  std::future<absl::Status> end = std::async(std::launch::async, [&] {
    return Client().WatchPatterns({}, [&](const pattern::v1::WatchPatternsResponse&) {
      started.set_value();
      return true;
    });
  });
  started.get_future().wait();
  EXPECT_TRUE(node_->Drain(kDrain).ok());
  EXPECT_EQ(ReasonOf(end.get()), reasons::kNodeDraining);
}

// Otherwise the next start would link again everything that was linked since the last checkpoint.
TEST_F(NodePatternsTest, AStopInGoodOrderSavesTheGraph) {
  Start();
  Upsert(Lesson(), 1);
  ASSERT_TRUE(node_->Drain(kDrain).ok());
  node_.reset();
  auto files = OpenNodeFiles(config_, SystemClock()).value();
  auto database = OpenNodeStore(config_, *files.seal_source, SystemClock()).value();
  EXPECT_TRUE(
      database->Contains(storage::ColumnFamily::kDefault, storage::patterns::CheckpointKey(0))
          .value());
}

TEST_F(NodePatternsTest, ABackupOfARunningNodeIsRestored) {
  Start();
  const std::string id = Upsert(Lesson(), 1);
  const json backup = RunJson({"store", "backup", "--running", "--name", "first"});
  EXPECT_EQ(backup["folder"], config_.node.data_dir + "/backups/first");
  EXPECT_THAT(Run({"store", "backup", "--running"}), HasSubstr("/backups/20"));
  Run({"pattern", "rm", id});
  EXPECT_THAT(Run({"store", "backup", "--running", "--name", "first"}), HasSubstr("first"));
  EXPECT_NE(exit_code_, 0) << "it is there already";
  EXPECT_THAT(Run({"store", "backup", "--running", "--name", "../x"}),
              HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Run({"store", "backup"}), HasSubstr("USAGE"));
  ASSERT_TRUE(node_->Drain(kDrain).ok());
  node_.reset();
  RunOffline({"store", "restore", "--from", backup["folder"].get<std::string>()});
  RunOffline({"store", "verify"});
  Start();
  EXPECT_THAT(Run({"pattern", "ls"}), HasSubstr(id));
}

TEST_F(NodePatternsTest, AUserIsErasedWhileTheNodeServes) {
  {
    auto files = OpenNodeFiles(config_, SystemClock()).value();
    auto database = OpenNodeStore(config_, *files.seal_source, SystemClock()).value();
    const auto model = inference::Model::Load(kSmallModel).value();
    auto sessions = storage::SessionIndex::Open(
                        *database, {.dimension = static_cast<uint32_t>(model->config().width)})
                        .value();
    const int64_t now = SystemClock().WallMillis();
    for (const char* user : {"alice", "bob"}) {
      ASSERT_TRUE(sessions
                      ->Put({.session_id = std::string("of ") + user,
                             .user_id = user,
                             .context_embedding =
                                 std::vector<float>(static_cast<size_t>(model->config().width), 1),
                             .created_ms = now,
                             .last_active_ms = now})
                      .ok());
    }
  }
  Start();
  EXPECT_EQ(Status().store().sessions(), 2u);
  EXPECT_THAT(Run({"store", "erase", "--running", "--user", "alice"}), HasSubstr("alice"));
  EXPECT_EQ(Status().store().sessions(), 1u);
  EXPECT_THAT(Run({"store", "erase", "--running", "--user", ""}), HasSubstr("USAGE"));
  Restart();
  EXPECT_EQ(Status().store().sessions(), 1u);
}

}  // namespace
}  // namespace ruvd::node
