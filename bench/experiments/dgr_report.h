// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "inference/evaluate/paired.h"
#include "inference/retrieval/denoising_guided.h"
#include "inference/retrieval/word_evidence.h"

namespace ruvd::bench {

// A text that is denoised in every arm of learn_dgr.
struct DgrPiece {
  inference::ScoredDocument text;
  size_t domain = 0;    // the number of domains: general text, which has no adapter
  size_t document = 0;  // of all domains
  bool informed = true;
  std::vector<size_t> order;
};

// When an arm asks again after the prompt.
enum class Asks : uint8_t { kNever, kGuided, kRandom, kAlways };

struct DgrArm {
  std::string name;
  Asks asks = Asks::kNever;
  inference::DgrOptions options;  // of kGuided and kRandom
  bool adapters = true;           // false: the model alone
  bool oracle = false;
  // Set: chooses by words, before every step that `asks` names and by the prompt before the first
  std::optional<inference::WordChoiceOptions> words = std::nullopt;
};

// How a piece was denoised in an arm.
struct DgrCourse {
  double nats = 0;                // per token
  int queries = 0;                // beside the prompt's
  double right = 0;               // share of the steps with the domain's own adapter
  std::vector<double> open_nats;  // by step
  std::vector<float> usual, entropy, margin, t;
};

// Prints what the arms did with some of the pieces (`chosen`) and returns it. The first arm is that
// without adapters, the second chooses by the prompt alone; behind an arm that asks by uncertainty
// stands the one that asks as often at random. `courses` is by arm and piece.
nlohmann::json ReportDgrArms(const std::string& group, const std::vector<DgrArm>& arms,
                             const std::vector<std::vector<DgrCourse>>& courses,
                             const std::vector<DgrPiece>& pieces,
                             const std::vector<size_t>& chosen);
// Does so for how well each trigger finds the steps at which the oracle's adapter lowers the loss:
// the probability that such a step scores above another one.
nlohmann::json ReportDgrTriggers(const std::vector<DgrCourse>& prompt_only,
                                 const std::vector<DgrCourse>& oracle,
                                 const std::vector<size_t>& chosen);
// Says in a sentence which strategies of a report of arms are shown to be better than random steps.
std::string DgrVerdict(const nlohmann::json& report);

}  // namespace ruvd::bench
