// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Members of a cluster that exchange the items of rounds, without gossip between them.

#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "federation/learner/cluster_rounds.h"
#include "federation/learner/contribution.h"
#include "tests/federation/learner_fixture.h"

namespace ruvd::test {

inline constexpr uint64_t kFirstRound = 1000;

inline federation::LearnerPlan ShortPlan() {
  federation::LearnerPlan plan = DeltaPlan();
  plan.values_per_bank = 5;
  plan.window = 4;
  return plan;
}

inline int64_t BeginOf(const federation::LearnerPlan& plan, uint64_t round) {
  return static_cast<int64_t>(round) * plan.round_ms;
}

inline federation::Item ContributionItem(const federation::LearnerPlan& plan,
                                         const federation::RoundContribution& one) {
  federation::Item item;
  item.id = one.id;
  item.kind = federation::ItemKind::kContribution;
  item.origin = one.origin;
  item.round = one.contribution.round;
  item.payload = std::make_shared<const std::string>(EncodeContribution(one.contribution, plan));
  return item;
}
inline federation::Item ContributionItem(const federation::LearnerPlan& plan, uint64_t round,
                                         size_t node, Random& random) {
  return ContributionItem(plan, SomeContribution(plan, round, node, "item", random));
}

inline federation::Item VerdictItem(const federation::LearnerPlan& plan,
                                    const federation::RoundVerdict& verdict) {
  federation::Item item;
  item.id = verdict.id;
  item.kind = federation::ItemKind::kVerdict;
  item.origin = verdict.judge;
  item.round = verdict.verdict.round;
  item.payload = std::make_shared<const std::string>(EncodeVerdict(verdict.verdict, plan));
  return item;
}

inline federation::Item CheckpointItem(size_t node,
                                       const federation::ClusterRounds::Checkpoint& checkpoint) {
  federation::Item item;
  item.id = Sha256(fmt::format("checkpoint {} of {}", checkpoint.round, node));
  item.kind = federation::ItemKind::kCheckpoint;
  item.origin = LearnerNode(node);
  item.round = checkpoint.round;
  item.payload = std::make_shared<const std::string>(checkpoint.bytes);
  return item;
}

// A member with the items that it would hold in its gossip.
struct RoundsMember {
  size_t number = 0;
  std::optional<federation::ClusterRounds> rounds;
};

// Members that pass items to each other at once, except those that are cut off.
class RoundsCluster {
 public:
  RoundsCluster(federation::LearnerPlan plan, size_t members, uint64_t seed)
      : plan_(std::move(plan)), random_(seed) {
    for (size_t i = 0; i < members; ++i) {
      Join(i);
    }
  }

  RoundsMember& Join(size_t number, const std::string& saved = "") {
    RoundsMember& member = members_.emplace_back();
    member.number = number;
    Start(member, saved);
    return member;
  }
  // Starts a member again from what it saved and from its items.
  void Restart(size_t index, const std::string& saved) { Start(members_[index], saved); }

  void Cut(size_t index) { cut_.insert(index); }
  // The process stands still and hears nothing until Heal.
  void Pause(size_t index) {
    Cut(index);
    paused_.insert(index);
  }
  void Heal() {
    cut_.clear();
    paused_.clear();
    for (RoundsMember& member : members_) {
      GiveAll(member);
    }
  }

  // Lets one round pass in which the members contribute.
  void Pass() {
    ++round_;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (paused_.contains(i)) {
        continue;
      }
      members_[i].rounds->OnTime(BeginOf(plan_, round_));
      Send(i, ContributionItem(plan_, round_, members_[i].number, random_));
    }
    for (size_t i = 0; i < members_.size(); ++i) {
      if (const auto checkpoint = members_[i].rounds->TakeCheckpoint()) {
        Send(i, CheckpointItem(members_[i].number, *checkpoint));
      }
    }
  }

  Digest StateOf(size_t index) {
    return members_[index].rounds->StateBefore(round_ + 1).DigestOf(plan_);
  }
  bool Agree() {
    for (size_t i = 1; i < members_.size(); ++i) {
      if (StateOf(i) != StateOf(0)) {
        return false;
      }
    }
    return true;
  }
  // The checkpoints of a round that members sent.
  std::vector<federation::Item> VotesOf(uint64_t round) const {
    std::vector<federation::Item> votes;
    for (const Sent& sent : items_) {
      if (sent.item.kind == federation::ItemKind::kCheckpoint && sent.item.round == round) {
        votes.push_back(sent.item);
      }
    }
    return votes;
  }
  RoundsMember& at(size_t index) { return members_[index]; }
  uint64_t round() const { return round_; }
  const federation::LearnerPlan& plan() const { return plan_; }
  Random& random() { return random_; }
  void Send(size_t from, const federation::Item& item) {
    items_.push_back({item, cut_.contains(from) ? std::optional(from) : std::nullopt});
    for (size_t i = 0; i < members_.size(); ++i) {
      if (i == from || (!cut_.contains(i) && !cut_.contains(from))) {
        Give(members_[i], item);
      }
    }
  }

 private:
  struct Sent {
    federation::Item item;
    std::optional<size_t> only;  // a member that was cut off when it sent the item
  };
  void Start(RoundsMember& member, const std::string& saved) {
    absl::Status unused;
    auto rounds =
        federation::ClusterRounds::Create({.plan = plan_, .self = LearnerNode(member.number)},
                                          saved, BeginOf(plan_, round_), &unused);
    RUVD_CHECK(rounds.ok() && unused.ok());
    member.rounds.emplace(*std::move(rounds));
    GiveAll(member);
  }
  bool Lives(const federation::Item& item) const {
    return BeginOf(plan_, item.round) + LearnerLifeMillis(plan_) > BeginOf(plan_, round_) ||
           item.kind == federation::ItemKind::kCheckpoint;
  }
  void Give(RoundsMember& member, const federation::Item& item) {
    (void)member.rounds->OnItem(item);  // of settled rounds it is refused
  }
  void GiveAll(RoundsMember& member) {
    for (const Sent& sent : items_) {
      if (Lives(sent.item)) {
        Give(member, sent.item);
      }
    }
  }

  federation::LearnerPlan plan_;
  Random random_;
  uint64_t round_ = kFirstRound;
  std::vector<RoundsMember> members_;
  std::vector<Sent> items_;
  std::set<size_t> cut_;
  std::set<size_t> paused_;
};

inline void Pass(RoundsCluster& cluster, uint64_t rounds) {
  for (uint64_t i = 0; i < rounds; ++i) {
    cluster.Pass();
  }
}

}  // namespace ruvd::test
