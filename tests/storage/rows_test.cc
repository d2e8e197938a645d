// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests that the bytes of rows are those that docs/store-format.md defines.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <numeric>

#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/storage.pb.h"
#include "storage/db/key_record.h"
#include "storage/db/stored_value.h"
#include "storage/limits.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/trajectories/trajectory_rows.h"

namespace ruvd::storage {
namespace {

using patterns::SlotRow;

privacy::SealKey ExampleKey() {
  std::array<uint8_t, privacy::kSealKeyBytes> master;
  std::iota(master.begin(), master.end(), uint8_t{0});
  return privacy::SealKey::FromBytes(master).value();
}

// The worked example of docs/store-format.md. Its bytes come from an implementation of BLAKE2b
// key derivation and XChaCha20-Poly1305 written from the specifications alone, and checked against
// the vector of draft-irtf-cfrg-xchacha-03, A.3.1.
constexpr char kExampleStored[] =
    "010100000003000000"
    "404142434445464748494a4b4c4d4e4f5051525354555657"
    "e1b27ad94fbfd126f985c1911aacc920"
    "f585d91641c507c07f5082f906ebdb1c";
constexpr char kExamplePlaintext[] = "01010000020000000000803f000000c0";

TEST(StoreFormatTest, TheWorkedExampleOpens) {
  const std::string key = patterns::SlotKey(0, 5);
  EXPECT_EQ(ToHex(AsBytes(key)), "0000000000000005");
  const privacy::SealKey node_key = ExampleKey();
  const auto value = DecodeStoredValue(&node_key, nullptr, ColumnFamily::kVec, key,
                                       FromHex(kExampleStored).value(), 3);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(ToHex(AsBytes(value->plaintext)), kExamplePlaintext);
  EXPECT_EQ(value->schema, 1U);
  EXPECT_EQ(patterns::DecodeVecRow(value->plaintext, 2).value(), (std::vector<float>{1, -2}));
}

TEST(StoreFormatTest, TheHeaderIsPartOfTheSeal) {
  std::string stored = FromHex(kExampleStored).value();
  const privacy::SealKey node_key = ExampleKey();
  for (size_t i = 0; i < kNodeSealedHeaderBytes; ++i) {
    std::string altered = stored;
    altered[i] = static_cast<char>(altered[i] ^ 4);
    EXPECT_EQ(ReasonOf(DecodeStoredValue(&node_key, nullptr, ColumnFamily::kVec,
                                         patterns::SlotKey(0, 5), altered)
                           .status()),
              reasons::kSealBroken)
        << i;
  }
}

// This is the embedding of the example above sealed by data key 7 (bytes 80 to 9f), and
// the row that keeps this key, sealed by the node's key. The bytes come from the independent
// implementation as well.
constexpr char kKeyedStored[] =
    "0201000000030000000700000000000000404142434445464748494a4b4c4d4e4f50515253545556"
    "57f00d73f459f0f45afb12f7ecf6ae9d9511389fa71227d20af5fcd1589d7fec8b";
constexpr char kWrappedKey[] =
    "010100000000000000404142434445464748494a4b4c4d4e4f5051525354555657eb3c7fe2113a8a"
    "06fe6454b87016ed5e67a07fcaeca6a9c9f9ac481bde49f50ed63c4157c87ceb264dab3118826d8a"
    "4c44edd8f648ee67ebf3956c4ac79365c933beafcc01a8";

TEST(StoreFormatTest, TheWorkedExampleOfDataKeysOpens) {
  const privacy::SealKey node_key = ExampleKey();
  EXPECT_EQ(ToHex(AsBytes(KeyRowKey(7))), "0000000000000007");
  const auto row = DecodeStoredValue(&node_key, nullptr, ColumnFamily::kKey, KeyRowKey(7),
                                     FromHex(kWrappedKey).value(), 0);
  ASSERT_TRUE(row.ok()) << row.status();
  const auto record = DecodeKeyRecord(row->plaintext);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->scope, "family/vec");
  EXPECT_EQ(record->state, KeyRecord::State::kActive);
  EXPECT_EQ(record->created_ms, 1'700'000'000'000);
  EXPECT_EQ(EncodeKeyRecord(*record), row->plaintext);
  KeyRing ring;
  ring.Set(7, *record);
  const KeyRing::View keys = ring.Hold();
  const std::string stored = FromHex(kKeyedStored).value();
  const auto value =
      DecodeStoredValue(nullptr, &keys, ColumnFamily::kVec, patterns::SlotKey(0, 5), stored, 3);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(ToHex(AsBytes(value->plaintext)), kExamplePlaintext);
  for (size_t i = 0; i < kKeySealedHeaderBytes; ++i) {
    std::string altered = stored;
    altered[i] = static_cast<char>(altered[i] ^ 4);
    EXPECT_EQ(ReasonOf(DecodeStoredValue(&node_key, &keys, ColumnFamily::kVec,
                                         patterns::SlotKey(0, 5), altered)
                           .status()),
              reasons::kSealBroken)
        << i;
  }
}

TEST(StoreFormatTest, EveryCutKeyRowIsRefused) {
  KeyRecord record{.scope = "user/alice", .key = privacy::DataKey::Generate()};
  const std::string whole = EncodeKeyRecord(record);
  for (size_t n = 0; n < whole.size(); ++n) {
    EXPECT_EQ(ReasonOf(DecodeKeyRecord(whole.substr(0, n)).status()), reasons::kStoreCorrupt);
  }
  EXPECT_FALSE(DecodeKeyRecord(whole + "x").ok());
  record.state = KeyRecord::State::kDestroyed;
  record.key.reset();
  const std::string destroyed = EncodeKeyRecord(record);
  EXPECT_EQ(destroyed.size(), whole.size() - privacy::kSealKeyBytes);
  EXPECT_EQ(DecodeKeyRecord(destroyed)->scope, "user/alice");
}

TEST(StoreFormatTest, KeysHaveFixedWidths) {
  EXPECT_EQ(ToHex(AsBytes(patterns::CollectionKey(0))), "636f6c6c2f00000000");
  EXPECT_EQ(ToHex(AsBytes(patterns::OplogKey(258))), "0000000000000102");
  EXPECT_EQ(patterns::IdKey(0, PatternId{0xAB}).size(), 20U);
}

// The worked example of a slot row in docs/store-format.md, put together by hand.
constexpr char kExampleSlotRow[] =
    "000102030405060708090a0b0c0d0e0f03000000010000000201010000000000"
    "0000403f070000000068e5cf8b010000e86be5cf8b0100000000000000000000"
    "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0"
    "070073756d6d617279";

TEST(StoreFormatTest, TheWorkedExampleOfASlotRowDecodes) {
  SlotRow row{.generation = 3,
              .bank = 1,
              .tier = SharingTier::kMasked,
              .live = true,
              .quality = 0.75F,
              .uses = 7,
              .created_ms = 1'700'000'000'000,
              .touched_ms = 1'700'000'001'000,
              .task = "summary"};
  std::iota(row.id.begin(), row.id.end(), uint8_t{0});
  row.origin.fill(0xA0);
  const std::string bytes = FromHex(kExampleSlotRow).value();
  EXPECT_EQ(patterns::DecodeSlotRow(bytes).value(), row);
  EXPECT_EQ(patterns::EncodeSlotRow(row), bytes);
}

TEST(RowsTest, AStandingReadsAsItWasWrittenAndNoOtherNumberIsOne) {
  SlotRow row{.live = true, .standing = PatternStanding::kRatedBadly};
  std::string bytes = patterns::EncodeSlotRow(row);
  EXPECT_EQ(patterns::DecodeSlotRow(bytes).value(), row);
  constexpr size_t kPlace = 27;
  ASSERT_EQ(bytes[kPlace], static_cast<char>(row.standing));
  bytes[kPlace] = static_cast<char>(static_cast<uint8_t>(kLastStanding) + 1);
  EXPECT_FALSE(patterns::DecodeSlotRow(bytes).ok());
  patterns::MetaRow meta;
  meta.pattern.standing = PatternStanding::kTrial;
  const std::string encoded = patterns::EncodeMetaRow(meta);
  EXPECT_EQ(patterns::DecodeMetaRow(encoded, {})->pattern.standing, PatternStanding::kTrial);
  v1::PatternMeta unknown;
  ASSERT_TRUE(unknown.ParseFromString(encoded));
  unknown.set_standing(8);
  EXPECT_FALSE(patterns::DecodeMetaRow(unknown.SerializeAsString(), {}).ok());
}

TEST(RowsTest, ChangesAndCheckpointsReadAsTheyWereWritten) {
  const patterns::OplogRow change{.kind = PatternChangeKind::kEvict,
                                  .collection = 3,
                                  .id = PatternId{7},
                                  .time = {uint64_t{5000} << 16 | 9}};
  EXPECT_EQ(patterns::DecodeOplogRow(patterns::EncodeOplogRow(change)).value(), change);
  const patterns::CheckpointRow checkpoint{
      .epoch = 5, .building = 6, .chunks = 7, .bytes = 8, .rows = 9, .created_ms = 10, .m = 11};
  EXPECT_EQ(patterns::DecodeCheckpointRow(patterns::EncodeCheckpointRow(checkpoint)).value(),
            checkpoint);
  v1::OplogEntry unknown;
  unknown.set_pattern_id(std::string(16, 'i'));
  unknown.set_op(5);
  EXPECT_FALSE(patterns::DecodeOplogRow(unknown.SerializeAsString()).ok());
}

TEST(RowsTest, EveryOtherLengthOfAVecRowIsRefused) {
  const std::vector<float> embedding = {1, 2, 3};
  const std::string row = patterns::EncodeVecRow(embedding);
  EXPECT_EQ(patterns::DecodeVecRow(row, 3).value(), embedding);
  for (size_t n = 0; n < row.size(); ++n) {
    EXPECT_EQ(ReasonOf(patterns::DecodeVecRow(row.substr(0, n), 3).status()),
              reasons::kStoreCorrupt);
  }
  EXPECT_FALSE(patterns::DecodeVecRow(row + "x", 3).ok());
  EXPECT_FALSE(patterns::DecodeVecRow(row, 4).ok());
  for (const size_t header_byte : {0U, 1U, 2U, 4U}) {
    std::string altered = row;
    altered[header_byte] = '\x7F';
    EXPECT_FALSE(patterns::DecodeVecRow(altered, 3).ok()) << header_byte;
  }
}

RC_GTEST_PROP(RowsTest, SlotRowsReadAsTheyWereWritten,
              (const PatternId& id, uint32_t generation, bool live)) {
  SlotRow row{.id = id, .generation = generation, .live = live};
  row.bank = *rc::gen::inRange<uint32_t>(0, limits::kMaxBanks);
  row.tier = static_cast<SharingTier>(*rc::gen::inRange(0, 5));
  if (live) {
    row.quality = static_cast<float>(*rc::gen::inRange(0, 101)) / 100;
    row.uses = *rc::gen::arbitrary<uint32_t>();
    row.created_ms = *rc::gen::arbitrary<int64_t>();
    row.touched_ms = *rc::gen::arbitrary<int64_t>();
    row.expires_ms = *rc::gen::arbitrary<int64_t>();
    row.origin = Sha256(std::to_string(*rc::gen::arbitrary<int>()));
    row.task.assign(*rc::gen::inRange<size_t>(0, limits::kMaxTaskBytes + 1), 't');
  }
  const std::string bytes = patterns::EncodeSlotRow(row);
  RC_ASSERT(bytes.size() == (live ? 98 + row.task.size() : 32));
  const auto again = patterns::DecodeSlotRow(bytes);
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == row);
  const auto cut = *rc::gen::inRange<size_t>(0, bytes.size());
  RC_ASSERT(!patterns::DecodeSlotRow(bytes.substr(0, cut)).ok());
  RC_ASSERT(!patterns::DecodeSlotRow(bytes + "x").ok());
}

TEST(RowsTest, ValuesOutOfRangeAreRefused) {
  const auto reason = [](const SlotRow& row) {
    return ReasonOf(patterns::DecodeSlotRow(patterns::EncodeSlotRow(row)).status());
  };
  EXPECT_EQ(reason({.bank = limits::kMaxBanks}), reasons::kStoreCorrupt);
  EXPECT_EQ(reason({.tier = static_cast<SharingTier>(5)}), reasons::kStoreCorrupt);
  EXPECT_EQ(reason({.live = true, .quality = 1.5F}), reasons::kStoreCorrupt);
  EXPECT_EQ(reason({.live = true, .task = std::string(limits::kMaxTaskBytes + 1, 't')}),
            reasons::kStoreCorrupt);
  patterns::MetaRow meta;
  EXPECT_TRUE(patterns::DecodeMetaRow(patterns::EncodeMetaRow(meta), {}).ok());
  meta.pattern.bank = limits::kMaxBanks;
  EXPECT_EQ(ReasonOf(patterns::DecodeMetaRow(patterns::EncodeMetaRow(meta), {}).status()),
            reasons::kStoreCorrupt);
  for (const char* bytes : {"", "\xFF\xFF", "text"}) {
    EXPECT_FALSE(patterns::DecodeMetaRow(bytes, {}).ok());
    EXPECT_FALSE(patterns::DecodeCollectionRow(bytes).ok());
    EXPECT_FALSE(patterns::DecodeOplogRow(bytes).ok());
    EXPECT_FALSE(trajectories::DecodeTrajectory(bytes).ok());
  }
}

}  // namespace
}  // namespace ruvd::storage
