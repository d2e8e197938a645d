// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// No text of a user and no embedding may be readable in any file of a store or a backup.

#include <chrono>
#include <fstream>

#include "base/bytes.h"
#include "storage/graph/graph_store.h"
#include "storage/items/item_store.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "storage/lessons/lesson_store.h"
#include "storage/patterns/pattern_store.h"
#include "storage/policies/policy_store.h"
#include "storage/sessions/session_index.h"
#include "storage/tokens/observed_store.h"
#include "storage/trajectories/trajectory_store.h"
#include "storage/witness/witness_archive_key.h"
#include "storage/witness/witness_log.h"
#include "tests/storage/raw_store.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

using testing::IsEmpty;

constexpr char kText[] = "CANARY-the-users-own-words";
constexpr size_t kDimension = 32;

// Returns 128 bytes that do not occur anywhere by chance.
std::vector<float> CanaryEmbedding() {
  std::vector<float> embedding;
  for (size_t i = 0; i < kDimension; ++i) {
    embedding.push_back(1.0F / static_cast<float>(3 * i + 7));
  }
  return embedding;
}

// Returns a text that is long enough for a blob file and consists of the canary only.
std::string LongText() {
  std::string text;
  while (text.size() < 6000) {
    text += kText;
  }
  return text;
}

class CanaryTest : public StoreTest {
 protected:
  static void FillEveryStore(Database& database) {
    const auto trajectories = TrajectoryStore::Open(database, {}).value();
    ASSERT_TRUE(trajectories
                    ->Put({.response_id = "response",
                           .session_id = kText,
                           .prompt = LongText(),
                           .completion = kText,
                           .embedding = CanaryEmbedding(),
                           .adapters = {kText},
                           .edited_text = kText})
                    .ok());
    const auto patterns =
        PatternStore::Open(database, {.dimension = kDimension, .model_hash = Sha256("model")})
            .value();
    ASSERT_TRUE(patterns
                    ->Put({.id = {1},
                           .embedding = CanaryEmbedding(),
                           .task = kText,
                           .adapter_name = kText,
                           .payload = LongText()})
                    .ok());
    ASSERT_TRUE(patterns->Maintain(std::chrono::seconds(10)).status.ok());
    ASSERT_TRUE(patterns->Checkpoint().ok());
    ASSERT_EQ(patterns->Stats().checkpoint.rows, 1U);
    ItemStore items(database);
    ASSERT_TRUE(
        items
            .Put(Digest{1},
                 {.header = kText, .body = kText, .signature = kText, .payload = LongText()})
            .ok());
  }
  // Fills the typed stores. Ids are keys of rows, which files show: no id here is one of a user.
  void FillTypedStores(Database& database) const {
    FillPolicies(database);
    const auto sessions = SessionIndex::Open(database, {.dimension = kDimension}).value();
    ASSERT_TRUE(sessions
                    ->Put({.session_id = "session",
                           .user_id = kText,
                           .context_embedding = CanaryEmbedding(),
                           .kv_cache = KvCacheReference{.location = kText},
                           .active_adapter = kText,
                           .history_reference = kText,
                           .metadata = {{kText, LongText().substr(0, 1000)}}})
                    .ok());
    const auto graph = GraphStore::Open(database).value();
    ASSERT_TRUE(graph
                    ->Put({.from = {GraphNodeKind::kSession, "session"},
                           .type = EdgeType::kUsed,
                           .to = {GraphNodeKind::kPattern, "pattern"}},
                          0.5F)
                    .ok());
    const auto ledger =
        PrivacyLedgerStore::Open(database, {.budgets = {{.epsilon = 9, .delta = 1e-6}}}).value();
    privacy::LedgerCharge charge{.sigma = 1, .epsilon = 1, .delta = 1e-6, .subject = kText};
    charge.curve.q32.fill(1);
    ASSERT_TRUE(ledger->Reserve(charge).ok());
    FillWitness(database);
    FillLessons(database);
    ASSERT_TRUE(ObservedStore(database)
                    .Put({.name = "lesson", .user_id = kText, .masked = kText, .causal = kText},
                         [] { return true; })
                    .ok());
  }
  static void FillLessons(Database& database) {
    const auto lessons = LessonStore::Open(database).value();
    for (const std::string user : {"", kText}) {
      const std::vector<NewLesson> texts = {{.prompt = kText, .text = LongText()}, {.text = kText}};
      ASSERT_EQ(lessons->Add({.name = kText, .user_id = user}, texts)->added, 2U);
    }
  }
  static void FillPolicies(Database& database) {
    const auto policies = PolicyStore::Open(database, {.dimension = kDimension}).value();
    const std::vector<PolicyParameters> parameters = {EwcPolicy{.anchor = kText},
                                                      PatternPolicy{.adapter = kText}};
    for (uint8_t i = 0; i < parameters.size(); ++i) {
      ASSERT_TRUE(
          policies
              ->Put({.id = {i}, .parameters = parameters[i], .embedding = CanaryEmbedding()},
                    CanaryEmbedding())
              .ok());
    }
  }
  // One entry stays, one goes into an archive beside the store.
  void FillWitness(Database& database) const {
    WitnessLogOptions options;
    options.retention = {.retention = std::chrono::milliseconds(10),
                         .archive_folder = folder_ / "archive",
                         .archive_key = WitnessArchiveKey(database).value()};
    std::filesystem::create_directories(options.retention.archive_folder);
    const auto log = WitnessLog::Open(database, options).value();
    for (const int64_t time : {0, 1000}) {
      ASSERT_TRUE(log->Append({.request_id = "request " + std::to_string(time),
                               .session_id = kText,
                               .query_embedding = CanaryEmbedding(),
                               .routing = {.model = kText},
                               .model_used = kText,
                               .adapters = {kText},
                               .response_embedding = CanaryEmbedding(),
                               .timestamp_ms = time,
                               .error = WitnessError{kText, kText}},
                              TimePoint())
                      .ok());
    }
    ASSERT_TRUE(log->FlushAll().ok());
    EXPECT_EQ(log->ExpireBatch(1000)->entries, 1U);
    EXPECT_FALSE(std::filesystem::is_empty(options.retention.archive_folder));
  }
  static void FillEveryFamily(Database& database, const KeyScope& scope) {
    for (const ColumnFamilyInfo& info : kColumnFamilies) {
      if (info.family == ColumnFamily::kDefault || info.family == ColumnFamily::kKey) {
        continue;
      }
      Batch batch;
      batch.Put(info.family, "canary row of " + scope.name(), LongText(), 0, scope);
      ASSERT_TRUE(database.Write(std::move(batch), Durability::kPowerLoss).ok());
    }
  }
  void ExpectNoCanary() const {
    EXPECT_THAT(FilesContaining(folder_, "CANARY"), IsEmpty());
    const std::vector<float> embedding = CanaryEmbedding();
    const std::string_view bytes(reinterpret_cast<const char*>(embedding.data()),
                                 embedding.size() * sizeof(float));
    // A quarter of it would already be too much.
    EXPECT_THAT(FilesContaining(folder_, bytes.substr(0, bytes.size() / 4)), IsEmpty());
  }
};

TEST_F(CanaryTest, NoStoreLeavesPlaintextInAnyFile) {
  auto database = OpenStore();
  FillEveryStore(*database);
  FillTypedStores(*database);
  FillEveryFamily(*database, KeyScope());
  ExpectNoCanary();  // the log
  ASSERT_TRUE(database->Flush().ok());
  ExpectNoCanary();  // tables and blobs
  FillEveryFamily(*database, KeyScope::User("someone"));
  ASSERT_TRUE(database->RotateDataKeys("").ok());
  for (bool more = true; more;) {
    more = database->ResealStep().value();
  }
  ASSERT_TRUE(database->Backup((folder_ / "backup").string()).ok());
  ASSERT_TRUE(database->Compact().ok());
  database.reset();
  ExpectNoCanary();
}

// The search that finds nothing above does find a plain text.
TEST_F(CanaryTest, TheSearchFindsAPlainText) {
  const std::vector<float> embedding = CanaryEmbedding();
  std::ofstream(folder_ / "text") << "some bytes before " << kText;
  std::ofstream(folder_ / "values", std::ios::binary)
      .write(reinterpret_cast<const char*>(embedding.data()),
             static_cast<std::streamsize>(embedding.size() * sizeof(float)));
  EXPECT_EQ(FilesContaining(folder_, "CANARY").size(), 1U);
  EXPECT_EQ(
      FilesContaining(folder_, {reinterpret_cast<const char*>(embedding.data()), embedding.size()})
          .size(),
      1U);
}

}  // namespace
}  // namespace ruvd::storage
