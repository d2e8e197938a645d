// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/bank_gate.h"

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::federation {
namespace {

absl::Status CheckSizes(const BankedValues& current, const BankedValues& candidate) {
  const bool same = std::ranges::equal(
      current, candidate, [](const auto& a, const auto& b) { return a.size() == b.size(); });
  return same ? absl::OkStatus()
              : Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                      "the candidate has other banks than what is served; align it first");
}

absl::StatusOr<ShadowScore> Score(const BankedValues& candidate, const ShadowEvaluation& evaluate) {
  ASSIGN_OR_RETURN(ShadowScore score, evaluate(candidate));
  if (score.banks.size() != candidate.size()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the shadow evaluation scored {} banks of {}", score.banks.size(),
                 candidate.size());
  }
  return score;
}

bool MayCommit(const BankScore& score, const GateOptions& options) {
  const bool harmless = options.commits_harmless && std::isfinite(score.gain) &&
                        std::isfinite(score.standard_error) && !ShowsHarm(score, options);
  return (harmless || ShowsGain(score, options)) && score.general_loss <= options.max_general_loss;
}

}  // namespace

std::string_view BankVerdictName(BankVerdict verdict) {
  switch (verdict) {
    case BankVerdict::kUnchanged:
      return "unchanged";
    case BankVerdict::kCommitted:
      return "committed";
    case BankVerdict::kRolledBack:
      return "rolled_back";
  }
  return "unknown";
}

bool ShowsGain(const BankScore& score, const GateOptions& options) {
  return score.documents >= options.least_documents && std::isfinite(score.gain) &&
         score.gain > 0 && score.gain > options.standard_errors * score.standard_error;
}

bool ShowsHarm(const BankScore& score, const GateOptions& options) {
  return score.documents >= options.least_documents && score.gain < 0 &&
         -score.gain > options.standard_errors * score.standard_error;
}

absl::StatusOr<GateOutcome> GateBanks(const BankedValues& current, const BankedValues& candidate,
                                      const ShadowEvaluation& evaluate,
                                      const GateOptions& options) {
  RETURN_IF_ERROR(CheckSizes(current, candidate));
  GateOutcome outcome;
  outcome.values = current;
  outcome.verdicts.assign(current.size(), BankVerdict::kUnchanged);
  if (candidate == current) {
    outcome.score.banks.resize(current.size());
    return outcome;
  }
  ASSIGN_OR_RETURN(outcome.score, Score(candidate, evaluate));
  bool some_kept = false;
  bool some_dropped = false;
  for (size_t bank = 0; bank < current.size(); ++bank) {
    if (candidate[bank] == current[bank]) {
      continue;
    }
    const bool commits = MayCommit(outcome.score.banks[bank], options);
    outcome.verdicts[bank] = commits ? BankVerdict::kCommitted : BankVerdict::kRolledBack;
    some_kept |= commits;
    some_dropped |= !commits;
    if (commits) {
      outcome.values[bank] = candidate[bank];
    }
  }
  if (!some_kept) {
    return outcome;
  }
  ShadowScore left = outcome.score;
  if (some_dropped) {
    ASSIGN_OR_RETURN(left, Score(outcome.values, evaluate));
  }
  bool holds = left.general_loss <= options.max_general_loss;
  for (size_t bank = 0; bank < current.size(); ++bank) {
    holds &=
        outcome.verdicts[bank] != BankVerdict::kCommitted || MayCommit(left.banks[bank], options);
  }
  if (!holds) {
    outcome.all_rolled_back = true;
    outcome.values = current;
    std::ranges::replace(outcome.verdicts, BankVerdict::kCommitted, BankVerdict::kRolledBack);
  }
  return outcome;
}

}  // namespace ruvd::federation
