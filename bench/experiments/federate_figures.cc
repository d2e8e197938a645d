// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/random.h"

namespace ruvd::bench {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Document {
  double part = 0;
  double whole = 0;
  double pieces = 0;
};

struct Sums {
  double part = 0;
  double whole = 0;
};

std::vector<Document> DocumentsOf(const PairedPieces& domain) {
  std::map<size_t, Document> by_number;
  for (size_t i = 0; i < domain.part.size(); ++i) {
    Document& document = by_number[domain.documents[i]];
    document.part += domain.part[i];
    document.whole += domain.whole[i];
    document.pieces += 1;
  }
  std::vector<Document> documents;
  for (const auto& [number, document] : by_number) {
    documents.push_back(document);
  }
  return documents;
}

Sums MeansOf(const std::vector<Document>& documents) {
  Document all;
  for (const Document& document : documents) {
    all.part += document.part;
    all.whole += document.whole;
    all.pieces += document.pieces;
  }
  return {.part = all.part / all.pieces, .whole = all.whole / all.pieces};
}

std::vector<Document> Drawn(const std::vector<Document>& documents, Random& random) {
  std::vector<Document> drawn;
  drawn.reserve(documents.size());
  for (size_t i = 0; i < documents.size(); ++i) {
    drawn.push_back(documents[random.Below(documents.size())]);
  }
  return drawn;
}

}  // namespace

Interval ShareOf(std::span<const PairedPieces> domains, uint64_t seed) {
  constexpr size_t kSamples = 10'000;
  constexpr size_t kTail = kSamples / 40;  // 2.5 %
  std::vector<std::vector<Document>> texts;
  Sums all;
  bool enough = true;
  for (const PairedPieces& domain : domains) {
    if (domain.part.empty()) {
      continue;
    }
    texts.push_back(DocumentsOf(domain));
    const Sums own = MeansOf(texts.back());
    all.part += own.part;
    all.whole += own.whole;
    enough &= texts.back().size() >= kMinDocuments;
  }
  Interval share{
      .mean = std::numeric_limits<double>::quiet_NaN(), .low = -kInfinite, .high = kInfinite};
  if (!(all.whole > 0)) {
    return share;
  }
  share.mean = all.part / all.whole;
  if (!enough) {
    return share;
  }
  Random random(seed);
  std::vector<double> lows;
  std::vector<double> highs;
  for (size_t sample = 0; sample < kSamples; ++sample) {
    Sums sums;
    for (const auto& documents : texts) {
      const Sums own = MeansOf(Drawn(documents, random));
      sums.part += own.part;
      sums.whole += own.whole;
    }
    lows.push_back(sums.whole > 0 ? sums.part / sums.whole : -kInfinite);
    highs.push_back(sums.whole > 0 ? sums.part / sums.whole : kInfinite);
  }
  std::ranges::sort(lows);
  std::ranges::sort(highs);
  share.low = lows[kTail];
  share.high = highs[kSamples - 1 - kTail];
  return share;
}

std::string SignedText(const Interval& interval) {
  return fmt::format("{:+.4f} ({:+.4f} to {:+.4f})", interval.mean, interval.low, interval.high);
}

Verdict Judge(const Expectation& expectation, const Interval& figure) {
  if (std::isnan(figure.mean)) {
    return Verdict::kUndecided;
  }
  const auto holds = [&](double value) {
    return expectation.at_least ? value >= expectation.bound : value <= expectation.bound;
  };
  const double worst = expectation.at_least ? figure.low : figure.high;
  const double best = expectation.at_least ? figure.high : figure.low;
  if (holds(figure.mean)) {
    return holds(worst) ? Verdict::kShown : Verdict::kMet;
  }
  return holds(best) ? Verdict::kMissed : Verdict::kRefuted;
}

std::string VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kShown:
      return "met by the whole interval";
    case Verdict::kMet:
      return "met in the mean";
    case Verdict::kMissed:
      return "missed in the mean";
    case Verdict::kRefuted:
      return "missed by the whole interval";
    case Verdict::kUndecided:
      return "undecided, there is nothing to compare with";
  }
  return "";
}

std::string VerdictLine(const Expectation& expectation, const Interval& figure) {
  return fmt::format("verdict: {}: {}, {:.3f} ({:.3f} to {:.3f}), expected at {} {}",
                     expectation.what, VerdictName(Judge(expectation, figure)), figure.mean,
                     figure.low, figure.high, expectation.at_least ? "least" : "most",
                     expectation.bound);
}

void Verdicts::Add(const std::string& key, const Expectation& expectation, const Interval& figure) {
  fmt::print("{}\n", VerdictLine(expectation, figure));
  json_[key] = {{"figure", ToJson(figure)},
                {"bound", expectation.bound},
                {"verdict", VerdictName(Judge(expectation, figure))}};
}

}  // namespace ruvd::bench
