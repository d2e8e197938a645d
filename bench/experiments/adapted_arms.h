// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

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
// Which adapters act in an arm.
enum class Acting : uint8_t {
  kOwn,         // that of the domain, always
  kOwnByWords,  // that of the domain, as far as words choose it
  kByWords,     // those of all domains, as far as words choose them
  kOthers,      // those of all other domains, as far as words choose them
  kMean,        // those of all domains, always, in equal parts
};
// How adapters act in an arm, and with which memory, if any.
struct AdaptedArm {
  Acting acting = Acting::kOwn;
  ReadMemory memory;  // without parameters: none
};
// An adapter that learned a domain's lessons.
struct LearnedAdapter {
  std::shared_ptr<const inference::Talora> adapter;
  std::shared_ptr<const inference::WordEvidence> evidence;
};
// The adapters of all domains, and what is measured on the domain of one of them.
struct DomainAdapters {
  std::vector<LearnedAdapter> adapters;
  size_t own = 0;  // the place of the domain's
  std::map<std::string, AdaptedArm> arms;
};

// Adds the losses of a piece in the adapters' arms to `sums`. `frozen` is what the bare model
// predicts of it; `masks` is the generator that drew its masks, as it was before.
absl::Status AddAdaptedLosses(const inference::PiecePrediction& frozen,
                              const DomainAdapters& domain, size_t given, const Random& masks,
                              AdaptedTransformer* transformer, std::map<std::string, double>* sums);

}  // namespace ruvd::bench
