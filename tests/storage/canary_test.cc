// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Nothing that a person wrote and no embedding may be readable in any file of a store or a backup.

#include "base/bytes.h"
#include "storage/items/item_store.h"
#include "storage/patterns/pattern_store.h"
#include "storage/trajectories/trajectory_store.h"
#include "tests/storage/raw_store.h"
#include "tests/storage/store_fixture.h"

namespace ruvd {
namespace {

using testing::IsEmpty;

constexpr char kText[] = "CANARY-the-users-own-words";
constexpr size_t kDimension = 32;

// 128 bytes that occur nowhere by chance.
std::vector<float> CanaryEmbedding() {
  std::vector<float> embedding;
  for (size_t i = 0; i < kDimension; ++i) {
    embedding.push_back(1.0F / static_cast<float>(3 * i + 7));
  }
  return embedding;
}

// Long enough for a blob file, and canary from end to end.
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
    ItemStore items(database);
    ASSERT_TRUE(
        items
            .Put(Digest{1},
                 {.header = kText, .body = kText, .signature = kText, .payload = LongText()})
            .ok());
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
    // A quarter of it is already too much.
    EXPECT_THAT(FilesContaining(folder_, bytes.substr(0, bytes.size() / 4)), IsEmpty());
  }
};

TEST_F(CanaryTest, NoStoreLeavesPlaintextInAnyFile) {
  auto database = OpenStore();
  FillEveryStore(*database);
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

}  // namespace
}  // namespace ruvd
