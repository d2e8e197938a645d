// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Revoked members are not linked any more, and the list reaches nodes with the links that open.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

// Cores by number, joined by links without loss.
class RevocationTest : public ::testing::Test {
 protected:
  static constexpr int kUntilQuiet = 1000;
  CoreUnderTest& At(size_t number) {
    while (cores_.size() <= number) {
      cores_.push_back(std::make_unique<CoreUnderTest>(cores_.size()));
      closed_.emplace_back();
      learned_.push_back(0);
    }
    return *cores_[number];
  }
  // The dialler's core opens a link to the listener's. Runs until no core sends any more, or for
  // `frames` frames.
  void Link(size_t dialer, size_t listener, int frames = kUntilQuiet) {
    const federation::LinkId link = next_link_++;
    At(std::max(dialer, listener));
    ends_[link] = {dialer, listener};
    Take(listener, At(listener).core().OnLinkOpened(link, "", At(listener).now()));
    Take(dialer, At(dialer).core().OnLinkOpened(link, AddressOf(listener), At(dialer).now()));
    Run(frames);
  }
  void Revoke(size_t at, const privacy::RevocationList& list) {
    auto actions = At(at).core().SetRevocations(list, At(at).now());
    ASSERT_TRUE(actions.ok()) << actions.status();
    Take(at, *std::move(actions));
    Run();
  }
  bool Linked(size_t one, size_t other) {
    for (const federation::Member& member : At(one).core().Members()) {
      if (member.id == At(other).key().id()) {
        return member.linked;
      }
    }
    return false;
  }
  privacy::RevocationList ListOf(const std::vector<size_t>& revoked,
                                 const privacy::RevocationList& former = {}) {
    std::vector<privacy::NodeId> ids;
    for (const size_t number : revoked) {
      ids.push_back(At(number).key().id());
    }
    return RevokeNodes(former, std::move(ids), kWallStart, issuer_).value();
  }

  std::vector<std::unique_ptr<CoreUnderTest>> cores_;
  std::vector<std::vector<std::string>> closed_;  // reasons, by core
  std::vector<uint64_t> learned_;                 // number of the newest list, by core
  // The issuer is that of Authority().
  const privacy::ClusterAuthority issuer_ = privacy::ClusterAuthority::FromSeed(SeedOf(1000));

 private:
  void Take(size_t core, federation::Actions actions) {
    for (federation::Action& action : actions) {
      if (auto* send = std::get_if<federation::SendFrame>(&action)) {
        const auto [dialer, listener] = ends_.at(send->link);
        wire_.push_back({send->link, core == dialer ? listener : dialer, send->frame});
      } else if (auto* close = std::get_if<federation::CloseLink>(&action)) {
        closed_[core].push_back(ReasonOf(close->status));
      } else if (auto* changed = std::get_if<federation::RevocationsChanged>(&action)) {
        learned_[core] = changed->list.number;
      }
    }
  }
  void Run(int frames = kUntilQuiet) {
    for (int steps = 0; !wire_.empty() && steps < frames; ++steps) {
      const Sent sent = std::move(wire_.front());
      wire_.pop_front();
      Take(sent.to, At(sent.to).core().OnFrame(sent.link, *sent.frame, At(sent.to).now()));
    }
  }

  struct Sent {
    federation::LinkId link = 0;
    size_t to = 0;
    std::shared_ptr<const WireFrame> frame;
  };
  federation::LinkId next_link_ = 1;
  std::map<federation::LinkId, std::pair<size_t, size_t>> ends_;
  std::deque<Sent> wire_;
};

TEST_F(RevocationTest, ARevokedMemberLosesItsLinkAndGetsNoOther) {
  Link(0, 1);
  Link(0, 2);
  ASSERT_TRUE(Linked(0, 1));
  Revoke(0, ListOf({1}));
  EXPECT_FALSE(Linked(0, 1));
  EXPECT_TRUE(Linked(0, 2));
  EXPECT_EQ(closed_[1].back(), reasons::kNodeRevoked) << "it is told why";
  Link(1, 0);
  EXPECT_FALSE(Linked(0, 1));
  Link(0, 1);
  EXPECT_FALSE(Linked(0, 1));
  EXPECT_EQ(At(0).Refused(reasons::kNodeRevoked), 2u);
}

// Regression test: a member that joined later was offered the revoked member's record, refused it,
// and asked for it again for ever.
TEST_F(RevocationTest, TheRecordOfARevokedMemberWasOfferedToWhoMustRefuseIt) {
  Link(0, 1);
  Link(0, 2);
  Revoke(0, ListOf({1}));
  Link(3, 0);
  ASSERT_TRUE(Linked(3, 0));
  EXPECT_EQ(At(3).Refused(reasons::kNodeRevoked), 0u);
  const auto known = At(3).core().Members();
  EXPECT_TRUE(std::ranges::any_of(
      known, [this](const federation::Member& member) { return member.id == At(2).key().id(); }));
}

// Regression test: the revoked member's items stayed, were passed on and counted in every round;
// members listed it as alive.
TEST_F(RevocationTest, WhatARevokedMemberSentIsUsedNoMore) {
  TestPeer peer(At(0), 1, 900);
  ASSERT_EQ(peer.Dial().closed, "");
  const std::string payload = federation::EncodeSharedPattern(PatternOf(1));
  const privacy::Envelope manifest = peer.Manifest(federation::ItemKind::kPattern, payload);
  ASSERT_EQ(peer.Serve(peer.Push(manifest), payload).accepted.size(), 1u);
  const std::vector<federation::Item> stored = At(0).core().Items();
  Answers revoked;
  const privacy::RevocationList list = ListOf({1});
  revoked.Add(At(0).core().SetRevocations(list, At(0).now()).value());
  EXPECT_EQ(revoked.withdrawn, std::vector<Digest>{stored[0].id});
  EXPECT_EQ(revoked.dropped, revoked.withdrawn);
  EXPECT_TRUE(At(0).core().Items().empty());
  const privacy::NodeId id = peer.key().id();
  const std::vector<federation::Member> members = At(0).core().Members();
  const auto member = std::ranges::find(members, id, &federation::Member::id);
  if (member != members.end()) {
    EXPECT_EQ(member->standing, federation::MemberStanding::kRevoked);
    EXPECT_FALSE(member->counts());
  }
  EXPECT_EQ(At(0).core().StandingOf(id), federation::MemberStanding::kRevoked);
  // By way of others, or after a restart, it does not come back.
  TestPeer other(At(0), 2, 901);
  ASSERT_EQ(other.Dial().closed, "");
  EXPECT_EQ(other.Push(manifest).Find(WireFrame::kChunkRequest), nullptr);
  CoreUnderTest again;
  ASSERT_TRUE(again.core().SetRevocations(list, again.now()).ok());
  Answers restored;
  restored.Add(again.core().Restore(stored, again.now()));
  EXPECT_EQ(restored.withdrawn, std::vector<Digest>{stored[0].id});
  EXPECT_TRUE(again.core().Items().empty());
}

TEST_F(RevocationTest, TheListGoesOnWithEveryLinkThatOpens) {
  Revoke(0, ListOf({3}));
  Link(1, 0);  // the listener knows it
  EXPECT_EQ(learned_[1], 1u);
  Link(1, 2);  // the dialler knows it
  EXPECT_EQ(learned_[2], 1u);
  Link(3, 2);
  EXPECT_FALSE(Linked(2, 3));
}

TEST_F(RevocationTest, AListThatArrivesEndsLinksThatWereGood) {
  Link(1, 2);
  ASSERT_TRUE(Linked(1, 2));
  Revoke(0, ListOf({2}));
  Link(0, 1);
  EXPECT_FALSE(Linked(1, 2));
  EXPECT_TRUE(Linked(0, 1));
}

// Regression test: the list was sent only when a link opened, so members that were already linked
// received it late.
TEST_F(RevocationTest, AListGoesOnOverOpenLinksAtOnce) {
  Link(0, 1);
  Link(1, 2);
  Link(2, 3);
  Link(3, 4);
  Revoke(0, ListOf({4}));
  EXPECT_EQ(learned_[3], 1u);
  EXPECT_EQ(learned_[4], 0u) << "it is told no more than why its link ends";
  EXPECT_EQ(closed_[4].back(), reasons::kNodeRevoked);
  EXPECT_FALSE(Linked(3, 4));
  EXPECT_TRUE(Linked(2, 3));
}

// Regression test: a list that came between the first frame of a link, which names the list known
// then, and the last frame of its opening went to neither peer.
TEST_F(RevocationTest, AListThatComesWhileALinkOpensGoesOverIt) {
  const privacy::RevocationList list = ListOf({50});
  for (size_t frames = 0; frames < 5; ++frames) {
    for (const bool to_listener : {false, true}) {
      const size_t dialer = 4 * frames + (to_listener ? 2 : 0);
      const size_t listener = dialer + 1;
      Link(dialer, listener, static_cast<int>(frames));
      Revoke(to_listener ? listener : dialer, list);
      EXPECT_TRUE(Linked(dialer, listener)) << frames;
      EXPECT_EQ(learned_[dialer], 1u) << "after " << frames << " frames, " << to_listener;
      EXPECT_EQ(learned_[listener], 1u) << "after " << frames << " frames, " << to_listener;
    }
  }
}

TEST_F(RevocationTest, AForgedListOverAnOpenLinkIsCountedAgainstThePeer) {
  TestPeer liar(At(0), 1, 900);
  ASSERT_EQ(liar.Dial().closed, "");
  const auto refusal_of = [&](const privacy::RevocationList& list) {
    At(0).Advance(limits::kRevocationRetry);
    return liar.OfferRevocations(list.number, list.Encode()).refused;
  };
  privacy::RevocationList forged = ListOf({2});
  forged.nodes[0].id = At(3).key().id();
  EXPECT_EQ(refusal_of(forged), std::vector<std::string>{reasons::kSignatureInvalid});
  EXPECT_LT(At(0).core().ScoreOf(liar.key().id()), 0);
  // A mistake of the authority is not the fault of the peer that passes it on.
  const double score = At(0).core().ScoreOf(liar.key().id());
  EXPECT_EQ(refusal_of(ListOf({2})), std::vector<std::string>{});
  EXPECT_EQ(refusal_of(ListOf({3}, ListOf({4}))),
            std::vector<std::string>{reasons::kRevocationInvalid});
  EXPECT_EQ(At(0).core().ScoreOf(liar.key().id()), score);
}

// Found by a security review: a list of more than 64 KiB was silently not sent any more, so the
// 2,045th revocation was the last that members heard of.
TEST_F(RevocationTest, AListThatFillsManyFramesReachesEveryMember) {
  std::vector<privacy::NodeId> many(limits::kMaxRevokedNodes - 1);
  for (size_t i = 0; i < many.size(); ++i) {
    many[i] = {static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8)};
  }
  const privacy::RevocationList former =
      RevokeNodes({}, std::move(many), kWallStart, issuer_).value();
  Link(0, 1);
  Revoke(0, former);
  EXPECT_EQ(learned_[1], 1u) << "over an open link";
  Link(1, 2);
  EXPECT_EQ(learned_[2], 1u) << "over a link that opens";
  Revoke(0, ListOf({2}, former));
  EXPECT_EQ(learned_[1], 2u);
  EXPECT_FALSE(Linked(1, 2));
}

// The authority's clock ran far ahead once: its list would exclude every certificate that there is.
TEST_F(RevocationTest, AListThatIsDatedFarAheadIsRefused) {
  TestPeer peer(At(0), 1, 900);
  ASSERT_EQ(peer.Dial().closed, "");
  const privacy::RevocationList list =
      RevokeNodes({}, {}, kWallStart + limits::kRevocationAheadMillis + 1000, issuer_).value();
  EXPECT_EQ(peer.OfferRevocations(list.number, list.Encode()).refused,
            std::vector<std::string>{reasons::kRevocationInvalid});
  EXPECT_EQ(At(0).core().ScoreOf(peer.key().id()), 0);
  EXPECT_EQ(At(0).core().active_links(), 1u);
}

// A list leaves out nodes whose certificates have ended. A node with a slow clock takes them for
// valid still.
TEST_F(RevocationTest, ANodeThatAListLeftOutDoesNotComeBackToASlowClock) {
  Link(0, 1);
  ASSERT_TRUE(Linked(0, 1));
  const int64_t ended_ms = ConfigFor(At(1).key(), 1).certificate.not_after_ms;
  ASSERT_GT(ended_ms, At(0).now().wall_ms);
  const privacy::RevocationList list =
      RevokeNodes({}, {}, ended_ms + limits::kCertificateClockSkewMillis, issuer_).value();
  Revoke(0, list);
  EXPECT_FALSE(Linked(0, 1));
  EXPECT_EQ(closed_[1].back(), reasons::kCertificateExpired);
  Link(1, 0);
  EXPECT_FALSE(Linked(0, 1));
}

// A node that was away for a long time does not know which members were revoked meanwhile.
TEST_F(RevocationTest, ANodeWhoseListIsOldLinksToWhoBringsANewerOneOnly) {
  constexpr auto kBound = std::chrono::hours(24);
  At(3);
  for (const size_t number : {size_t{0}, size_t{1}, size_t{2}}) {
    cores_[number] = std::make_unique<CoreUnderTest>(
        number, [&](federation::GossipConfig& config) { config.max_stale = kBound; });
  }
  const privacy::RevocationList old = ListOf({3});
  Revoke(0, old);
  Link(0, 1);
  EXPECT_TRUE(Linked(0, 1));
  EXPECT_EQ(learned_[1], 1u);
  for (const auto& core : cores_) {
    core->Advance(kBound + std::chrono::seconds(1));
  }
  EXPECT_TRUE(Linked(0, 1)) << "an open link stays";
  EXPECT_EQ(ReasonOf(At(1).core().RevocationsFresh(At(1).now())), reasons::kRevocationStale);
  Revoke(2, old);
  Link(2, 1);
  EXPECT_EQ(At(1).core().active_links(), 1u);
  EXPECT_EQ(closed_[2].back(), reasons::kRevocationStale);
  const int64_t now_ms = At(2).now().wall_ms;
  Revoke(2, RevokeNodes(old, {}, now_ms, issuer_).value());
  EXPECT_TRUE(At(2).core().RevocationsFresh(At(2).now()).ok());
  Link(2, 1);
  EXPECT_EQ(At(1).core().active_links(), 2u);
  EXPECT_EQ(learned_[0], 2u) << "it goes on over the link that stayed";
}

// Found by a security review: a node from which an attacker kept the first list linked to anybody.
TEST_F(RevocationTest, ANodeWithoutAListLinksToWhoBringsOneOnly) {
  At(2);
  for (const size_t number : {size_t{0}, size_t{1}, size_t{2}}) {
    cores_[number] = std::make_unique<CoreUnderTest>(number, [&](federation::GossipConfig& config) {
      config.max_stale = std::chrono::hours(24);
    });
  }
  Link(0, 1);
  EXPECT_FALSE(Linked(0, 1));
  EXPECT_EQ(ReasonOf(At(1).core().RevocationsFresh(At(1).now())), reasons::kRevocationStale);
  Revoke(2, ListOf({}));
  Link(1, 2);
  EXPECT_TRUE(Linked(1, 2));
  EXPECT_EQ(learned_[1], 1u);
  Link(0, 1);
  EXPECT_TRUE(Linked(0, 1));
}

// A member that names a newer list than there is keeps its link only until the list should be
// there, and nothing that it sends meanwhile has an effect.
TEST_F(RevocationTest, AListThatIsNamedAndNotSentOpensNoLink) {
  CoreUnderTest target(
      0, [](federation::GossipConfig& config) { config.max_stale = std::chrono::hours(24); });
  TestPeer liar(target, 1, 900);
  const std::string encoded = ListOf({}).Encode();
  const Answers opened = liar.Dial(federation::NoticeOf(1, encoded));
  ASSERT_NE(opened.Find(WireFrame::kRevocationsWant), nullptr);
  EXPECT_EQ(opened.closed, "");
  const std::string payload = federation::EncodeSharedPattern(PatternOf(1));
  const privacy::Envelope manifest = liar.Manifest(federation::ItemKind::kPattern, payload);
  EXPECT_TRUE(liar.Push(manifest).frames.empty());
  target.Advance(limits::kRevocationPartTimeout);
  Answers later;
  later.Add(target.core().OnTick(target.now()));
  EXPECT_EQ(later.refused, std::vector<std::string>{reasons::kDeadlineExceeded});
  target.Advance(limits::kRevocationWait);
  later.Add(target.core().OnTick(target.now()));
  EXPECT_EQ(later.closed, reasons::kRevocationStale);
  // With the list its link opens.
  target.Advance(limits::kRevocationRetry);
  TestPeer honest(target, 2, 901);
  const Answers served =
      honest.ServeRevocations(honest.Dial(federation::NoticeOf(1, encoded)), encoded);
  EXPECT_EQ(served.closed, "");
  EXPECT_NE(served.Find(WireFrame::kMemberDelta), nullptr);
  EXPECT_NE(honest.Push(honest.Manifest(federation::ItemKind::kPattern, payload))
                .Find(WireFrame::kChunkRequest),
            nullptr);
}

TEST_F(RevocationTest, AnOlderListChangesNothing) {
  const privacy::RevocationList first = ListOf({3});
  Revoke(0, first);
  Revoke(1, ListOf({4}, first));
  Link(0, 1);
  EXPECT_EQ(learned_[0], 2u);
  EXPECT_EQ(learned_[1], 2u);
  EXPECT_EQ(ReasonOf(At(1).core().SetRevocations(first, At(1).now()).status()),
            reasons::kRevocationInvalid);
}

// The issuer of all nodes here was ended, and a statement of the root or a list says so.
TEST_F(RevocationTest, MembersOfAnEndedIssuerLoseTheirLinks) {
  const privacy::SigningKey root = privacy::SigningKey::FromSeed(SeedOf(1000));
  privacy::SigningKey key = privacy::SigningKey::FromSeed(SeedOf(78));
  const privacy::IssuerCert next =
      privacy::IssuerCert::Sign({.key = key.public_key(),
                                 .number = 1,
                                 .least = 1,
                                 .not_after_ms = std::numeric_limits<int64_t>::max()},
                                root)
          .value();
  Link(0, 1);
  Link(2, 3);
  ASSERT_TRUE(Linked(0, 1) && Linked(2, 3));
  ASSERT_TRUE(At(0).core().LearnIssuer(next, At(0).now()).ok());
  EXPECT_FALSE(Linked(0, 1));
  const auto authority = privacy::ClusterAuthority::Create(next, std::move(key));
  Revoke(2, privacy::RevokeNodes({}, {}, kWallStart, authority.value()).value());
  EXPECT_FALSE(Linked(2, 3));
  EXPECT_THAT(closed_[2], testing::Contains(reasons::kIssuerEnded));
  privacy::IssuerCert forged = next;
  forged.least = 0;
  EXPECT_EQ(ReasonOf(At(1).core().LearnIssuer(forged, At(1).now()).status()),
            reasons::kSignatureInvalid);
}

TEST_F(RevocationTest, AListThatSomebodyElseSignedIsRefused) {
  const privacy::ClusterAuthority other = privacy::ClusterAuthority::FromSeed(SeedOf(77));
  const privacy::RevocationList forged =
      RevokeNodes({}, {At(1).key().id()}, kWallStart, other).value();
  EXPECT_EQ(ReasonOf(At(0).core().SetRevocations(forged, At(0).now()).status()),
            reasons::kCertificateForeign);
  Link(0, 1);
  EXPECT_TRUE(Linked(0, 1));
}

// A member brings a forged list when it opens a link: this is reported, and the link stays.
TEST_F(RevocationTest, AForgedListOfAPeerIsRefused) {
  privacy::RevocationList forged = ListOf({2});
  forged.nodes[0].id = At(3).key().id();
  TestPeer liar(At(0), 1, 900);
  for (const std::string& bytes : {forged.Encode(), std::string("nonsense")}) {
    const uint64_t before = At(0).core().counters().refused.size();
    const Answers answers = liar.ServeRevocations(liar.Dial(federation::NoticeOf(1, bytes)), bytes);
    EXPECT_EQ(answers.refused.size(), 1u);
    EXPECT_EQ(At(0).core().active_links(), 1u);
    EXPECT_GT(At(0).core().counters().refused.size(), before);
    At(0).core().OnLinkClosed(900, At(0).now());
  }
  Link(3, 0);
  EXPECT_TRUE(Linked(0, 3));
}

}  // namespace
}  // namespace ruvd::test
