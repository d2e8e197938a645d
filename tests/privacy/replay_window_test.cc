// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/envelope/replay_window.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::privacy {
namespace {

EnvelopeHeader From(uint8_t sender, uint64_t boot, uint64_t seq) {
  EnvelopeHeader header;
  header.sender_id[0] = sender;
  header.boot_id = BootIdOf(header.sender_id, boot);
  header.seq = seq;
  return header;
}

// A thief of a former key could otherwise name a boot that its node never reaches.
TEST(ReplayWindow, EveryBootUnderALaterKeyIsNewer) {
  ReplayWindow window;
  ASSERT_TRUE(window.Admit(From(1, /*boot=*/1'000'000, 1)).ok());
  ASSERT_TRUE(window.Admit(From(1, /*boot=*/1'000'001, 1)).ok());
  EnvelopeHeader later = From(1, /*boot=*/7, 1);
  EXPECT_EQ(ReasonOf(window.Admit(later)), reasons::kReplayed);
  later.key_epoch = 1;
  EXPECT_TRUE(window.Admit(later).ok());
  EXPECT_EQ(ReasonOf(window.Admit(later)), reasons::kReplayed);
  EnvelopeHeader next = From(1, /*boot=*/8, 1);
  next.key_epoch = 1;
  EXPECT_TRUE(window.Admit(next).ok());
  EXPECT_EQ(ReasonOf(window.Admit(From(1, /*boot=*/1'000'001, 2))), reasons::kReplayed);
}

TEST(SequenceWindow, AcceptsEachNumberOnce) {
  SequenceWindow window;
  EXPECT_FALSE(window.Mark(0));
  EXPECT_TRUE(window.Mark(5));
  EXPECT_FALSE(window.Mark(5));
  EXPECT_TRUE(window.Mark(1));
  EXPECT_TRUE(window.Mark(1028));
  EXPECT_FALSE(window.Mark(4));  // fell behind: 1028 - 1024
  EXPECT_FALSE(window.Mark(5));  // still inside, seen
  EXPECT_TRUE(window.Mark(6));   // inside, new
  EXPECT_TRUE(window.Mark(UINT64_MAX));
  EXPECT_FALSE(window.Mark(UINT64_MAX));
  EXPECT_TRUE(window.Mark(UINT64_MAX - 1023));
  EXPECT_FALSE(window.Mark(1029));
}

// Compares with a set that remembers everything.
RC_GTEST_PROP(SequenceWindow, AgreesWithASet, ()) {
  const auto steps = *rc::gen::container<std::vector<uint64_t>>(
      rc::gen::oneOf(rc::gen::inRange<uint64_t>(1, 100), rc::gen::inRange<uint64_t>(1, 3000)));
  SequenceWindow window;
  std::set<uint64_t> seen;
  uint64_t newest = 0;
  for (uint64_t seq : steps) {
    const bool behind =
        newest >= limits::kReplayWindowBits && seq <= newest - limits::kReplayWindowBits;
    RC_ASSERT(window.Mark(seq) == (!behind && !seen.contains(seq)));
    if (!behind) {
      seen.insert(seq);
      newest = std::max(newest, seq);
    }
  }
}

TEST(ReplayWindow, RefusesASecondTimePerSenderAndBoot) {
  ReplayWindow window;
  EXPECT_TRUE(window.Admit(From(1, 1, 1)).ok());
  EXPECT_EQ(ReasonOf(window.Admit(From(1, 1, 1))), reasons::kReplayed);
  EXPECT_TRUE(window.Admit(From(2, 1, 1)).ok());
  EXPECT_TRUE(window.Admit(From(1, 2, 1)).ok());
  window.MarkSeen(From(3, 1, 9));
  EXPECT_EQ(ReasonOf(window.Admit(From(3, 1, 9))), reasons::kReplayed);
}

TEST(ReplayWindow, KeepsTheNewestTwoBoots) {
  ReplayWindow window;
  EXPECT_TRUE(window.Admit(From(1, 5, 1)).ok());
  EXPECT_TRUE(window.Admit(From(1, 4, 1)).ok());
  EXPECT_EQ(ReasonOf(window.Admit(From(1, 3, 1))), reasons::kReplayed);  // older than both
  EXPECT_TRUE(window.Admit(From(1, 6, 1)).ok());                         // pushes out 4
  EXPECT_EQ(ReasonOf(window.Admit(From(1, 4, 2))), reasons::kReplayed);
  EXPECT_EQ(ReasonOf(window.Admit(From(1, 5, 1))), reasons::kReplayed);  // still remembered
  EXPECT_TRUE(window.Admit(From(1, 5, 2)).ok());
}

TEST(ReplayWindow, ForgetsTheLeastRecentSender) {
  ReplayWindow window(/*max_senders=*/2);
  EXPECT_TRUE(window.Admit(From(1, 1, 1)).ok());
  EXPECT_TRUE(window.Admit(From(2, 1, 1)).ok());
  EXPECT_TRUE(window.Admit(From(1, 1, 2)).ok());
  EXPECT_TRUE(window.Admit(From(3, 1, 1)).ok());  // forgets 2
  EXPECT_EQ(window.senders(), 2U);
  EXPECT_EQ(ReasonOf(window.Admit(From(1, 1, 1))), reasons::kReplayed);
  EXPECT_TRUE(window.Admit(From(2, 1, 1)).ok());
}

}  // namespace
}  // namespace ruvd::privacy
