// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace ruvd::federation {

// Values of an adapter by bank of the node's own schedule, each as AdapterUpdate's.
using BankedValues = std::vector<std::vector<float>>;

// What shadow evaluation on this node's held-out text says of a bank of a candidate, against what
// is served now.
struct BankScore {
  double gain = 0;            // nats per token, above 0: the candidate is better
  double standard_error = 0;  // of the gain, over documents
  size_t documents = 0;
  // By how much of itself the NELBO of general text at the bank's t worsens; 0 where the evaluation
  // does not tell it by bank.
  double general_loss = 0;
};

struct ShadowScore {
  std::vector<BankScore> banks;
  // By how much of itself the NELBO of general text worsens; 0.005 is half a percent.
  double general_loss = 0;
};

// Scores a candidate beside what is served, without serving it. Injected: it runs the model.
using ShadowEvaluation = std::function<absl::StatusOr<ShadowScore>(const BankedValues& candidate)>;

struct GateOptions {
  // The gain must be above so many standard errors.
  double standard_errors = 1;
  double max_general_loss = 0.005;
  // Fewer held-out documents decide nothing.
  size_t least_documents = 5;
  // Commits a bank that shows neither gain nor harm, too: what helps other nodes' texts says little
  // about this node's.
  bool commits_harmless = false;
};

// Whether a bank's gain is shown, or its opposite is. A gain that is no finite number is not.
bool ShowsGain(const BankScore& score, const GateOptions& options);
bool ShowsHarm(const BankScore& score, const GateOptions& options);

enum class BankVerdict : uint8_t {
  kUnchanged,  // the candidate has nothing new there
  kCommitted,
  kRolledBack,
};

std::string_view BankVerdictName(BankVerdict verdict);  // "unchanged", "committed", ...

struct GateOutcome {
  BankedValues values;  // what to serve: the candidate's where committed, else the current ones
  std::vector<BankVerdict> verdicts;
  ShadowScore score;  // of the whole candidate
  // Everything was rolled back because what was left of it worsens general text or cannot be
  // committed without the rest.
  bool all_rolled_back = false;
};

// Commits the banks that gain beyond their standard error (or do no harm, as `options` have it) and
// do not worsen general text, and rolls the others back; where some were, what is left is evaluated
// once more, since a node may mix neighbouring banks, and all of it rolled back unless that still
// holds. INVALID_ARGUMENT for values that do not have the same banks
// and sizes, or an evaluation of other banks; errors of the evaluation.
absl::StatusOr<GateOutcome> GateBanks(const BankedValues& current, const BankedValues& candidate,
                                      const ShadowEvaluation& evaluate, const GateOptions& options);

}  // namespace ruvd::federation
