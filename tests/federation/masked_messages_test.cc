// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The payloads of a masked round's items.

#include <gtest/gtest.h>

#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/masked/messages.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/federation/masked_bus.h"

namespace ruvd::test {
namespace {

constexpr privacy::ClusterId kCluster = {5};

federation::MaskSetItem LargestSet() {
  federation::MaskSetItem item{.attempt = 2,
                               .clique = {.round = {kCluster, 7}, .layout = {3}, .members = {}}};
  for (size_t i = 0; i < limits::kMaxCliqueMembers; ++i) {
    item.clique.members.push_back({.id = MaskedBus::IdOf(i), .key = {static_cast<uint8_t>(i + 1)}});
  }
  return item;
}

TEST(MaskMessages, DecodeToWhatWasEncoded) {
  const federation::MaskKeyItem key{.attempt = 1, .offer = {.round = 7, .layout = {1}, .key = {2}}};
  EXPECT_EQ(federation::DecodeMaskKey(AsBytes(federation::EncodeMaskKey(key))).value(), key);
  const federation::MaskSetItem set = LargestSet();
  EXPECT_EQ(federation::DecodeMaskSet(AsBytes(federation::EncodeMaskSet(set)), kCluster).value(),
            set);
  const federation::MaskShareItem share{
      .attempt = 0,
      .update = {.round = 7, .sender = {1}, .set = {2}, .layout = {3}, .values = {1, 2, 3}}};
  EXPECT_EQ(federation::DecodeMaskShare(AsBytes(federation::EncodeMaskShare(share))).value(),
            share);
}

// A manifest with a larger size is refused before anything is fetched: docs/wire-format.md has the
// figures.
// Returns a key with as many marks as it may have.
federation::MaskKeyItem LargestKey() {
  federation::MaskKeyItem key{
      .attempt = 1,
      .offer = {.round = 7},
      .announcement = {.pledge = {1}, .number = {2}, .beacon = {3}, .marks = {}}};
  for (uint8_t i = 0; i < limits::kMaxConductMarks; ++i) {
    key.announcement.marks.push_back({.member = {i},
                                      .round = i,
                                      .out_until = uint64_t{1} << 60,
                                      .failures = 4,
                                      .withheld = 5,
                                      .sums = 6});
  }
  return key;
}

TEST(MaskMessages, AKeyCarriesWhatItsOwnerRemembers) {
  const federation::MaskKeyItem key = LargestKey();
  const auto read = federation::DecodeMaskKey(AsBytes(federation::EncodeMaskKey(key)));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, key);
  for (const bool twice : {true, false}) {
    federation::MaskKeyItem wrong = key;
    std::vector<federation::ConductMark>& marks = wrong.announcement.marks;
    if (twice) {
      marks[1].member = marks[0].member;
    } else {
      marks.push_back({.member = {0xFF}});
    }
    EXPECT_EQ(
        ReasonOf(federation::DecodeMaskKey(AsBytes(federation::EncodeMaskKey(wrong))).status()),
        reasons::kUpdateInvalid);
  }
}

TEST(MaskMessages, TheLargestOfEachKindFitsItsLimit) {
  EXPECT_EQ(federation::EncodeMaskKey(LargestKey()).size(), 3436U);
  EXPECT_EQ(federation::MaxMaskPayloadBytes(federation::ItemKind::kMaskKey), 3436U);
  EXPECT_EQ(federation::EncodeMaskSet(LargestSet()).size(), 1068U);
  EXPECT_EQ(federation::MaxMaskPayloadBytes(federation::ItemKind::kMaskSet), 1068U);
  federation::MaskShareItem share;
  share.update.values.resize(limits::kMaxMaskedValues);
  EXPECT_EQ(federation::EncodeMaskShare(share).size(), (4U << 20) + 143);
  EXPECT_EQ(federation::MaxMaskPayloadBytes(federation::ItemKind::kMaskShare), (4U << 20) + 143);
  EXPECT_EQ(federation::EncodeMaskCommitment({}).size(), 107U);
  EXPECT_EQ(federation::MaxMaskPayloadBytes(federation::ItemKind::kMaskCommitment), 107U);
}

TEST(MaskMessages, AnythingElseIsRefused) {
  const std::string key = federation::EncodeMaskKey({.attempt = 1, .offer = {.round = 7}});
  for (size_t size = 0; size < key.size(); ++size) {
    EXPECT_EQ(ReasonOf(federation::DecodeMaskKey(AsBytes(key.substr(0, size))).status()),
              reasons::kUpdateInvalid);
  }
  EXPECT_FALSE(federation::DecodeMaskKey(AsBytes(key + "x")).ok());
  std::string late = key;
  late[0] = static_cast<char>(limits::kMaxMaskAttempts);
  EXPECT_EQ(ReasonOf(federation::DecodeMaskKey(AsBytes(late)).status()), reasons::kUpdateInvalid);

  federation::MaskSetItem few = LargestSet();
  few.clique.members.resize(limits::kMinCliqueMembers - 1);
  EXPECT_EQ(
      ReasonOf(
          federation::DecodeMaskSet(AsBytes(federation::EncodeMaskSet(few)), kCluster).status()),
      reasons::kCliqueInvalid);
  // A count that is not backed by bytes takes no memory.
  std::string share = federation::EncodeMaskShare({});
  share.replace(share.size() - 4, 4, "\xff\xff\xff\x7f");
  EXPECT_EQ(ReasonOf(federation::DecodeMaskShare(AsBytes(share)).status()),
            reasons::kLimitExceeded);
}

TEST(MaskMessages, NameTheRoundAndSenderOfTheirEnvelope) {
  const std::string set = federation::EncodeMaskSet(LargestSet());
  EXPECT_TRUE(
      federation::CheckMaskItem(federation::ItemKind::kMaskSet, set, 7, MaskedBus::IdOf(3)).ok());
  EXPECT_EQ(ReasonOf(federation::CheckMaskItem(federation::ItemKind::kMaskSet, set, 8,
                                               MaskedBus::IdOf(3))),
            reasons::kUpdateInvalid);
  EXPECT_EQ(ReasonOf(federation::CheckMaskItem(federation::ItemKind::kMaskSet, set, 7,
                                               MaskedBus::IdOf(16))),
            reasons::kUpdateInvalid);
}

}  // namespace
}  // namespace ruvd::test
