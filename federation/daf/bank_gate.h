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

// The values of an adapter by bank of the node's own schedule, each laid out as in AdapterUpdate.
using BankedValues = std::vector<std::vector<float>>;

// The result of shadow evaluation on this node's held-out text for one bank of a candidate,
// compared with what is served now.
struct BankScore {
  double gain = 0;            // nats per token; above 0, the candidate is better
  double standard_error = 0;  // of the gain, over documents
  size_t documents = 0;
  // Relative increase of the NELBO of general text at the bank's t; 0 if the evaluation does not
  // report it by bank
  double general_loss = 0;
};

struct ShadowScore {
  std::vector<BankScore> banks;
  // Relative increase of the NELBO of general text; 0.005 is half a percent
  double general_loss = 0;
};

// Scores a candidate beside what is served, without serving it. It is injected, because it runs the
// model.
using ShadowEvaluation = std::function<absl::StatusOr<ShadowScore>(const BankedValues& candidate)>;

struct GateOptions {
  // The gain must exceed this many standard errors
  double standard_errors = 1;
  double max_general_loss = 0.005;
  // With fewer held-out documents than this, a score decides nothing
  size_t least_documents = 5;
  // If true, a bank that shows neither gain nor harm is committed, too: an update that helps other
  // nodes' texts may show little on this node's text
  bool commits_harmless = false;
};

// Return whether a bank shows a gain, or the opposite. A gain that is not finite shows neither.
bool ShowsGain(const BankScore& score, const GateOptions& options);
bool ShowsHarm(const BankScore& score, const GateOptions& options);

enum class BankVerdict : uint8_t {
  kUnchanged,  // the candidate has nothing new there
  kCommitted,
  kRolledBack,
};

std::string_view BankVerdictName(BankVerdict verdict);  // "unchanged", "committed", ...

struct GateOutcome {
  // what to serve: the candidate's values where committed, else the current ones
  BankedValues values;
  std::vector<BankVerdict> verdicts;
  ShadowScore score;  // of the whole candidate
  // True if everything was rolled back because the remaining banks worsen general text, or cannot
  // be committed without the others
  bool all_rolled_back = false;
};

// Commits the banks that gain more than their standard error (or do no harm, depending on
// `options`) and do not worsen general text, and rolls the others back. If some were rolled back,
// the rest is evaluated once more, because a node may mix neighbouring banks, and if the conditions
// no longer hold, everything is rolled back. INVALID_ARGUMENT if the values do not have the same
// banks and sizes, or the evaluation has other banks; also returns the errors of the evaluation.
absl::StatusOr<GateOutcome> GateBanks(const BankedValues& current, const BankedValues& candidate,
                                      const ShadowEvaluation& evaluate, const GateOptions& options);

}  // namespace ruvd::federation
