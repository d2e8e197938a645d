// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/tour/private_gain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::cli {
namespace {

constexpr double kStandardErrors = 2;

// The mean loss of each note over the nodes that measured it, by site and note.
std::vector<double> ByNote(const NoteLosses& losses) {
  std::map<std::pair<size_t, size_t>, std::pair<double, double>> sums;
  for (const auto& node : losses) {
    for (size_t site = 0; site < node.size(); ++site) {
      for (size_t note = 0; note < node[site].size(); ++note) {
        auto& [sum, count] = sums[{site, note}];
        sum += node[site][note];
        count += 1;
      }
    }
  }
  std::vector<double> means;
  means.reserve(sums.size());
  for (const auto& [place, sum] : sums) {
    means.push_back(sum.first / sum.second);
  }
  return means;
}

bool OfTheSameNotes(const NoteLosses& a, const NoteLosses& b) {
  const auto same_notes = [](const auto& x, const auto& y) {
    return std::ranges::equal(
        x, y, [](const auto& one, const auto& other) { return one.size() == other.size(); });
  };
  return std::ranges::equal(a, b, same_notes);
}

}  // namespace

absl::StatusOr<GainOnOthers> RequireGain(const NoteLosses& before, const NoteLosses& after) {
  const std::vector<double> first = ByNote(before);
  const std::vector<double> second = ByNote(after);
  if (!OfTheSameNotes(before, after) || first.size() < 2) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} notes were measured before and {} after the rounds; measure the same notes, "
                 "two at least",
                 first.size(), second.size());
  }
  const auto count = static_cast<double>(first.size());
  GainOnOthers result{.notes = first.size()};
  for (size_t i = 0; i < first.size(); ++i) {
    result.before += first[i] / count;
    result.after += second[i] / count;
  }
  result.gain = result.before - result.after;
  double squares = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    const double off = first[i] - second[i] - result.gain;
    squares += off * off;
  }
  result.standard_error = std::sqrt(squares / (count - 1) / count);
  if (!(result.gain > kStandardErrors * result.standard_error)) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kInternal,
        "the loss of the other nodes' notes did not fall by more than twice its standard "
        "error: {:.4f} before, {:.4f} now, gain {:+.4f} (standard error {:.4f}) nats/token",
        result.before, result.after, result.gain, result.standard_error);
  }
  return result;
}

}  // namespace ruvd::cli
