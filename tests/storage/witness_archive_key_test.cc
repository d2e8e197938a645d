// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/witness/witness_archive_key.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/status.h"
#include "storage/witness/witness_archive.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

class WitnessArchiveKeyTest : public StoreTest {
 protected:
  std::string WriteArchive(const privacy::SealKey& key) const {
    const std::string path = (folder_ / "archive").string();
    const auto writer = WitnessArchiveWriter::Create(path, key).value();
    EXPECT_TRUE(writer->Add("key", {.request_id = "request", .timestamp_ms = 5}).ok());
    EXPECT_TRUE(writer->Commit().ok());
    return path;
  }
  static absl::Status Read(const std::string& path, const privacy::SealKey& key) {
    return ReadWitnessArchive(path, key, [](const WitnessEntry&) { return absl::OkStatus(); })
        .status();
  }
};

// An archive made earlier can be opened after both kinds of rotation, and after moving it.
TEST_F(WitnessArchiveKeyTest, ArchivesOpenAfterEveryKeyWasChanged) {
  auto database = OpenStore();
  const std::string archive = WriteArchive(WitnessArchiveKey(*database).value());
  ASSERT_TRUE(database->RotateDataKeys("").ok());
  for (bool more = true; more;) {
    more = database->ResealStep().value();
  }
  const privacy::SealKey next = privacy::SealKey::Generate();
  ASSERT_TRUE(database->ChangeSealKey(next).ok());
  database.reset();
  EXPECT_EQ(ReasonOf(Read(archive, key_)), reasons::kSealBroken) << "the node's key seals none";
  key_ = next;
  database = OpenStore();
  const std::string moved = archive + ".moved";
  std::filesystem::rename(archive, moved);
  EXPECT_TRUE(Read(moved, WitnessArchiveKey(*database).value()).ok());
}

TEST_F(WitnessArchiveKeyTest, EveryStoreHasAnother) {
  const auto database = OpenStore();
  DatabaseOptions other = Options();
  other.path += ".other";
  const auto second = OpenStore(other);
  const std::string archive = WriteArchive(WitnessArchiveKey(*database).value());
  EXPECT_TRUE(Read(archive, WitnessArchiveKey(*database).value()).ok());
  EXPECT_EQ(ReasonOf(Read(archive, WitnessArchiveKey(*second).value())), reasons::kSealBroken);
}

TEST_F(WitnessArchiveKeyTest, AKeyThatIsNoneIsDamage) {
  const auto database = OpenStore();
  ASSERT_TRUE(PutOne(*database, ColumnFamily::kDefault, "witness/archive-key", "short").ok());
  EXPECT_EQ(ReasonOf(WitnessArchiveKey(*database).status()), reasons::kStoreCorrupt);
}

}  // namespace
}  // namespace ruvd::storage
