// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/random.h"
#include "bench/experiments/paired.h"

namespace ruvd::bench {

// A request that a small or a large model can serve.
struct RoutedRequest {
  size_t document = 0;  // number of the text that it is of
  double excess = 0;    // of the small model, nats/token
};

struct Judged {
  double share = 0;   // of the oracle's gain over random
  double regret = 0;  // nats/token against the oracle where half goes to the small model
};

// `scores` has one entry per request; requests with a higher score go to the small model first.
// There must be at least one request.
Judged Judge(std::span<const RoutedRequest> requests, std::span<const double> scores);

// How a kind of router does, as the mean over its trainings: no router is judged by what several
// trainings say together. [0] are the requests themselves, the others are draws of whole documents.
// The draws are the same whatever the scores, so that routers are compared draw by draw.
struct JudgedDraws {
  std::vector<double> shares;
  std::vector<double> regrets;
  std::vector<double> trainings;  // the share of each training
};
// `scores`: by training, by request.
JudgedDraws JudgeTrainings(std::span<const RoutedRequest> requests,
                           std::span<const std::vector<double>> scores);

// The first of the draws with the 95 % interval of the others, or of the differences of two
// routers; infinite bounds where there are fewer than kMinDocuments (no draws).
Interval IntervalOf(std::span<const double> draws);
Interval DifferenceOf(std::span<const double> draws, std::span<const double> others);

// Splits items of documents: the items of about a fifth of the documents are held back, of at least
// one document where there are two. `taught` holds the places of the others.
struct DocumentSplit {
  std::vector<size_t> taught;
  std::vector<size_t> held_back;
};
DocumentSplit HoldBackDocuments(std::span<const size_t> documents, Random& random);

}  // namespace ruvd::bench
