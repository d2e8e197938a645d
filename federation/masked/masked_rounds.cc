// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/masked/masked_rounds.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/masked/groups.h"
#include "privacy/identity/admission.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd {

std::vector<NodeId> MaskedMembers(std::span<const Member> members, const Digest& model_hash) {
  std::vector<NodeId> ids;
  for (const Member& member : members) {
    if (member.counts() && (member.roles & roles::kContributor) != 0 &&
        member.model_hash == model_hash) {
      ids.push_back(member.id);
    }
  }
  std::ranges::sort(ids);
  return ids;
}

absl::StatusOr<MaskedRounds> MaskedRounds::Create(MaskedRoundsConfig config) {
  RETURN_IF_ERROR(config.layout.Check());
  const bool ascending = 0 < config.keys_ms && config.keys_ms < config.shares_ms &&
                         config.shares_ms < config.attempt_ms &&
                         config.attempt_ms <= limits::kMaxMaskAttemptMillis;
  const auto attempts = static_cast<int64_t>(limits::kMaxMaskAttempts);
  if (!ascending || config.period_ms / attempts < config.attempt_ms) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "masked rounds every {} ms of {} attempts of {} ms; give a longer period, and times "
        "of an attempt that ascend",
        config.period_ms, attempts, config.attempt_ms);
  }
  return MaskedRounds(std::move(config));
}

absl::StatusOr<MaskedRound> MaskedRounds::BeginRound(std::span<const Member> members,
                                                     std::span<const Item> items,
                                                     uint64_t last_reservation,
                                                     uint64_t number) const {
  const masking::MaskRound round{.cluster = config_.cluster, .round = number};
  for (std::vector<NodeId>& group :
       MaskedGroups(round, MaskedMembers(members, config_.model_hash))) {
    if (std::ranges::binary_search(group, config_.self)) {
      return MaskedRound::Begin(
          {.round = round,
           .layout = config_.layout,
           .self = config_.self,
           .group = std::move(group),
           .schedule = {.start_ms = static_cast<int64_t>(number) * config_.period_ms,
                        .keys_ms = config_.keys_ms,
                        .shares_ms = config_.shares_ms,
                        .attempt_ms = config_.attempt_ms},
           .last_reservation = last_reservation,
           .random = config_.random},
          items);
    }
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kCliqueInvalid,
               "a masked sum takes {} members that contribute, this node among them; wait for more",
               limits::kMinCliqueMembers);
}

MaskedSteps MaskedRounds::OnTick(std::span<const Member> members, std::span<const Item> items,
                                 uint64_t last_reservation, Instant now) {
  MaskedSteps steps;
  const auto due = static_cast<uint64_t>(std::max<int64_t>(now.wall_ms, 0) / config_.period_ms);
  if (due > number_) {  // never one twice, also where the clock went back
    number_ = due;
    round_.reset();
    auto begun = BeginRound(members, items, last_reservation, due);
    if (!begun.ok()) {
      steps.push_back(MaskedRoundEnded{.outcome = begun.status()});
      return steps;
    }
    round_.emplace(*std::move(begun));
  }
  if (round_) {
    std::ranges::move(round_->OnTick(now), std::back_inserter(steps));
  }
  return steps;
}

absl::StatusOr<MaskedSteps> MaskedRounds::OnItem(const Item& item, Instant now) {
  if (!round_ || !IsMaskItem(item.kind) || item.round != number_) {
    return MaskedSteps();
  }
  return round_->OnItem(item, now);
}

absl::StatusOr<MaskedSteps> MaskedRounds::Provide(uint64_t round, uint8_t attempt,
                                                  masking::MaskInput input, Instant now) {
  if (!round_ || round != number_) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kMaskReused,
                 "masked round {} is over, no share is wanted; wait for the next one", round);
  }
  return round_->Provide(attempt, std::move(input), now);
}

}  // namespace ruvd
