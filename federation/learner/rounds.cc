// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/rounds.h"

#include <map>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/round_step.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

absl::Status CheckAfter(uint64_t round, const GlobalState& checkpoint) {
  return round > checkpoint.round
             ? absl::OkStatus()
             : Error(absl::StatusCode::kFailedPrecondition, reasons::kRoundSealed,
                     "round {} is not after the checkpoint, which is of round {}; leave it out",
                     round, checkpoint.round);
}

}  // namespace

absl::StatusOr<GlobalState> ApplyRounds(const LearnerPlan& plan, const GlobalState& checkpoint,
                                        const RoundSet& set, uint64_t until,
                                        std::vector<RoundReport>* reports) {
  RETURN_IF_ERROR(plan.Check());
  RETURN_IF_ERROR(CheckState(checkpoint, plan));
  if (until < checkpoint.round) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the state of round {} lies before the checkpoint, which is of round {}", until,
                 checkpoint.round);
  }
  std::map<uint64_t, RoundSet> rounds;
  for (const RoundContribution* one : set.contributions) {
    RETURN_IF_ERROR(CheckRoundContribution(*one, plan));
    RETURN_IF_ERROR(CheckAfter(one->contribution.round, checkpoint));
    rounds[one->contribution.round].contributions.push_back(one);
  }
  for (const RoundVerdict* verdict : set.verdicts) {
    RETURN_IF_ERROR(CheckRoundVerdict(*verdict, plan));
    RETURN_IF_ERROR(CheckAfter(verdict->verdict.round, checkpoint));
    rounds[verdict->verdict.round].verdicts.push_back(verdict);
  }
  GlobalState state = checkpoint;
  for (const auto& [round, part] : rounds) {
    if (round > until) {
      break;
    }
    if (!part.contributions.empty()) {
      RoundReport report;
      ApplyRound(plan, part, round, &state, &report);
      if (reports != nullptr) {
        reports->push_back(std::move(report));
      }
    }
  }
  state.round = until;
  return state;
}

}  // namespace ruvd::federation
