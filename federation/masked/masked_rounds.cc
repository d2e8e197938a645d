// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/masked/masked_rounds.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/masked/groups.h"
#include "federation/masked/late_sums.h"
#include "federation/reasons.h"
#include "privacy/identity/admission.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::federation {
namespace {

absl::Status TooFew(size_t announced, size_t participants) {
  return Error(
      absl::StatusCode::kFailedPrecondition, reasons::kCliqueInvalid,
      "a masked sum needs {} nodes, but {} announced in the round before that they take part "
      "under the same configuration, and {} of them must stay out, because they owed a share or "
      "spoiled a sum; wait for more",
      limits::kMinCliqueMembers, announced, announced - participants);
}

absl::Status LeftOut(const ConductMark& mark) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kMaskedRoundFailed,
               "the members leave this node out of masked sums until round {}, because it owed {} "
               "share(s), and {} sum(s) with it were impossible; see that the node is always on "
               "line, and that it runs the same version as the others",
               mark.out_until, mark.withheld, mark.failures);
}

bool IsKeyOf(const Item& item, const privacy::NodeId& node, uint64_t round) {
  return item.kind == ItemKind::kMaskKey && item.origin == node && item.round == round;
}

}  // namespace

std::map<privacy::NodeId, MaskAnnouncement> MaskAnnouncementsIn(std::span<const Item> items,
                                                                uint64_t round,
                                                                const Digest& layout,
                                                                int64_t created_until_ms) {
  std::map<privacy::NodeId, MaskKeyItem> keys;
  for (const Item& item : items) {
    if (item.kind != ItemKind::kMaskKey || item.round != round ||
        item.created_ms > created_until_ms) {
      continue;
    }
    auto key = DecodeMaskKey(AsBytes(*item.payload));
    if (!key.ok() || key->offer.layout != layout) {
      continue;
    }
    const auto [known, added] = keys.try_emplace(item.origin, *key);
    // Two different keys of one attempt are a lie; all nodes that have both take the same one.
    if (!added && std::tie(key->attempt, key->offer.key) <
                      std::tie(known->second.attempt, known->second.offer.key)) {
      known->second = *std::move(key);
    }
  }
  std::map<privacy::NodeId, MaskAnnouncement> announcements;
  for (auto& [node, key] : keys) {
    announcements.emplace(node, std::move(key.announcement));
  }
  return announcements;
}

MaskedRounds::MaskedRounds(MaskedRoundsConfig config)
    : config_(std::move(config)), layout_hash_(config_.layout.Hash()) {}

absl::StatusOr<MaskedRounds> MaskedRounds::Create(MaskedRoundsConfig config) {
  RETURN_IF_ERROR(config.layout.Check());
  const bool ascending = 0 < config.keys_ms && config.keys_ms < config.commits_ms &&
                         config.commits_ms < config.shares_ms &&
                         config.shares_ms < config.attempt_ms &&
                         config.attempt_ms <= limits::kMaxMaskAttemptMillis;
  const auto attempts = static_cast<int64_t>(limits::kMaxMaskAttempts);
  if (!ascending || config.period_ms / attempts < config.attempt_ms) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "masked rounds every {} ms cannot have {} attempts of {} ms; give a longer period, and "
        "ascending times for an attempt",
        config.period_ms, attempts, config.attempt_ms);
  }
  return MaskedRounds(std::move(config));
}

uint64_t MaskedRounds::RoundAt(Instant now) const {
  return static_cast<uint64_t>(std::max<int64_t>(now.wall_ms, 0) / config_.period_ms);
}

bool MaskedRounds::Due(Instant now) const {
  return RoundAt(now) > number_;  // a clock that is set back by a little repeats no round
}

bool MaskedRounds::GoBack(Instant now) {
  const uint64_t round = RoundAt(now);
  if (round + 1 >= number_) {
    return false;
  }
  // Rounds after it that this node has seen before begin again, as they do after a restart: items
  // that it gave to them are known, so it gives nothing twice. In this round it may have given a
  // key, and a second one would contradict it.
  number_ = round;
  groups_.clear();
  group_of_.clear();
  conduct_.clear();  // the outcome of a round that begins again would be added twice
  key_given_ = true;
  return true;
}

std::vector<std::vector<privacy::NodeId>> MaskedRounds::DrawGroups(std::span<const Item> items) {
  const auto announced = [&](uint64_t rounds_ago) {
    const uint64_t of = number_ - std::min(number_, rounds_ago);
    return MaskAnnouncementsIn(items, of, layout_hash_, StartOf(of + 1) - config_.attempt_ms);
  };
  const std::map<privacy::NodeId, MaskAnnouncement> takers = announced(1);
  const std::map<privacy::NodeId, MaskAnnouncement> before = announced(2);
  std::vector<std::vector<ConductMark>> votes;
  std::vector<Digest> beacons;
  std::map<privacy::NodeId, DrawnNumber> numbers;
  for (const auto& [node, announcement] : takers) {
    votes.push_back(announcement.marks);
    beacons.push_back(announcement.beacon);
    const auto pledged = before.find(node);
    numbers[node] = {
        .pledge = pledged == before.end() ? std::nullopt : std::optional(pledged->second.pledge),
        .number = announcement.number};
  }
  // Too few for a group would decide alone what all remember, and how the next groups are drawn.
  if (takers.size() < limits::kMinCliqueMembers) {
    numbers.clear();
  } else {
    conduct_ = ConductByVotes(votes);
  }
  next_beacon_ = GroupBeacon({.cluster = config_.cluster, .round = number_ + 1}, numbers);
  AddOutcomes(
      GroupOutcomesOf({.cluster = config_.cluster, .round = number_ - 1}, config_.layout, items),
      number_ - 1, &conduct_);
  ForgetOldConduct(number_, &conduct_);
  std::vector<privacy::NodeId> members;
  std::map<privacy::NodeId, uint8_t> on_probation;
  for (const auto& [node, announcement] : takers) {
    if (IsLeftOut(conduct_, node, number_)) {
      continue;
    }
    members.push_back(node);
    if (IsOnProbation(conduct_, node)) {
      on_probation.emplace(node, conduct_.at(node).failures);
    }
  }
  announced_ = takers.size();
  participants_ = members.size();
  return MaskedGroups(BeaconByVotes(beacons), members, on_probation);
}

void MaskedRounds::PrepareAnnouncement() {
  // A number fits only the pledge of the round before; after a pause it counts as zero.
  announcement_ = {.pledge = {}, .number = next_number_, .beacon = next_beacon_, .marks = {}};
  config_.random(next_number_);
  announcement_.pledge = PledgeOf(config_.cluster, config_.self, next_number_);
  for (const auto& [member, mark] : conduct_) {
    announcement_.marks.push_back(mark);
  }
}

absl::StatusOr<MaskedRound> MaskedRounds::BeginGroup(std::vector<privacy::NodeId> group,
                                                     std::span<const Item> items,
                                                     uint64_t last_reservation,
                                                     const TakesPart& takes_part) {
  const bool own = std::ranges::binary_search(group, config_.self);
  const bool gives = own && takes_part(std::max(group.size(), UsualGroupSize(participants_)));
  return MaskedRound::Begin({.round = {.cluster = config_.cluster, .round = number_},
                             .layout = config_.layout,
                             .self = config_.self,
                             .group = std::move(group),
                             .takes_part = gives,
                             .ready = config_.ready,
                             .schedule = {.start_ms = StartOf(number_),
                                          .keys_ms = config_.keys_ms,
                                          .commits_ms = config_.commits_ms,
                                          .shares_ms = config_.shares_ms,
                                          .attempt_ms = config_.attempt_ms},
                             .last_reservation = last_reservation,
                             .announcement = announcement_,
                             .random = config_.random},
                            items);
}

absl::Status MaskedRounds::WhyInNoGroup() const {
  if (IsLeftOut(conduct_, config_.self, number_)) {
    return LeftOut(conduct_.at(config_.self));
  }
  return groups_.empty() ? TooFew(announced_, participants_) : absl::OkStatus();
}

MaskedSteps MaskedRounds::Begin(std::span<const Item> items, uint64_t last_reservation,
                                const TakesPart& takes_part, Instant now) {
  MaskedSteps steps;
  if (!Due(now)) {
    return steps;
  }
  number_ = RoundAt(now);
  groups_.clear();
  group_of_.clear();
  key_given_ = std::ranges::any_of(
      items, [this](const Item& item) { return IsKeyOf(item, config_.self, number_); });
  std::vector<std::vector<privacy::NodeId>> groups = DrawGroups(items);
  PrepareAnnouncement();
  for (size_t group = 0; group < groups.size(); ++group) {
    for (const privacy::NodeId& id : groups[group]) {
      group_of_[id] = group;
    }
  }
  std::vector<std::vector<Item>> known(groups.size());
  for (const Item& item : items) {
    const auto group = group_of_.find(item.origin);
    if (IsMaskItem(item.kind) && item.round == number_ && group != group_of_.end()) {
      known[group->second].push_back(item);
    }
  }
  for (size_t group = 0; group < groups.size(); ++group) {
    const size_t members = groups[group].size();
    auto begun = BeginGroup(std::move(groups[group]), known[group], last_reservation, takes_part);
    // the same error holds for all groups: too few members besides those that may collude
    if (!begun.ok()) {
      groups_.clear();
      group_of_.clear();
      steps.push_back(MaskedRoundEnded{.outcome = begun.status(), .group = members});
      return steps;
    }
    groups_.push_back(*std::move(begun));
  }
  if (absl::Status none = WhyInNoGroup(); !none.ok()) {
    steps.push_back(MaskedRoundEnded{.outcome = std::move(none)});
  }
  std::ranges::move(OnTick(now), std::back_inserter(steps));
  return steps;
}

MaskedSteps MaskedRounds::RecordSteps(MaskedSteps steps) {
  key_given_ |= std::ranges::any_of(steps, [](const MaskedStep& step) {
    const auto* const offer = std::get_if<OfferMaskItem>(&step);
    return offer != nullptr && offer->kind == ItemKind::kMaskKey;
  });
  return steps;
}

MaskedSteps MaskedRounds::OnTick(Instant now) {
  MaskedSteps steps;
  for (MaskedRound& group : groups_) {
    std::ranges::move(group.OnTick(now), std::back_inserter(steps));
  }
  return RecordSteps(std::move(steps));
}

absl::StatusOr<MaskedSteps> MaskedRounds::OnItem(const Item& item, Instant now) {
  if (!IsMaskItem(item.kind) || item.round != number_ || groups_.empty()) {
    return MaskedSteps();
  }
  const auto group = group_of_.find(item.origin);
  if (group == group_of_.end()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kCliqueInvalid,
                 "node {} is in no group of masked round {}; it may take part in the next one",
                 ToHex(item.origin).substr(0, 16), number_);
  }
  ASSIGN_OR_RETURN(MaskedSteps steps, groups_[group->second].OnItem(item, now));
  return RecordSteps(std::move(steps));
}

absl::StatusOr<MaskedRound*> MaskedRounds::OwnGroup(uint64_t round) {
  const auto group = group_of_.find(config_.self);
  if (group == group_of_.end() || round != number_) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kMaskReused,
                 "masked round {} is over and needs no share; wait for the next one", round);
  }
  return &groups_[group->second];
}

absl::StatusOr<MaskedSteps> MaskedRounds::SubmitInput(uint64_t round, uint8_t attempt,
                                                      privacy::masking::MaskInput input,
                                                      Instant now) {
  ASSIGN_OR_RETURN(MaskedRound* const group, OwnGroup(round));
  ASSIGN_OR_RETURN(MaskedSteps steps, group->SubmitInput(attempt, std::move(input), now));
  return RecordSteps(std::move(steps));
}

absl::StatusOr<MaskedSteps> MaskedRounds::Reveal(uint64_t round, uint8_t attempt,
                                                 uint64_t reservation, Instant now) {
  ASSIGN_OR_RETURN(MaskedRound* const group, OwnGroup(round));
  ASSIGN_OR_RETURN(MaskedSteps steps, group->Reveal(attempt, reservation, now));
  return RecordSteps(std::move(steps));
}

bool MaskedRounds::MayAnnounce(Instant now) const {
  if (number_ == 0 || key_given_) {
    return false;
  }
  // The other members of its group wait for the set of all that gave a key.
  const int64_t last_keys_ms =
      StartOf(number_) + static_cast<int64_t>(limits::kMaxMaskAttempts - 1) * config_.attempt_ms +
      config_.keys_ms;
  return !group_of_.contains(config_.self) || now.wall_ms > last_keys_ms;
}

OfferMaskItem MaskedRounds::Announce() {
  key_given_ = true;
  const auto unused = privacy::masking::MaskingSession::Begin(
      {.cluster = config_.cluster, .round = number_}, config_.layout, config_.self, config_.random);
  RUVD_CHECK(unused.ok());  // the layout was checked
  return {.kind = ItemKind::kMaskKey,
          .payload = EncodeMaskKey(
              {.attempt = 0, .offer = unused->offer(), .announcement = announcement_})};
}

std::vector<std::vector<privacy::NodeId>> MaskedRounds::groups() const {
  std::vector<std::vector<privacy::NodeId>> groups(groups_.size());
  for (const auto& [node, group] : group_of_) {
    groups[group].push_back(node);
  }
  return groups;
}

void MaskedRounds::SetReady() {
  for (MaskedRound& group : groups_) {
    group.SetReady();
  }
}

void MaskedRounds::StopSharing() {
  for (MaskedRound& group : groups_) {
    group.StopSharing();
  }
}

void MaskedRounds::Refuse(const privacy::NodeId& member) {
  if (const auto group = group_of_.find(member); group != group_of_.end()) {
    groups_[group->second].Refuse(member);
  }
}

}  // namespace ruvd::federation
