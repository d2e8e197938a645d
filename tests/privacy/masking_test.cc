// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests masked sums: what adds up, what a share alone reveals, and what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/privacy/masking_fixture.h"

namespace ruvd::privacy::masking {
namespace {

TEST_F(MaskingTest, SharesAddUpToTheSumOfWhatWentIn) {
  for (const size_t nodes : {limits::kMinCliqueMembers, size_t{7}, limits::kMaxCliqueMembers}) {
    Start(nodes);
    const Clique clique = FirstOf(nodes);
    MaskedSum sum = MaskedSum::Begin(clique, layout_).value();
    std::vector<int32_t> expected(layout_.Values());
    for (size_t node = 0; node < nodes; ++node) {
      const std::vector<int32_t> units = RandomUnits();
      std::ranges::transform(expected, units, expected.begin(), std::plus<>());
      const MaskedUpdate update = sessions_[node].Mask(clique, InputOf(clique, units)).value();
      const std::string bytes = EncodeMaskedUpdate(update);
      ASSERT_TRUE(sum.Add(IdOf(node), DecodeMaskedUpdate(AsBytes(bytes)).value()).ok());
    }
    EXPECT_EQ(sum.Result().value(), expected) << nodes;
  }
}

TEST_F(MaskingTest, ASumIsCompleteOrNothing) {
  Start(4);
  const Clique clique = FirstOf(4);
  MaskedSum sum = MaskedSum::Begin(clique, layout_).value();
  for (size_t node = 0; node < 3; ++node) {
    ASSERT_TRUE(
        sum.Add(IdOf(node), sessions_[node].Mask(clique, InputOf(clique, RandomUnits())).value())
            .ok());
  }
  EXPECT_THAT(sum.Missing(), testing::ElementsAre(IdOf(3)));
  EXPECT_EQ(ReasonOf(sum.Result().status()), reasons::kMaskedSumIncomplete);
}

// Returns the statistic of Pearson's chi-square over the bytes of shares of many sessions. For
// uniform bytes it has mean 255 and variance 510.
double ByteStatistic(const std::vector<std::vector<uint32_t>>& shares) {
  std::array<double, 256> counts{};
  double total = 0;
  for (const std::vector<uint32_t>& share : shares) {
    for (const uint32_t value : share) {
      for (int shift = 0; shift < 32; shift += 8) {
        ++counts[(value >> shift) & 0xFF];
        ++total;
      }
    }
  }
  double statistic = 0;
  for (const double count : counts) {
    statistic += (count - total / 256) * (count - total / 256) / (total / 256);
  }
  return statistic;
}

constexpr double kMaxStatistic = 255 + 6 * 22.6;

TEST_F(MaskingTest, AShareAloneIsUniform) {
  std::vector<std::vector<uint32_t>> shares;
  std::vector<std::vector<uint32_t>> unmasked;
  std::vector<std::vector<uint32_t>> narrow;  // masks of 24 bits
  for (int run = 0; run < 300; ++run) {
    Start(4);
    const std::vector<int32_t> units(layout_.Values(), 3);  // the same every time
    shares.push_back(
        sessions_[run % 4].Mask(FirstOf(4), InputOf(FirstOf(4), units)).value().values);
    unmasked.emplace_back(units.begin(), units.end());
    narrow.push_back(shares.back());
    std::ranges::for_each(narrow.back(), [](uint32_t& value) { value &= 0xFFFFFF; });
  }
  EXPECT_LT(ByteStatistic(shares), kMaxStatistic);
  // The test detects missing masks, and masks that leave a byte free.
  EXPECT_GT(ByteStatistic(unmasked), kMaxStatistic);
  EXPECT_GT(ByteStatistic(narrow), kMaxStatistic);
}

// What two inputs have in common must not show in the difference of their shares.
TEST_F(MaskingTest, SharesOfDifferentSetsDifferByMoreThanTheirInputs) {
  std::vector<std::vector<uint32_t>> differences;
  for (int run = 0; run < 300; ++run) {
    Start(6);
    const std::vector<int32_t> units(layout_.Values(), 3);
    MaskedUpdate former = sessions_[0].Mask(FirstOf(6), InputOf(FirstOf(6), units)).value();
    const MaskedUpdate next = sessions_[0].Mask(FirstOf(5), InputOf(FirstOf(5), units)).value();
    std::ranges::transform(former.values, next.values, former.values.begin(), std::minus<>());
    differences.push_back(former.values);
  }
  EXPECT_LT(ByteStatistic(differences), kMaxStatistic);
}

TEST_F(MaskingTest, AfterADropOutTheOthersStartAgain) {
  Start(6);
  const Clique all = FirstOf(6);
  MaskedSum sum = MaskedSum::Begin(all, layout_).value();
  for (size_t node = 0; node < 5; ++node) {
    ASSERT_TRUE(
        sum.Add(IdOf(node), sessions_[node].Mask(all, InputOf(all, RandomUnits())).value()).ok());
  }
  EXPECT_FALSE(sum.Result().ok());
  const Clique left = FirstOf(5);
  EXPECT_NE(left.SetHash(), all.SetHash());
  sum = MaskedSum::Begin(left, layout_).value();
  std::vector<int32_t> expected(layout_.Values());
  for (size_t node = 0; node < 5; ++node) {
    const std::vector<int32_t> units = RandomUnits();
    std::ranges::transform(expected, units, expected.begin(), std::plus<>());
    ASSERT_TRUE(sum.Add(IdOf(node), sessions_[node].Mask(left, InputOf(left, units)).value()).ok());
  }
  EXPECT_EQ(sum.Result().value(), expected);
}

TEST_F(MaskingTest, ASetHasOneShareOfANode) {
  Start(5);
  ASSERT_TRUE(sessions_[0].Mask(FirstOf(5), InputOf(FirstOf(5), RandomUnits())).ok());
  EXPECT_EQ(ReasonOf(sessions_[0].Mask(FirstOf(5), InputOf(FirstOf(5), RandomUnits())).status()),
            reasons::kMaskReused);
}

TEST_F(MaskingTest, OnlyDropOutsMayChangeASet) {
  Start(7);
  const Clique others =
      sessions_[0].CliqueOf(std::vector<NodeId>{IdOf(1), IdOf(2), IdOf(3), IdOf(6)}).value();
  ASSERT_TRUE(sessions_[0].Mask(FirstOf(6), InputOf(FirstOf(6), RandomUnits())).ok());
  EXPECT_EQ(ReasonOf(sessions_[0].Mask(others, InputOf(others, RandomUnits())).status()),
            reasons::kMaskReused);
  EXPECT_EQ(ReasonOf(sessions_[0].Mask(FirstOf(7), InputOf(FirstOf(7), RandomUnits())).status()),
            reasons::kMaskReused);
  ASSERT_TRUE(sessions_[0].Mask(FirstOf(5), InputOf(FirstOf(5), RandomUnits())).ok());
  ASSERT_TRUE(sessions_[0].Mask(FirstOf(4), InputOf(FirstOf(4), RandomUnits())).ok());
}

TEST_F(MaskingTest, ARoundTakesFewAttempts) {
  Start(limits::kMinCliqueMembers + limits::kMaxMaskAttempts);
  size_t nodes = sessions_.size();
  for (uint64_t attempt = 1; attempt <= limits::kMaxMaskAttempts; ++attempt) {
    const Clique clique = FirstOf(nodes--);
    ASSERT_TRUE(sessions_[0].Mask(clique, InputOf(clique, RandomUnits())).ok());
  }
  EXPECT_EQ(
      ReasonOf(sessions_[0].Mask(FirstOf(nodes), InputOf(FirstOf(nodes), RandomUnits())).status()),
      reasons::kMaskReused);
}

TEST_F(MaskingTest, AnotherLayoutIsRefused) {
  Start(4);
  const Clique clique = FirstOf(4);
  const std::vector<std::function<void(MaskLayout*)>> changes = {[](MaskLayout* l) { l->model_hash[3] = 1; },
                                                                 [](MaskLayout* l) { l->frame_id[3] = 1; },
                                                                 [](MaskLayout* l) { l->bank_values = {25, 40}; },
                                                                 [](MaskLayout* l) { l->bank_values = {65}; },
                                                                 [](MaskLayout* l) { ++l->grid.exponent; },
                                                                 [](MaskLayout* l) { ++l->grid.clip_units; },
                                                                 [](MaskLayout* l) { ++l->grid.sigma_units; },
                                                                 [](MaskLayout* l) { ++l->colluders; }};
  for (size_t i = 0; i < changes.size(); ++i) {
    MaskLayout other = layout_;
    changes[i](&other);
    MaskingSession foreign =
        MaskingSession::Begin({.cluster = {5}, .round = kRound}, other, IdOf(9), Seeded(random_))
            .value();
    EXPECT_EQ(ReasonOf(sessions_[0].AddOffer(IdOf(9), foreign.offer())),
              reasons::kMaskLayoutMismatch)
        << i;
    EXPECT_EQ(ReasonOf(MaskedSum::Begin(clique, other).status()), reasons::kMaskLayoutMismatch)
        << i;
    Clique moved = clique;
    moved.layout = other.Hash();
    EXPECT_EQ(ReasonOf(sessions_[0].Mask(moved, InputOf(moved, RandomUnits())).status()),
              reasons::kMaskLayoutMismatch)
        << i;
  }
}

TEST_F(MaskingTest, AForeignKeyInAMembersPlaceIsRefused) {
  Start(5);
  const MaskKey attacker = MaskKey::Generate(Seeded(random_));
  Clique clique = FirstOf(4);
  clique.members[2].key = attacker.public_key();
  EXPECT_EQ(ReasonOf(sessions_[0].Mask(clique, InputOf(clique, RandomUnits())).status()),
            reasons::kCliqueInvalid);
  MaskOffer second = sessions_[1].offer();
  second.key = attacker.public_key();
  EXPECT_EQ(ReasonOf(sessions_[0].AddOffer(IdOf(1), second)), reasons::kCliqueInvalid);
  EXPECT_TRUE(sessions_[0].AddOffer(IdOf(1), sessions_[1].offer()).ok());
}

TEST_F(MaskingTest, CliquesThatAreNoneAreRefused) {
  Start(limits::kMaxCliqueMembers + 1);
  const auto reason = [this](const Clique& clique) {
    return ReasonOf(sessions_[0].Mask(clique, InputOf(clique, RandomUnits())).status());
  };
  EXPECT_EQ(ReasonOf(sessions_[0].CliqueOf(std::vector<NodeId>{IdOf(1), IdOf(2)}).status()),
            reasons::kCliqueInvalid);
  std::vector<NodeId> everybody;
  for (size_t node = 1; node < sessions_.size(); ++node) {
    everybody.push_back(IdOf(node));
  }
  EXPECT_EQ(ReasonOf(sessions_[0].CliqueOf(everybody).status()), reasons::kCliqueInvalid);
  const std::vector<NodeId> twice = {IdOf(1), IdOf(2), IdOf(2), IdOf(3)};
  EXPECT_EQ(ReasonOf(sessions_[0].CliqueOf(twice).status()), reasons::kCliqueInvalid);
  Clique clique = FirstOf(5);
  clique.round.round = kRound + 1;
  EXPECT_EQ(reason(clique), reasons::kCliqueInvalid);
  clique = FirstOf(5);
  clique.round.cluster[0] ^= 1;
  EXPECT_EQ(reason(clique), reasons::kCliqueInvalid);
  clique = FirstOf(5);
  std::swap(clique.members[0], clique.members[1]);
  EXPECT_EQ(reason(clique), reasons::kCliqueInvalid);
  clique = FirstOf(6);
  clique.members.erase(clique.members.begin());
  EXPECT_EQ(reason(clique), reasons::kCliqueInvalid);  // without this node
  EXPECT_EQ(reason(FirstOf(5)), "");
}

TEST_F(MaskingTest, KeysOfSmallOrderAreRefused) {
  Start(4);
  MaskOffer offer = sessions_[1].offer();
  for (const char* key : {"0000000000000000000000000000000000000000000000000000000000000000",
                          "0100000000000000000000000000000000000000000000000000000000000000",
                          "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                          "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                          "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"}) {
    const std::string bytes = FromHex(key).value();
    std::ranges::copy(AsBytes(bytes), offer.key.begin());
    EXPECT_EQ(ReasonOf(sessions_[0].AddOffer(IdOf(8), offer)), reasons::kKeyInvalid) << key;
  }
}

TEST_F(MaskingTest, OffersAreBounded) {
  Start(4);
  MaskOffer offer = sessions_[1].offer();
  absl::Status last;
  for (uint8_t i = 0; i < limits::kMaxMaskOffers && last.ok(); ++i) {
    NodeId id{0xFF, i};
    offer.key = MaskKey::Generate(Seeded(random_)).public_key();
    last = sessions_[0].AddOffer(id, offer);
  }
  EXPECT_EQ(ReasonOf(last), reasons::kLimitExceeded);
  offer.round = kRound + 1;
  EXPECT_EQ(ReasonOf(sessions_[0].AddOffer(IdOf(1), offer)), reasons::kInvalidArgument);
}

TEST_F(MaskingTest, SharesOfOtherSumsAreRefused) {
  Start(6);
  const Clique clique = FirstOf(4);
  MaskedSum sum = MaskedSum::Begin(clique, layout_).value();
  const MaskedUpdate good = sessions_[0].Mask(clique, InputOf(clique, RandomUnits())).value();
  const auto reason = [&](const std::function<void(MaskedUpdate*)>& change) {
    MaskedUpdate update = good;
    change(&update);
    return ReasonOf(sum.Add(update.sender, update));
  };
  EXPECT_EQ(reason([](MaskedUpdate* u) { u->sender = IdOf(5); }), reasons::kCliqueInvalid);
  EXPECT_EQ(reason([](MaskedUpdate* u) { ++u->round; }), reasons::kCliqueInvalid);
  EXPECT_EQ(reason([](MaskedUpdate* u) { u->set[0] ^= 1; }), reasons::kCliqueInvalid);
  EXPECT_EQ(reason([](MaskedUpdate* u) { u->layout[0] ^= 1; }), reasons::kMaskLayoutMismatch);
  EXPECT_EQ(reason([](MaskedUpdate* u) { u->values.pop_back(); }), reasons::kMaskLayoutMismatch);
  EXPECT_EQ(reason([](MaskedUpdate*) {}), "");
  EXPECT_EQ(reason([](MaskedUpdate*) {}), reasons::kReplayed);
}

TEST_F(MaskingTest, MasksThatDoNotCancelAreNoticed) {
  Start(4);
  const Clique clique = FirstOf(4);
  MaskedSum sum = MaskedSum::Begin(clique, layout_).value();
  for (size_t node = 0; node < 4; ++node) {
    MaskedUpdate update = sessions_[node].Mask(clique, InputOf(clique, RandomUnits())).value();
    if (node == 2) {
      update.values[3] += 1U << 30;
    }
    ASSERT_TRUE(sum.Add(IdOf(node), update).ok());
  }
  EXPECT_EQ(ReasonOf(sum.Result().status()), reasons::kUpdateInvalid);
}

TEST_F(MaskingTest, AShareIsOfWhomItsEnvelopeSays) {
  Start(4);
  const Clique clique = FirstOf(4);
  MaskedSum sum = MaskedSum::Begin(clique, layout_).value();
  const MaskedUpdate share = sessions_[1].Mask(clique, InputOf(clique, RandomUnits())).value();
  EXPECT_EQ(ReasonOf(sum.Add(IdOf(2), share)), reasons::kCliqueInvalid);
  EXPECT_TRUE(sum.Add(IdOf(1), share).ok());
}

// The clip norm is 512 units, the noise 512 in total, and one of four members colludes: shares have
// 296 units.
constexpr int32_t kMostOfOneOfFour = 512 + 13 * 296;

TEST_F(MaskingTest, ASumAboveWhatTheLayoutAllowsIsRefused) {
  for (const uint32_t above : {0U, 1U}) {
    Start(4);
    const Clique clique = FirstOf(4);
    MaskedSum sum = MaskedSum::Begin(clique, layout_).value();
    for (size_t node = 0; node < 4; ++node) {
      const std::vector<int32_t> units(layout_.Values(), -kMostOfOneOfFour);
      MaskedUpdate update = sessions_[node].Mask(clique, InputOf(clique, units)).value();
      update.values[3] -= node == 2 ? above : 0;
      ASSERT_TRUE(sum.Add(IdOf(node), update).ok());
    }
    EXPECT_EQ(ReasonOf(sum.Result().status()), above == 0 ? "" : reasons::kUpdateInvalid);
  }
}

TEST_F(MaskingTest, UpdatesThatWereNotClippedAreNotMasked) {
  for (const int32_t unit : {kMostOfOneOfFour + 1, -kMostOfOneOfFour - 1, INT32_MIN, INT32_MAX}) {
    Start(4);
    const Clique clique = FirstOf(4);
    std::vector<int32_t> units = RandomUnits();
    units.back() = unit;
    EXPECT_EQ(ReasonOf(sessions_[0].Mask(clique, InputOf(clique, units)).status()),
              reasons::kUpdateInvalid)
        << unit;
    units.back() = unit < 0 ? -kMostOfOneOfFour : kMostOfOneOfFour;
    EXPECT_TRUE(sessions_[0].Mask(clique, InputOf(clique, units)).ok());
  }
}

// Fewer contributors need larger shares of the noise.
TEST_F(MaskingTest, NoiseForAnotherNumberOfParticipantsIsRefused) {
  Start(5);
  MaskInput input = InputOf(FirstOf(5), RandomUnits());
  EXPECT_EQ(ReasonOf(sessions_[0].Mask(FirstOf(4), input).status()), reasons::kUpdateInvalid);
  EXPECT_TRUE(sessions_[0].Mask(FirstOf(5), input).ok());
}

TEST_F(MaskingTest, LayoutsThatHideNothingAreRefused) {
  const std::vector<std::function<void(MaskLayout*)>> changes = {
      [](MaskLayout* l) { l->grid.sigma_units = 0; },
      [](MaskLayout* l) { l->grid.sigma_units = limits::kMaxNoiseUnits + 1; },
      [](MaskLayout* l) { l->grid.clip_units = limits::kMinClipUnits - 1; },
      [](MaskLayout* l) { l->grid.clip_units = limits::kMaxGridUnits + 1; },
      [](MaskLayout* l) { l->colluders = limits::kMaxCliqueMembers; }};
  for (size_t i = 0; i < changes.size(); ++i) {
    MaskLayout layout = layout_;
    changes[i](&layout);
    EXPECT_EQ(ReasonOf(MaskingSession::Begin({}, layout, IdOf(0), Seeded(random_)).status()),
              reasons::kInvalidArgument)
        << i;
    Start(4);
    Clique clique = FirstOf(4);
    clique.layout = layout.Hash();
    EXPECT_EQ(ReasonOf(MaskedSum::Begin(clique, layout).status()), reasons::kInvalidArgument) << i;
  }
}

TEST_F(MaskingTest, ACliqueMustHaveMembersThatDoNotCollude) {
  layout_.colluders = 4;
  Start(5);
  EXPECT_EQ(ReasonOf(MaskedSum::Begin(FirstOf(4), layout_).status()), reasons::kInvalidArgument);
  const Clique four = FirstOf(4);
  EXPECT_EQ(ReasonOf(sessions_[0].Mask(four, InputOf(four, RandomUnits())).status()),
            reasons::kInvalidArgument);
  EXPECT_TRUE(MaskedSum::Begin(FirstOf(5), layout_).ok());
}

TEST_F(MaskingTest, AKeyThatAnotherOfferedIsRefusedByBothNames) {
  Start(4);
  const absl::Status refused = sessions_[0].AddOffer(IdOf(9), sessions_[2].offer());
  EXPECT_EQ(ReasonOf(refused), reasons::kCliqueInvalid);
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr(ToHex(IdOf(2))));
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr(ToHex(IdOf(9))));
  EXPECT_EQ(ReasonOf(sessions_[0].AddOffer(IdOf(9), sessions_[0].offer())),
            reasons::kCliqueInvalid);
}

TEST_F(MaskingTest, InputsOfAnotherSizeAreRefused) {
  Start(4);
  EXPECT_EQ(ReasonOf(sessions_[0].Mask(FirstOf(4), InputOf(FirstOf(4), {1, 2, 3})).status()),
            reasons::kUpdateInvalid);
  MaskLayout none = layout_;
  none.bank_values.clear();
  EXPECT_FALSE(MaskingSession::Begin({}, none, IdOf(0), Seeded(random_)).ok());
  none.bank_values = {limits::kMaxMaskedValues, 1};
  EXPECT_EQ(ReasonOf(MaskingSession::Begin({}, none, IdOf(0), Seeded(random_)).status()),
            reasons::kLimitExceeded);
}

TEST_F(MaskingTest, MessagesDecodeToWhatTheyWere) {
  Start(5);
  const MaskOffer offer = sessions_[2].offer();
  EXPECT_EQ(DecodeOffer(AsBytes(EncodeOffer(offer))).value(), offer);
  const Clique clique = FirstOf(5);
  EXPECT_EQ(DecodeClique(AsBytes(EncodeClique(clique)), clique.round.cluster).value(), clique);
  const MaskedUpdate update = sessions_[0].Mask(clique, InputOf(clique, RandomUnits())).value();
  EXPECT_EQ(DecodeMaskedUpdate(AsBytes(EncodeMaskedUpdate(update))).value(), update);
}

TEST_F(MaskingTest, MessagesOfAnotherLengthAreRefused) {
  Start(4);
  const Clique clique = FirstOf(4);
  const std::string share =
      EncodeMaskedUpdate(sessions_[0].Mask(clique, InputOf(clique, RandomUnits())).value());
  const std::string offer = EncodeOffer(sessions_[0].offer());
  const std::string members = EncodeClique(clique);
  using Decoder = std::function<bool(std::string_view)>;
  const std::pair<std::string, Decoder> messages[] = {
      {share, [](std::string_view b) { return DecodeMaskedUpdate(AsBytes(b)).ok(); }},
      {offer, [](std::string_view b) { return DecodeOffer(AsBytes(b)).ok(); }},
      {members, [](std::string_view b) { return DecodeClique(AsBytes(b), {}).ok(); }}};
  for (const auto& [message, accepted] : messages) {
    EXPECT_TRUE(accepted(message));
    for (size_t length = 0; length < message.size(); ++length) {
      EXPECT_FALSE(accepted(std::string_view(message).substr(0, length))) << length;
    }
    EXPECT_FALSE(accepted(message + '\0'));
    std::string version = message;
    version[0] = 2;
    EXPECT_FALSE(accepted(version));
  }
}

}  // namespace
}  // namespace ruvd::privacy::masking
