// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Members of a masked round commit to their shares before they pay for them and give them.

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/masked/masked_round.h"
#include "federation/masked/messages.h"
#include "privacy/reasons.h"
#include "tests/federation/masked_bus.h"

namespace ruvd::test {
namespace {

// A member that has seen the others' shares would choose its own with a view to their sum.
TEST(MaskedCommitmentTest, AShareThatItsSenderDidNotCommitToIsNone) {
  MaskedBus bus(6);
  bus.intercept = [&bus](size_t from, const federation::Item& item) {
    if (from == 1 && item.kind == federation::ItemKind::kMaskShare && item.payload->front() == 0) {
      auto other = *federation::DecodeMaskShare(AsBytes(*item.payload));
      other.update.values[7] += 1;
      bus.node(1).stopped = true;
      bus.Send(MaskedBus::ItemOf(item.origin, item.kind, federation::EncodeMaskShare(other)));
    }
    return bus.node(from).stopped;
  };
  bus.Run();
  bus.ExpectSum(Numbers(6, {1}), 1);
}

// One commitment reaches half of the members just in time. The shares of these prompt the others,
// so that no member pays in vain.
TEST(MaskedCommitmentTest, AShareOfAnotherMemberPromptsThoseWhoHeardTooLate) {
  MaskedBus bus(6);
  std::optional<federation::Item> held;
  bus.intercept = [&](size_t from, const federation::Item& item) {
    if (from == 1 && item.kind == federation::ItemKind::kMaskCommitment && !held) {
      held = item;
      return true;
    }
    return false;
  };
  bus.Run(limits::kMaskSharesMillis - 500);
  ASSERT_TRUE(held.has_value());
  bus.Deliver(0, *held);
  bus.Deliver(1, *held);
  EXPECT_EQ(bus.SharesOf(0), 1U);
  EXPECT_EQ(bus.SharesOf(2), 0U);
  bus.Run(3'000);
  for (const size_t late : {2, 3, 4, 5}) {
    bus.Deliver(late, *held);
  }
  bus.Run();
  bus.ExpectSum(Numbers(6), 0);
  bus.ExpectNothingTwice();
}

privacy::masking::MaskInput InputFor(MaskedBus& bus, uint32_t contributors) {
  return {.contributors = contributors, .units = UnitsOf(bus.layout(), bus.random())};
}

TEST(MaskedCommitmentTest, AKeyMasksOnceAndAShareLeavesOnce) {
  MaskedBus bus(4);
  bus.node(0).answers = false;
  bus.node(0).pays = false;
  bus.Run(5'000);  // all agreed, node 0 was asked and did not answer
  federation::MaskedRound& round = *bus.node(0).round;
  EXPECT_EQ(ReasonOf(round.SubmitInput(1, InputFor(bus, 4), bus.now()).status()),
            reasons::kMaskReused);
  EXPECT_EQ(ReasonOf(round.Reveal(0, 1, bus.now()).status()), reasons::kMaskReused)
      << "it has no share yet";
  auto steps = round.SubmitInput(0, InputFor(bus, 4), bus.now());
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_EQ(ReasonOf(round.SubmitInput(0, InputFor(bus, 4), bus.now()).status()),
            reasons::kMaskReused);
  ASSERT_EQ(steps->size(), 2U) << "the commitment, and the request to pay";
  EXPECT_EQ(ReasonOf(round.Reveal(1, 1, bus.now()).status()), reasons::kMaskReused);
  EXPECT_EQ(ReasonOf(round.Reveal(0, 0, bus.now()).status()), reasons::kMaskReused)
      << "no charge has this number";
  ASSERT_TRUE(round.Reveal(0, 1, bus.now()).ok());
  EXPECT_EQ(ReasonOf(round.Reveal(0, 2, bus.now()).status()), reasons::kMaskReused);
}

// A failed input is not repaired with the same key.
TEST(MaskedCommitmentTest, AKeyThatRefusedAnInputMasksNoMore) {
  MaskedBus bus(4);
  bus.node(0).answers = false;
  bus.Run(5'000);
  federation::MaskedRound& round = *bus.node(0).round;
  EXPECT_EQ(ReasonOf(round.SubmitInput(0, InputFor(bus, 5), bus.now()).status()),
            reasons::kUpdateInvalid);
  EXPECT_EQ(ReasonOf(round.SubmitInput(0, InputFor(bus, 4), bus.now()).status()),
            reasons::kMaskReused);
}

TEST(MaskedCommitmentTest, AShareAfterItsAttemptIsNotMade) {
  MaskedBus bus(6);
  bus.node(0).answers = false;
  bus.node(1).pays = false;
  bus.Run(limits::kMaskAttemptMillis + 1'000);
  EXPECT_EQ(ReasonOf(bus.node(0).round->SubmitInput(0, InputFor(bus, 6), bus.now()).status()),
            reasons::kMaskReused);
  EXPECT_EQ(ReasonOf(bus.node(1).round->Reveal(0, 1, bus.now()).status()), reasons::kMaskReused);
}

}  // namespace
}  // namespace ruvd::test
