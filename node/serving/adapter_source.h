// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "inference/adapter/registry.h"
#include "inference/model/model.h"
#include "inference/retrieval/denoising_guided.h"
#include "inference/retrieval/pattern_index.h"
#include "node/serving/adapter_catalog.h"
#include "node/serving/inference.h"
#include "node/serving/store_pattern_index.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::serving {

// The adapters chosen for one request. The versions are pinned: later changes do not touch a
// request that has begun.
struct ChosenAdapters {
  std::vector<RangedPart> parts;
  std::vector<AdapterUse> uses;   // each once, however many parts it has
  size_t from_catalog = 0;        // parts of the catalogue; they come first
  std::vector<float> query = {};  // the prompt's embedding, for routers of timestep banks

  // The mix of a step.
  inference::AdapterMix At(float t) const;
};

// Finds the adapters for a prompt. First those of the catalogue that the request chooses, or all
// with their own weights. To them come, for each timestep bank, those of its patterns whose
// centroid is near the prompt's embedding; where it has none, those of the bank of t = 1; where
// that has none either, the federated adapter, if there is one; all with the weights they would
// have had without. Never patterns and the federated adapter at one t: each was trained to act on
// the base model alone, and what a node taught the cluster is in both, so that their sum would
// overshoot. Thread-safe.
class AdapterSource {
 public:
  // All but the options are borrowed and must outlive this.
  AdapterSource(storage::PatternStore& patterns, const inference::Model& model,
                inference::SelectionOptions options, AdapterCatalog& catalog)
      : patterns_(patterns),
        model_(model),
        options_(options),
        catalog_(catalog),
        index_(patterns),
        registry_(model.hash()) {}

  // By which a pattern's similarity is multiplied before it is compared with others and with the
  // threshold, by pattern id. Null: 1 for all.
  using PatternFactor = std::function<float(const std::string& pattern_id)>;

  // `choices`: of the catalogue; empty: as configured. Errors as AdapterCatalog::Choose.
  absl::StatusOr<ChosenAdapters> Choose(std::span<const float> embedding,
                                        std::span<const AdapterChoice> choices,
                                        const PatternFactor& factor = nullptr);

  // The adapters of the catalogue that Choose would get, where a file must be read for them:
  // holding the result spares Choose the reading. ReadsFiles says whether it must.
  bool ReadsFiles(std::span<const AdapterChoice> choices) const {
    return catalog_.ReadsFiles(choices);
  }
  absl::StatusOr<std::vector<RangedPart>> ReadFiles(std::span<const AdapterChoice> choices) {
    return catalog_.Choose(choices);
  }

  // Other adapters for a completion under way that is uncertain in this way: the catalogue's stay,
  // those of patterns (or the federated one) make place for those of the patterns of `bank` near
  // `query`. Where none is found, or all are in use already, `current` itself. `factor` as for
  // Choose.
  absl::StatusOr<ChosenAdapters> ChooseAgain(const ChosenAdapters& current,
                                             std::span<const float> query,
                                             inference::TimestepBank bank,
                                             inference::UncertaintyKind kind,
                                             const PatternFactor& factor = nullptr);

  // Replaces the federated adapter, which may have banks of its own; null for none.
  void SetFederated(std::shared_ptr<const inference::Talora> adapter);

 private:
  struct Part {
    std::shared_ptr<const inference::Talora> adapter;
    float weight = 1;
  };
  // What acts in a bank: adapters with their weights.
  struct BankChoice {
    std::vector<Part> parts;
    std::vector<AdapterUse> uses;  // of each part
  };
  // Those of a bank's patterns.
  absl::StatusOr<BankChoice> Retrieve(std::span<const float> embedding,
                                      inference::TimestepBank bank, const PatternFactor& factor);
  // The `k` patterns of a bank nearest to the query, their similarities times the factor, best
  // first.
  absl::StatusOr<std::vector<inference::RetrievedPattern>> Nearest(
      std::span<const float> query, inference::TimestepBank bank, int k,
      const PatternFactor& factor) const;
  // The patterns of a mix, for FilterByKind: with similarities as those of hits where it reads
  // them. One that is deleted has the lowest.
  std::vector<inference::RetrievedPattern> InUse(const ChosenAdapters& current,
                                                 std::span<const float> query,
                                                 inference::UncertaintyKind kind,
                                                 const PatternFactor& factor) const;
  // Those of these hits that are near enough and can be used.
  absl::StatusOr<BankChoice> UseHits(std::vector<inference::RetrievedPattern> hits);
  BankChoice Federated();
  // Adds it for the banks from `begin` to before `end`.
  static void AddParts(const BankChoice& choice, size_t begin, size_t end, ChosenAdapters* chosen);
  // Makes the registry hold the adapters of these hits, decoding from the store what is missing.
  // One that cannot be used is passed over, as if the pattern had none.
  void Load(std::span<const inference::RetrievedPattern> hits);
  absl::Status LoadOne(const inference::RetrievedPattern& hit);

  storage::PatternStore& patterns_;
  const inference::Model& model_;
  const inference::SelectionOptions options_;
  AdapterCatalog& catalog_;
  const StorePatternIndex index_;
  inference::AdapterRegistry registry_;
  Mutex mutex_;
  std::shared_ptr<const inference::Talora> federated_ ABSL_GUARDED_BY(mutex_);
  // What the registry holds, in order of loading: the oldest goes first.
  std::deque<std::pair<std::string, uint32_t>> loaded_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> reported_
      ABSL_GUARDED_BY(mutex_);  // patterns that a line was written about
};

}  // namespace ruvd::serving
