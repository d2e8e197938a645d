// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/link/revocation_fetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"

namespace ruvd::federation {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RevocationFetcherTest : public ::testing::Test {
 protected:
  // Begins fetches for a node that has no list, and returns the links that are asked.
  std::vector<LinkId> Begin(uint64_t known = 0) {
    std::vector<LinkId> links;
    for (const RevocationFetcher::Request& request : fetcher_.Begin(known, now_)) {
      links.push_back(request.link);
      want_ = request.frame.revocations_want();
    }
    return links;
  }
  // Names a list to the fetcher, as the peer of a link.
  void Offer(LinkId link, uint64_t number, const std::string& list) {
    fetcher_.OnNotice(link, NoticeOf(number, list), now_);
  }
  v1::Revocations Part(const std::string& list) {
    return PartOf(list, want_).value().revocations();
  }
  std::string ReasonOfPart(LinkId link, const v1::Revocations& part) {
    return ReasonOf(fetcher_.OnPart(link, part, now_).status());
  }

  RevocationFetcher fetcher_;
  TimePoint now_{std::chrono::seconds(100)};
  v1::RevocationsWant want_;  // of the newest request
};

// Returns bytes that fill `parts` parts but for one byte.
std::string ListOf(size_t parts, char fill = 'x') {
  return std::string(parts * limits::kRevocationPartBytes - 1, fill);
}

TEST_F(RevocationFetcherTest, JoinsTheParts) {
  std::string list = ListOf(3);
  list[0] = 'a';
  list[2 * limits::kRevocationPartBytes] = 'b';
  Offer(7, 4, list);
  ASSERT_THAT(Begin(), ElementsAre(7));
  for (const bool last : {false, false, true}) {
    const v1::Revocations part = Part(list);
    const auto taken = fetcher_.OnPart(7, part, now_);
    ASSERT_TRUE(taken.ok()) << taken.status();
    ASSERT_EQ(taken->next.has_value(), !last);
    if (!last) {
      want_ = taken->next->frame.revocations_want();
      // A copy, or a part that was not asked for, changes nothing.
      const auto copy = fetcher_.OnPart(7, part, now_);
      EXPECT_TRUE(copy.ok() && !copy->next && !copy->list);
      EXPECT_TRUE(fetcher_.OnPart(8, part, now_).ok());
    } else {
      EXPECT_EQ(taken->list, list);
      EXPECT_EQ(taken->number, 4u);
    }
  }
  EXPECT_THAT(Begin(/*known=*/4), IsEmpty());
  Offer(7, 5, "next");
  EXPECT_THAT(Begin(/*known=*/4), ElementsAre(7)) << "at once";
}

TEST_F(RevocationFetcherTest, FetchesOneListOverOneLinkAndFourListsAtOnce) {
  Offer(1, 4, "same");
  Offer(2, 4, "same");
  EXPECT_THAT(Begin(), ElementsAre(1));
  for (LinkId link = 3; link < 9; ++link) {
    Offer(link, link, ListOf(1, static_cast<char>(link)));
  }
  EXPECT_EQ(Begin().size(), limits::kMaxRevocationFetches - 1);
  EXPECT_THAT(Begin(), IsEmpty());
  fetcher_.LinkDown(1);
  EXPECT_THAT(Begin(), ElementsAre(2)) << "the next one that has the list";
  EXPECT_THAT(Begin(/*known=*/8), IsEmpty());
}

TEST_F(RevocationFetcherTest, WhatThePeerSpoilsEndsTheFetch) {
  const std::string list = ListOf(2);
  const auto spoiled = [&](const std::function<void(v1::Revocations&)>& change) {
    fetcher_ = RevocationFetcher();
    Offer(1, 4, list);
    Begin();
    v1::Revocations part = Part(list);
    change(part);
    return ReasonOfPart(1, part);
  };
  EXPECT_EQ(spoiled([](auto&) {}), "");
  EXPECT_EQ(spoiled([](auto& part) { part.mutable_data()->pop_back(); }),
            reasons::kEnvelopeMalformed);
  EXPECT_EQ(spoiled([](auto& part) { part.mutable_data()->push_back('x'); }),
            reasons::kEnvelopeMalformed);
  EXPECT_EQ(spoiled([](auto& part) { part.set_offset(7); }), "") << "it was not asked for";
  Offer(1, 5, "whole");
  now_ += limits::kRevocationRetry;
  ASSERT_THAT(Begin(), ElementsAre(1));
  v1::Revocations other = Part("whole");
  other.set_data("spoil");
  EXPECT_EQ(ReasonOfPart(1, other), reasons::kEnvelopeMalformed) << "it has another hash";
  EXPECT_THAT(Begin(), IsEmpty()) << "not at once again";
}

// Peers that name lists and do not deliver them must not keep the list of another one away.
TEST_F(RevocationFetcherTest, WhoDoesNotDeliverWaitsBehindTheOthers) {
  for (LinkId link = 1; link <= 6; ++link) {
    Offer(link, 10 + link, ListOf(1, static_cast<char>(link)));
  }
  EXPECT_THAT(Begin(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(fetcher_.GiveUp(now_), IsEmpty());
  // Naming another list meanwhile does not prolong the turn.
  now_ += limits::kRevocationPartTimeout / 2;
  Offer(1, 90, "another");
  EXPECT_THAT(Begin(), ElementsAre(5));
  now_ += limits::kRevocationPartTimeout / 2;
  EXPECT_THAT(fetcher_.GiveUp(now_), ElementsAre(2, 3, 4));
  EXPECT_THAT(Begin(), ElementsAre(6));
  now_ += limits::kRevocationRetry;
  fetcher_.GiveUp(now_);
  Offer(7, 30, "honest");
  EXPECT_EQ(Begin().front(), 7u) << "who never failed comes first";
}

TEST_F(RevocationFetcherTest, APostponedFetchBeginsAgainSoon) {
  Offer(1, 4, "list");
  Begin();
  EXPECT_TRUE(fetcher_.OnPart(1, Part("list"), now_)->list.has_value());
  fetcher_.Postpone(1, now_);
  EXPECT_THAT(Begin(), IsEmpty());
  now_ += std::chrono::seconds(1);
  EXPECT_THAT(Begin(), ElementsAre(1));
}

TEST_F(RevocationFetcherTest, PartsBeginWhereTheySay) {
  const std::string list = ListOf(2);
  want_.set_offset(limits::kRevocationPartBytes);
  EXPECT_EQ(Part(list).data().size(), limits::kRevocationPartBytes - 1);
  for (const size_t offset : {size_t{1}, 2 * limits::kRevocationPartBytes}) {
    want_.set_offset(static_cast<uint32_t>(offset));
    EXPECT_EQ(ReasonOf(PartOf(list, want_).status()), reasons::kEnvelopeMalformed);
  }
}

}  // namespace
}  // namespace ruvd::federation
