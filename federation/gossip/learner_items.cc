// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/learner_items.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "federation/learner/global_state.h"
#include "federation/learner/verdict.h"
#include "federation/limits.h"
#include "federation/masked/messages.h"
#include "federation/reasons.h"
#include "privacy/limits.h"

namespace ruvd::federation {
namespace {

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid, "{}",
               fmt::format(what, std::forward<Args>(args)...));
}

absl::Status CheckVerdictItem(std::string_view payload, uint64_t round, const LearnerPlan& plan,
                              uint64_t newest) {
  ASSIGN_OR_RETURN(const Verdict verdict, DecodeVerdict(AsBytes(payload), plan));
  RETURN_IF_ERROR(CheckVerdict(verdict, plan, newest));
  if (!CountsQuality(plan.strategy)) {
    return Invalid("verdict on round {}, but the cluster's strategy counts none", round);
  }
  return verdict.round == round
             ? absl::OkStatus()
             : Invalid("verdict on round {} travels as one of round {}; update the sending node",
                       verdict.round, round);
}

absl::Status CheckPayload(ItemKind kind, std::string_view payload, uint64_t round,
                          const LearnerPlan& plan, uint64_t newest) {
  if (kind == ItemKind::kContribution) {
    ASSIGN_OR_RETURN(const Contribution contribution, DecodeContribution(AsBytes(payload), plan));
    RETURN_IF_ERROR(CheckContribution(contribution, plan, newest));
    if (contribution.round != round) {
      return Invalid("contribution of round {} travels as one of round {}; update the sending node",
                     contribution.round, round);
    }
    return contribution.members == 1
               ? absl::OkStatus()
               : Invalid("contribution says that it is a sum of {} members; a sum has no sender",
                         contribution.members);
  }
  if (kind == ItemKind::kVerdict) {
    return CheckVerdictItem(payload, round, plan, newest);
  }
  ASSIGN_OR_RETURN(const GlobalState state, DecodeState(AsBytes(payload), plan));
  if (state.round != round || round > newest || round % plan.window != 0) {
    return Invalid(
        "checkpoint of round {} travels as one of round {}; the rounds of checkpoints are "
        "multiples of {}; update the sending node",
        state.round, round, plan.window);
  }
  return absl::OkStatus();
}

// Returns the hash of the layout for which an item of a masked round is made.
absl::StatusOr<Digest> MaskLayoutOf(ItemKind kind, std::string_view payload) {
  if (kind == ItemKind::kMaskKey) {
    ASSIGN_OR_RETURN(const MaskKeyItem item, DecodeMaskKey(AsBytes(payload)));
    return item.offer.layout;
  }
  if (kind == ItemKind::kMaskSet) {
    ASSIGN_OR_RETURN(const MaskSetItem item, DecodeMaskSet(AsBytes(payload), {}));
    return item.clique.layout;
  }
  if (kind == ItemKind::kMaskCommitment) {
    ASSIGN_OR_RETURN(const MaskCommitmentItem item, DecodeMaskCommitment(AsBytes(payload)));
    return item.layout;
  }
  ASSIGN_OR_RETURN(const MaskShareItem item, DecodeMaskShareHead(AsBytes(payload)));
  return item.update.layout;
}

// Returns the bytes of all running means of a bank.
uint64_t MaxRunningMeansBytes(const LearnerPlan& plan) {
  return 1 + limits::kMaxRunningMeans * (uint64_t{48} + plan.RunningMeanValues() * sizeof(float));
}

}  // namespace

uint64_t MaxLearnerPayloadBytes(ItemKind kind, const LearnerPlan* plan) {
  if (plan == nullptr) {
    return 1;  // the content is refused by name
  }
  if (kind == ItemKind::kVerdict) {
    return limits::kMaxVerdictHeaderBytes +
           limits::kMaxContributions * plan->banks() * sizeof(float);
  }
  if (IsMaskItem(kind)) {
    const size_t values = std::min(LayoutOfSums(*plan).Values(), limits::kMaxMaskedValues);
    return kind == ItemKind::kMaskShare
               ? MaxMaskPayloadBytes(kind) - (limits::kMaxMaskedValues - values) * sizeof(uint32_t)
               : MaxMaskPayloadBytes(kind);
  }
  const uint64_t values = uint64_t{plan->banks()} * plan->values_per_bank;
  const uint64_t most = kind == ItemKind::kContribution
                            ? limits::kMaxContributionHeaderBytes + values * sizeof(float)
                            : limits::kMaxStateHeaderBytes +
                                  values * (sizeof(float) + 2 * sizeof(double)) +
                                  limits::kMaxParticipants * uint64_t{40} +
                                  plan->banks() * MaxRunningMeansBytes(*plan);
  return std::min(most, limits::kMaxPayloadBytes);
}

absl::Status CheckLearnerItem(ItemKind kind, std::string_view payload, uint64_t round,
                              const LearnerPlan* plan, int64_t wall_ms) {
  if (plan == nullptr) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kPlanMismatch,
        "a {} came, but this node takes part in no rounds, because its model has no frame; "
        "make one with `ruvd model frame` on all nodes",
        ItemKindName(kind));
  }
  return CheckPayload(kind, payload, round, *plan,
                      RoundAt(*plan, wall_ms + limits::kLearnerClockSkewMillis));
}

absl::Status CheckMaskItemOfPlan(ItemKind kind, std::string_view payload, uint64_t round,
                                 const LearnerPlan& plan, int64_t wall_ms) {
  if (round > RoundAt(plan, wall_ms + limits::kLearnerClockSkewMillis)) {
    return Invalid("{} of masked round {}, which has not begun; set the clock of the sending node",
                   ItemKindName(kind), round);
  }
  ASSIGN_OR_RETURN(const Digest layout, MaskLayoutOf(kind, payload));
  if (layout != LayoutOfSums(plan).Hash()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kPlanMismatch,
                 "a {} is for the sums of another plan; set the keys of the section federation "
                 "alike on all nodes",
                 ItemKindName(kind));
  }
  return absl::OkStatus();
}

}  // namespace ruvd::federation
