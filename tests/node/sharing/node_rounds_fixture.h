// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "node/sharing/node_rounds.h"
#include "privacy/consent/consent.h"
#include "privacy/identity/node_key.h"
#include "privacy/identity/revocation_list.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "storage/reasons.h"
#include "tests/federation/fixture.h"
#include "tests/federation/learner_fixture.h"
#include "tests/federation/test_peer.h"

namespace ruvd::sharing {

inline constexpr Duration kStep = std::chrono::milliseconds(200);

// One node with a real core, whose clock the test turns.
class SharingRoundsTest : public testing::Test {
 protected:
  explicit SharingRoundsTest(federation::LearnerPlan plan = test::DeltaPlan())
      : plan_(std::make_shared<const federation::LearnerPlan>(std::move(plan))),
        node_(0, [this](federation::GossipConfig& config) { config.plan = plan_; }) {
    Start();
  }

  federation::Instant Now() const {
    federation::Instant now = node_.now();
    now.wall_ms += ahead_ms_;
    return now;
  }
  uint64_t Round() const { return RoundAt(*plan_, Now().wall_ms); }
  void Start() {
    NodeRoundsOptions options;
    options.plan = plan_;
    options.cluster = test::Authority().cluster_id();
    options.self = node_.key().id();
    options.random = test::EntropyOf(7);
    options.save = [this](std::string state) { saved_ = std::move(state); };
    options.noise = [](const PreparedSum&,
                       const privacy::masking::Clique&) -> absl::StatusOr<NoisedShare> {
      return absl::UnavailableError("no");
    };
    options.pay = [](const PreparedSum&, const privacy::LedgerCharge&) -> absl::StatusOr<uint64_t> {
      return absl::UnavailableError("no");
    };
    options.last_reservation = [] { return uint64_t{0}; };
    options.may_leave = [this](std::span<const privacy::Contributor>, privacy::ConsentTier) {
      return agrees_;
    };
    options.record = [this](federation::Actions offered, std::vector<privacy::Contributor>,
                            federation::GossipCore& core) {
      return records_ ? std::move(offered) : TakenBack(offered, core);
    };
    rounds_ = NodeRounds::Create(std::move(options), saved_, Now()).value();
  }
  // What OwnPatterns does if it cannot record who contributed.
  static federation::Actions TakenBack(const federation::Actions& offered,
                                       federation::GossipCore& core) {
    std::vector<Digest> ids;
    for (const federation::Action& action : offered) {
      if (const auto* accepted = std::get_if<federation::ItemAccepted>(&action)) {
        ids.push_back(accepted->item.id);
      }
    }
    return core.WithdrawItems(ids);
  }
  void SetTier(privacy::ConsentTier tier) {
    auto changed = node_.core().SetConsent(
        privacy::ConsentRecord::Sign(tier, Now().wall_ms, node_.key()), Now());
    ASSERT_TRUE(changed.ok()) << changed.status();
    Perform(*std::move(changed));
    rounds_->OnSharingChanged();
  }
  void Perform(const federation::Actions& actions) {
    for (const federation::Action& action : actions) {
      if (const auto* accepted = std::get_if<federation::ItemAccepted>(&action)) {
        EXPECT_TRUE(rounds_->OnItem(accepted->item).ok());
      } else if (const auto* withdrawn = std::get_if<federation::ItemWithdrawn>(&action)) {
        rounds_->OnWithdrawn(withdrawn->item);
      }
    }
  }
  void Follow(RoundsOutput output) {
    Perform(output.actions);
    sent_.insert(sent_.end(), output.sent.begin(), output.sent.end());
    EXPECT_FALSE(output.work.has_value());
  }
  // Lets time pass until the node wants to compute something, for this long at most.
  std::optional<RoundWork> RunUntilAnyWork(Duration at_most) {
    for (Duration passed{}; passed < at_most; passed += kStep) {
      node_.Advance(kStep);
      RoundsOutput output = rounds_->OnTick(node_.core(), 0, Now());
      std::optional<RoundWork> work = std::exchange(output.work, std::nullopt);
      Follow(std::move(output));
      if (work) {
        return work;
      }
    }
    return std::nullopt;
  }
  // Does the same until it wants to compute a W. Judgements of others end at once.
  template <typename W = ContributionWork>
  std::optional<W> RunUntilWork(Duration at_most) {
    const TimePoint end = node_.now().now + at_most;
    while (node_.now().now < end) {
      const std::optional<RoundWork> work = RunUntilAnyWork(end - node_.now().now);
      if (work && std::holds_alternative<W>(*work)) {
        return std::get<W>(*work);
      }
      if (work) {
        EXPECT_TRUE(rounds_->EndJudgement(std::get<JudgementWork>(*work)));
      }
    }
    return std::nullopt;
  }
  // Another member's contribution to the running round arrives.
  void OtherGives() {
    Random random(Round());
    const federation::RoundContribution given =
        test::SomeContribution(*plan_, Round(), 1, "other", random);
    ASSERT_TRUE(rounds_
                    ->OnItem({.id = given.id,
                              .kind = federation::ItemKind::kContribution,
                              .origin = other_,
                              .round = Round(),
                              .created_ms = Now().wall_ms,
                              .expires_ms = Now().wall_ms + test::kDayMillis,
                              .envelope = nullptr,
                              .payload = std::make_shared<const std::string>(
                                  EncodeContribution(given.contribution, *plan_))})
                    .ok());
  }
  Duration RoundLength() const { return std::chrono::milliseconds(plan_->round_ms); }
  LocalContribution Made(const ContributionWork& work, double epsilon = 0,
                         uint64_t reservation = 0) const {
    Random random(work.round);
    LocalContribution made{
        .contribution = test::SomeContribution(*plan_, work.round, 0, "it", random).contribution,
        .reservation = reservation,
        .lessons = 3,
        .epsilon = epsilon,
        .contributors = {{.user = "ann", .session = ""}}};
    made.contribution.noise = epsilon > 0 ? federation::Contribution::Noise::kWhole
                                          : federation::Contribution::Noise::kNone;
    return made;
  }
  void End(const ContributionWork& work, absl::StatusOr<std::optional<LocalContribution>> made) {
    Follow(rounds_->EndContribution(work, std::move(made), node_.core(), Now()));
  }
  // The rounds of contributions, or other items, that peers can get, in order.
  std::vector<uint64_t> Offered(federation::ItemKind kind = federation::ItemKind::kContribution) {
    std::vector<uint64_t> rounds;
    for (const federation::Item& item : node_.core().Items()) {
      if (item.kind == kind) {
        rounds.push_back(item.round);
      }
    }
    std::ranges::sort(rounds);
    return rounds;
  }
  cluster::v1::RoundsStatus View() {
    cluster::v1::RoundsStatus view;
    rounds_->Write(&view);
    return view;
  }

  std::shared_ptr<const federation::LearnerPlan> plan_;
  test::CoreUnderTest node_;
  const privacy::NodeId other_ = privacy::NodeKey::FromSeed(test::SeedOf(1)).id();
  std::unique_ptr<NodeRounds> rounds_;
  std::string saved_;
  std::vector<uint64_t> sent_;
  int64_t ahead_ms_ = 0;  // of the wall clock
  bool agrees_ = true;    // the people whose lessons are in it
  bool records_ = true;   // their names can be recorded
};

class NoisedSharingRoundsTest : public SharingRoundsTest {
 protected:
  NoisedSharingRoundsTest() : SharingRoundsTest(test::GradientPlan()) {
    SetTier(privacy::ConsentTier::kDp);
  }
};

}  // namespace ruvd::sharing
