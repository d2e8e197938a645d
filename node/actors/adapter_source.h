// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "inference/adapter/registry.h"
#include "inference/model/model.h"
#include "inference/retrieval/pattern_index.h"
#include "node/actors/inference.h"
#include "node/actors/loaded_adapters.h"
#include "node/actors/store_pattern_index.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd {

// The adapters chosen for one request. The versions are pinned: later changes do not touch a
// request that has begun.
struct ChosenAdapters {
  std::vector<RangedPart> parts;
  std::vector<AdapterUse> uses;  // of each part

  // The mix of a step.
  AdapterMix At(float t) const;
  // Whether all steps have the same mix.
  bool constant() const;
};

// Finds the adapters for a prompt. First the loaded ones that the request chooses, or those of the
// configuration, with their weights as stated. To them come those of the patterns whose centroid is
// near the prompt's embedding, or else the federated adapter, if there is one, with the weights
// they would have had without. Never both of these: each was trained to act on the base model
// alone, and what a node taught the cluster is in both, so that their sum would overshoot.
// Thread-safe.
class AdapterSource {
 public:
  // `patterns` and `model` are borrowed and must outlive this.
  AdapterSource(PatternStore& patterns, const Model& model, SelectionOptions options,
                LoadedAdapters loaded)
      : patterns_(patterns),
        model_(model),
        options_(options),
        loaded_files_(std::move(loaded)),
        index_(patterns),
        registry_(model.hash()) {}

  // `choices`: of the loaded adapters; empty: as configured. Errors as LoadedAdapters::Choose.
  absl::StatusOr<ChosenAdapters> Choose(std::span<const float> embedding,
                                        std::span<const AdapterChoice> choices);

  // Replaces the federated adapter; null for none.
  void SetFederated(std::shared_ptr<const Adapter> adapter);

 private:
  // Adds those of the patterns.
  absl::Status Retrieve(std::span<const float> embedding, ChosenAdapters* chosen);
  // Makes the registry hold the adapters of these hits, decoding from the store what is missing.
  // One that cannot be used is passed over, as if the pattern had none.
  void Load(std::span<const RetrievedPattern> hits);
  absl::Status LoadOne(const RetrievedPattern& hit);

  PatternStore& patterns_;
  const Model& model_;
  const SelectionOptions options_;
  const LoadedAdapters loaded_files_;
  const StorePatternIndex index_;
  AdapterRegistry registry_;
  Mutex mutex_;
  std::shared_ptr<const Adapter> federated_ ABSL_GUARDED_BY(mutex_);
  // What the registry holds, in order of loading: the oldest goes first.
  std::deque<std::pair<std::string, uint32_t>> loaded_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> reported_
      ABSL_GUARDED_BY(mutex_);  // patterns that a line was written about
};

}  // namespace ruvd
