// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/bank_alignment.h"

#include <algorithm>
#include <iterator>

namespace ruvd::federation {
namespace {

struct Range {
  double low = 0;
  double high = 1;
};

Range RangeOf(std::span<const float> boundaries, size_t bank) {
  return {.low = bank == 0 ? 0.0 : double{boundaries[bank - 1]},
          .high = bank == boundaries.size() ? 1.0 : double{boundaries[bank]}};
}

double Overlap(const Range& a, const Range& b) {
  return std::max(0.0, std::min(a.high, b.high) - std::max(a.low, b.low));
}

AlignedBank MeanOver(const AdapterUpdate& update, const Range& range) {
  std::vector<const BankValues*> parts;
  std::vector<double> lengths;
  double covered = 0;
  for (const BankValues& bank : update.banks) {
    const double overlap = Overlap(range, RangeOf(update.boundaries, bank.bank));
    if (overlap > 0) {
      parts.push_back(&bank);
      lengths.push_back(overlap);
      covered += overlap;
    }
  }
  AlignedBank aligned;
  const double coverage = std::min(1.0, covered / (range.high - range.low));
  if (coverage < kMinCoverage) {
    return aligned;
  }
  aligned.coverage = coverage;
  if (parts.size() == 1) {
    // copied bit for bit, instead of multiplied by a rounded factor of one
    aligned.values = parts.front()->values;
    return aligned;
  }
  aligned.values.resize(parts.front()->values.size());
  for (size_t i = 0; i < aligned.values.size(); ++i) {
    double sum = 0;
    for (size_t part = 0; part < parts.size(); ++part) {
      sum += lengths[part] * double{parts[part]->values[i]};
    }
    aligned.values[i] = static_cast<float>(sum / covered);
  }
  return aligned;
}

}  // namespace

size_t BankAt(std::span<const float> boundaries, float t) {
  return static_cast<size_t>(std::ranges::upper_bound(boundaries, t) - boundaries.begin());
}

std::vector<AlignedBank> AlignBanks(const AdapterUpdate& update,
                                    std::span<const float> boundaries) {
  std::vector<AlignedBank> aligned;
  for (size_t bank = 0; bank <= boundaries.size(); ++bank) {
    aligned.push_back(MeanOver(update, RangeOf(boundaries, bank)));
  }
  return aligned;
}

}  // namespace ruvd::federation
