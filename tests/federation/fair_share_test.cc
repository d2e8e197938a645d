// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// One peer cannot take all the resources that a node has for its peers.

#include "federation/events/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "federation/gossip/fetcher.h"
#include "federation/limits.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

Digest NumberedId(uint64_t number) {
  return Sha256(std::to_string(number));
}

// Returns an announcement of `count` ids from a number on.
WireFrame HaveFrom(uint64_t first, uint64_t count) {
  WireFrame frame;
  for (uint64_t i = 0; i < count; ++i) {
    frame.mutable_i_have()->add_ids(std::string(AsText(NumberedId(first + i))));
  }
  return frame;
}

size_t WantedIn(const Answers& answers) {
  size_t wanted = 0;
  for (const WireFrame& frame : answers.frames) {
    wanted += static_cast<size_t>(frame.i_want().ids_size());
  }
  return wanted;
}

TEST(FairShare, LeavesSomeForWhoeverComesNext) {
  EXPECT_EQ(federation::FairShare(0, 100), 50U);
  EXPECT_EQ(federation::FairShare(200, 100), 0U);
  std::vector<uint64_t> held(5, 0);
  for (uint64_t round = 0; round < 1000; ++round) {
    for (uint64_t& own : held) {
      uint64_t others = 0;
      for (const uint64_t one : held) {
        others += one;
      }
      own += own < federation::FairShare(others - own, 1200) ? 1 : 0;
    }
  }
  for (const uint64_t own : held) {
    EXPECT_NEAR(static_cast<double>(own), 200, 2);
  }
}

class OnePeerOfTwo : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(greedy_.Dial().closed, "");
    ASSERT_EQ(modest_.Dial().closed, "");
  }

  CoreUnderTest target_;
  TestPeer greedy_{target_, 1, 7};
  TestPeer modest_{target_, 2, 8};
};

// Regression test: five thousand ids of one peer took all requests for manifests, and all places in
// the queue.
TEST_F(OnePeerOfTwo, AnnouncementsOfOneLeaveRoomForTheOther) {
  size_t of_greedy = 0;
  for (uint64_t i = 0; i < 20; ++i) {
    of_greedy += WantedIn(greedy_.Send(HaveFrom(i * 500, 500)));
  }
  EXPECT_GT(of_greedy, 50U);
  EXPECT_LE(of_greedy, limits::kMaxTransfers / 2);
  EXPECT_EQ(WantedIn(modest_.Send(HaveFrom(100'000, 20))), 20U);
}

// Regression test: manifests whose payloads never came took all transfers.
TEST_F(OnePeerOfTwo, ManifestsOfOneLeaveTransfersForTheOther) {
  for (uint64_t i = 0; i < limits::kMaxTransfers; ++i) {
    greedy_.Push(greedy_.Manifest(federation::ItemKind::kPattern,
                                  federation::EncodeSharedPattern(PatternOf(i))));
  }
  const std::string payload = federation::EncodeSharedPattern(PatternOf(1'000'000));
  const Answers asked = modest_.Push(modest_.Manifest(federation::ItemKind::kPattern, payload));
  ASSERT_NE(asked.Find(WireFrame::kChunkRequest), nullptr);
  EXPECT_EQ(modest_.Serve(asked, payload).accepted.size(), 1U);
}

// Regression test: a few large payloads took all the memory for payloads.
TEST_F(OnePeerOfTwo, PayloadsOfOneLeaveMemoryForTheOther) {
  const std::string payload = federation::EncodeSharedPattern(PatternOf(1));
  for (uint64_t i = 0; i < 2 * limits::kMaxPayloadMemory / limits::kMaxPayloadBytes; ++i) {
    greedy_.Push(greedy_.Manifest(
        federation::ItemKind::kPattern, payload,
        [](federation::Manifest& manifest) { manifest.payload_bytes = limits::kMaxPayloadBytes; }));
  }
  const Answers asked = modest_.Push(modest_.Manifest(federation::ItemKind::kPattern, payload));
  EXPECT_NE(asked.Find(WireFrame::kChunkRequest), nullptr);
}

federation::PendingItem ItemOfTwoChunks(uint64_t number) {
  federation::PendingItem item;
  item.id = NumberedId(number);
  item.manifest.payload_bytes = 2 * limits::kChunkBytes;
  return item;
}

TEST(FetcherShares, ALinkThatIsLateIsAskedForOneThingAtATime) {
  federation::Fetcher fetcher;
  const TimePoint start{};
  for (uint64_t i = 0; i < 8; ++i) {
    fetcher.Start(ItemOfTwoChunks(i), 1);
  }
  EXPECT_EQ(fetcher.Poll(start).size(), 4U);
  const TimePoint later = start + limits::kRequestTimeout;
  EXPECT_EQ(fetcher.Poll(later).size(), 1U);
  fetcher.OnDelivered(1);
  EXPECT_EQ(fetcher.Poll(later).size(), 3U);
}

// Twelve silent links, which is the largest mesh, and one link that answers.
TEST(FetcherShares, SilentLinksDoNotHoldAllRequestsForChunks) {
  federation::Fetcher fetcher;
  TimePoint now{};
  for (federation::LinkId link = 1; link <= limits::kMeshHigh; ++link) {
    for (uint64_t i = 0; i < 8; ++i) {
      fetcher.Start(ItemOfTwoChunks(link * 100 + i), link);
    }
  }
  for (int i = 0; i < 4; ++i) {
    fetcher.Poll(now);
    now += limits::kRequestTimeoutMax;
  }
  fetcher.Poll(now);
  fetcher.Start(ItemOfTwoChunks(5000), 100);
  const std::vector<federation::Fetcher::Request> asked = fetcher.Poll(now);
  EXPECT_TRUE(std::ranges::any_of(asked, [](const auto& request) { return request.link == 100; }));
}

// When a link ends, what it named first passes on to the next link that has it.
TEST(FetcherShares, WhatOthersHaveTooIsTheirsWhenALinkEnds) {
  federation::Fetcher fetcher;
  const TimePoint start{};
  for (uint64_t i = 0; i < limits::kMaxWanted; ++i) {
    fetcher.RequestManifest(NumberedId(i), 1);
  }
  size_t wanted = 0;
  for (uint64_t i = 0; i < limits::kMaxWanted; ++i) {
    wanted += fetcher.IsManifestRequested(NumberedId(i)) ? 1 : 0;
  }
  EXPECT_EQ(wanted, limits::kMaxWanted / 2);
  for (uint64_t i = 0; i < 10; ++i) {
    fetcher.RequestManifest(NumberedId(i), 2);
  }
  fetcher.LinkDown(1);
  EXPECT_EQ(fetcher.Poll(start).size(), 10U);
  EXPECT_TRUE(fetcher.IsManifestRequested(NumberedId(9)));
  EXPECT_FALSE(fetcher.IsManifestRequested(NumberedId(10)));
  fetcher.LinkDown(2);
  EXPECT_TRUE(fetcher.Poll(start).empty());
  EXPECT_FALSE(fetcher.IsManifestRequested(NumberedId(9)));
}

}  // namespace
}  // namespace ruvd::test
