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
#include "inference/adapter/frame_set.h"
#include "inference/adapter/registry.h"
#include "inference/model/model.h"
#include "inference/retrieval/denoising_guided.h"
#include "inference/retrieval/pattern_index.h"
#include "node/limits.h"
#include "node/serving/adapter_catalog.h"
#include "node/serving/inference.h"
#include "node/serving/store_pattern_index.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::serving {

// The adapters chosen for one request. Their versions are pinned: later changes do not affect a
// request that has begun.
struct ChosenAdapters {
  std::vector<RangedPart> parts;
  std::vector<AdapterUse> uses;  // each adapter once, even if it has several parts
  // Number of parts that come from the catalogue; they are first, and so are their uses, one each.
  size_t from_catalog = 0;
  std::vector<float> query = {};  // the prompt's embedding, for routers of timestep banks

  // Returns the mix for a step at timestep t.
  inference::AdapterMix At(float t) const;
  // Returns these adapters with the weights of the catalogue's parts multiplied by `factors`, one
  // for each; without those of factor 0.
  ChosenAdapters WithFactors(std::span<const float> factors) const;
  // Returns whether At reads the query.
  bool ReadsQuery() const;
};

// Chooses the adapters for a prompt. First come those of the catalogue: the global adapter, then
// the ones that the request names, or else all with their own weights. Then each timestep bank adds
// the adapters of its patterns whose centroid is near the prompt's embedding. A bank without such
// patterns uses those of the bank of t = 1. Patterns were trained on top of the catalogue's
// adapters, so their sum is served. Thread-safe.
class AdapterSource {
 public:
  // All is borrowed and must outlive this object. `frame` is that of adapters that are cores; null:
  // they cannot be used.
  AdapterSource(storage::PatternStore& patterns, const inference::Model& model,
                inference::SelectionOptions options, AdapterCatalog& catalog,
                const inference::FrameSet* frame = nullptr,
                uint64_t max_cached_bytes = limits::kMaxCachedAdapterBytes)
      : patterns_(patterns),
        model_(model),
        options_(options),
        catalog_(catalog),
        frame_(frame),
        max_cached_bytes_(max_cached_bytes),
        index_(patterns),
        registry_(model.hash()) {}

  // Returns the factor for a pattern id. A pattern's similarity is multiplied by it before it is
  // compared with others and with the threshold. A null function means 1 for all.
  using PatternFactor = std::function<float(const std::string& pattern_id)>;

  // Returns whether Choose needs the prompt's embedding, because a pattern is stored that serves.
  // If it returned false, the embedding may be left empty.
  bool ReadsEmbedding() const { return patterns_.serving() > 0; }
  // `choices` name adapters of the catalogue; empty means those that requests get without choosing.
  // With an empty embedding no pattern is found. Words have not decided yet (AdaptersByWords).
  // Returns the errors of AdapterCatalog::Choose.
  absl::StatusOr<ChosenAdapters> Choose(std::span<const float> embedding,
                                        std::span<const AdapterChoice> choices,
                                        const PatternFactor& factor = nullptr);

  // Returns the memory that the adapters of patterns take, in bytes.
  uint64_t CachedBytes() const {
    const MutexLock lock(mutex_);
    return loaded_bytes_;
  }

  // NeedsFiles returns whether Choose would have to read files for adapters of the catalogue.
  // ReadFiles reads them; while the caller holds its result, Choose does not read them again.
  bool NeedsFiles(std::span<const AdapterChoice> choices) const {
    return catalog_.NeedsFiles(choices);
  }
  absl::StatusOr<std::vector<RangedPart>> ReadFiles(std::span<const AdapterChoice> choices) {
    return catalog_.Choose(choices);
  }

  // Chooses other adapters for a running completion that is uncertain in the way `kind` says. The
  // adapters of the catalogue stay; those of patterns are replaced by those
  // of the patterns of `bank` near `query`. Returns `current` if none are found or all are in use
  // already. `factor` is used as in Choose.
  absl::StatusOr<ChosenAdapters> Reselect(const ChosenAdapters& current,
                                          std::span<const float> query,
                                          inference::TimestepBank bank,
                                          inference::UncertaintyKind kind,
                                          const PatternFactor& factor = nullptr);

 private:
  struct Part {
    std::shared_ptr<const inference::Talora> adapter;
    float weight = 1;
  };
  // The adapters that act in one bank, with their weights.
  struct BankChoice {
    std::vector<Part> parts;
    std::vector<AdapterUse> uses;  // one for each part
  };
  // Returns the adapters of a bank's patterns near the embedding.
  absl::StatusOr<BankChoice> Retrieve(std::span<const float> embedding,
                                      inference::TimestepBank bank, const PatternFactor& factor);
  // Returns the `k` patterns of a bank nearest to the query, best first, with their similarities
  // times the factor.
  absl::StatusOr<std::vector<inference::RetrievedPattern>> Nearest(
      std::span<const float> query, inference::TimestepBank bank, int k,
      const PatternFactor& factor) const;
  // Returns the patterns that are in use, for FilterByKind. Similarities are computed as for hits
  // if that filter reads them for this `kind`. A deleted pattern has the lowest.
  std::vector<inference::RetrievedPattern> PatternsInUse(const ChosenAdapters& current,
                                                         std::span<const float> query,
                                                         inference::UncertaintyKind kind,
                                                         const PatternFactor& factor) const;
  // Returns the adapters of hits that Load left.
  absl::StatusOr<BankChoice> Use(std::span<const inference::RetrievedPattern> hits);
  // Adds the choice for the banks [begin, end).
  static void AddParts(const BankChoice& choice, size_t begin, size_t end, ChosenAdapters* chosen);
  // Leaves the first hits that are near enough and usable, as many as a request takes, and loads
  // their adapters into the registry, decoding the missing ones from the store.
  void Load(std::vector<inference::RetrievedPattern>* hits);
  // Returns whether the adapter was loaded.
  bool LoadOrReport(const inference::RetrievedPattern& hit);
  absl::Status LoadOne(const inference::RetrievedPattern& hit);

  storage::PatternStore& patterns_;
  const inference::Model& model_;
  const inference::SelectionOptions options_;
  AdapterCatalog& catalog_;
  const inference::FrameSet* const frame_;
  const uint64_t max_cached_bytes_;
  const StorePatternIndex index_;
  inference::AdapterRegistry registry_;
  mutable Mutex mutex_;
  struct Loaded {
    std::string name;
    uint32_t version = 0;
    uint64_t bytes = 0;  // of the factors
  };
  // What is in the registry in order of loading; the oldest is removed first.
  std::deque<Loaded> loaded_ ABSL_GUARDED_BY(mutex_);
  uint64_t loaded_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<std::string> reported_
      ABSL_GUARDED_BY(mutex_);  // patterns that a warning was logged about
};

}  // namespace ruvd::serving
