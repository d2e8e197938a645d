// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/random.h"
#include "bench/experiments/adapted_transformer.h"
#include "inference/adapter/talora.h"
#include "inference/memory/learning/learn_parameters.h"
#include "inference/memory/token_memory.h"
#include "inference/retrieval/word_evidence.h"

namespace ruvd::bench {

// A memory and how it is read.
struct ReadMemory {
  std::shared_ptr<const inference::MemoryParameters> parameters;
  std::shared_ptr<const inference::TokenMemory> memory;
};
// How a domain's adapter acts in an arm, and with which memory, if any.
struct AdaptedArm {
  bool by_words = false;  // else always
  ReadMemory memory;      // without parameters: none
};
// The adapter of the domain that is held out.
struct DomainAdapter {
  std::shared_ptr<const inference::Talora> adapter;
  std::shared_ptr<const inference::WordEvidence> evidence;
  std::map<std::string, AdaptedArm> arms;
};

// Adds the losses of a piece in the adapter's arms to `sums`. `frozen` is what the bare model
// predicts of it; `masks` is the generator that drew its masks, as it was before.
absl::Status AddAdaptedLosses(const inference::PiecePrediction& frozen, const DomainAdapter& domain,
                              size_t given, const Random& masks, AdaptedTransformer* transformer,
                              std::map<std::string, double>* sums);

}  // namespace ruvd::bench
