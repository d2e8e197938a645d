// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/experiments/paired.h"

namespace ruvd::bench {

// Two paired quantities, one of each for every piece of a domain's text.
struct PairedPieces {
  std::vector<double> part;
  std::vector<double> whole;
  std::vector<size_t> documents;  // by piece, as for BootstrapDocuments
};

// The sum over domains of the mean part over the same sum of wholes: every domain counts alike.
// The interval is the 95 % percentile interval of 10,000 bootstraps of documents within their
// domains. Where the whole is not above zero there is nothing to take a share of: the mean is NaN
// and the bounds infinite; a bound is infinite, too, where that is so in more than 2.5 % of the
// bootstraps or a domain has fewer than kMinDocuments documents.
Interval ShareOf(std::span<const PairedPieces> domains, uint64_t seed = 1);

// "+0.0123 (-0.0100 to +0.0346)", as for changes in nats per token
std::string SignedText(const Interval& interval);

// What is expected of a figure.
struct Expectation {
  std::string what;
  double bound = 0;
  bool at_least = true;  // else at most
};

enum class Verdict : uint8_t {
  kShown,      // the whole interval is where it should be
  kMet,        // the mean is there, but the interval reaches beyond
  kMissed,     // the mean is not there, but the interval reaches it
  kRefuted,    // no part of the interval is there
  kUndecided,  // there is no mean
};

Verdict Judge(const Expectation& expectation, const Interval& figure);
std::string VerdictName(Verdict verdict);
// "verdict: WHAT: met, 0.89 (0.80 to 0.97), expected at least 0.85"
std::string VerdictLine(const Expectation& expectation, const Interval& figure);

// The verdicts of an experiment, which are printed as they are added.
class Verdicts {
 public:
  void Add(const std::string& key, const Expectation& expectation, const Interval& figure);
  // Returns all of them by key.
  nlohmann::json Take() { return std::move(json_); }

 private:
  nlohmann::json json_;
};

// By domain: the mean over nodes of what `of` returns for the node's pieces there; empty where no
// node has a value.
template <typename Of>
std::vector<double> MeanOverNodes(size_t nodes, size_t domain, const Of& of) {
  std::vector<double> mean;
  double count = 0;
  for (size_t node = 0; node < nodes; ++node) {
    const std::vector<double> own = of(node, domain);
    mean.resize(std::max(mean.size(), own.size()));
    for (size_t i = 0; i < own.size(); ++i) {
      mean[i] += own[i];
    }
    count += own.empty() ? 0 : 1;
  }
  for (double& value : mean) {
    value /= count;
  }
  return mean;
}

// The node whose interval is the worst for "never above zero".
struct Worst {
  size_t node = 0;
  Interval change;
};

template <typename Of>
Worst WorstOf(size_t nodes, const Of& of) {
  Worst worst;
  for (size_t node = 0; node < nodes; ++node) {
    const Interval change = of(node);
    if (node == 0 || change.mean > worst.change.mean) {
      worst = {.node = node, .change = change};
    }
  }
  return worst;
}

}  // namespace ruvd::bench
