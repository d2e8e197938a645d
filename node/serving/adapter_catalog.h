// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "inference/adapter/registry.h"
#include "inference/adapter/talora.h"
#include "inference/model/model.h"
#include "node/serving/adapter_reach.h"
#include "node/serving/inference.h"
#include "privacy/seal/seal.h"

namespace ruvd::serving {

// An adapter of a request that acts in steps with t_min < t <= t_max, t being the masked share of
// the active window: [0, 1] is every step.
struct RangedPart {
  std::shared_ptr<const inference::Talora> adapter;
  float weight = 1;
  float t_min = 0;
  float t_max = 1;
};

// Where an adapter of the catalogue came from.
enum class AdapterOrigin : uint8_t {
  kConfig,    // inference.adapters
  kLoaded,    // a file that a client named, until the node stops
  kImported,  // a copy in the node's folder, loaded again at every start
  kLearned,   // the node made it; as an imported one, but served to requests that choose nothing
};
// "config", "loaded", "imported" or "learned"
std::string_view AdapterOriginName(AdapterOrigin origin);

// What is worth knowing of an adapter without reading it.
struct AdapterSummary {
  inference::AdapterKind kind = inference::AdapterKind::kLora;
  Digest frame_id{};
  uint32_t rank = 0;     // the largest of a target
  uint32_t targets = 0;  // matrices that it changes
  bool banks = false;    // the rest is of those with timestep banks
  inference::BankSchedule schedule;
  inference::TaloraTraining training;
  bool trunk = false;
};

// A version as its users see it.
struct CatalogEntry {
  inference::VersionInfo info;
  AdapterSummary summary;
  std::shared_ptr<const inference::Talora> adapter;  // where it was asked for or added, else null
  float weight = 0;                                  // of requests that choose nothing
  AdapterOrigin origin = AdapterOrigin::kConfig;
  std::string path;
  // The prompts that requests which choose nothing get it for; null: all.
  std::shared_ptr<const AdapterReach> reach;
};

struct AdapterCatalogOptions {
  uint64_t budget = uint64_t{256} << 20;  // bytes of factors in memory
  // Where imported files are kept; made when the first one comes. Empty: none can be imported.
  std::string folder;
  // Where files are kept of what the node itself learned. Empty: nothing is published.
  std::string learned_folder;
  // Seals them, and beside them which prompts they are for. Empty: nothing is published.
  std::optional<privacy::SealKey> learned_key;
  Digest package_id{};             // of the model that embeds prompts
  float reach_similarity = 0.60F;  // cosine at which a prompt is near a centroid
};

// The adapters that requests of a node may choose by name, plain ones and ones with timestep banks,
// all from GGUF files, which are read again where memory is short. Thread-safe.
class AdapterCatalog {
 public:
  // `model` outlives this.
  AdapterCatalog(const inference::Model& model, AdapterCatalogOptions options);

  // `entries` of inference.adapters are FILE or FILE=WEIGHT, the weight for requests that choose
  // nothing; without one: 1. CONFIG_INVALID for a weight out of range, a version that occurs twice
  // or too many files; the errors of LoadTaloraFile. All name the entry. Logs a warning where those
  // of requests that choose nothing do not fit into the budget together.
  absl::Status LoadConfigured(std::span<const std::string> entries);
  // The files of the folder, with weight 0. One that cannot be read is logged and left where it is.
  void LoadImported();

  // Adds a file. No weight: that of the version of this name that is served so far, else 0.
  // INVALID_ARGUMENT for a weight out of range, ALREADY_EXISTS (INVALID_ARGUMENT) for a
  // version that is there, RESOURCE_EXHAUSTED (LIMIT_EXCEEDED) for too many; the errors of
  // LoadTaloraFile.
  absl::StatusOr<CatalogEntry> Load(const std::string& path, std::optional<float> weight);
  // The same for the bytes of a file, which are kept. Also FILE_UNWRITABLE, DISK_FULL.
  absl::StatusOr<CatalogEntry> Import(std::string_view file, std::optional<float> weight);

  // What the node learned becomes a version that requests get which choose nothing, with this
  // weight; its file is kept. `reach`: those alone whose prompts it covers, as far as embeddings
  // are of the package it names. FAILED_PRECONDITION without a folder, or with a reach and without
  // its key; otherwise as Import.
  absl::StatusOr<CatalogEntry> Publish(std::shared_ptr<const inference::Talora> adapter,
                                       float weight,
                                       std::optional<AdapterReach> reach = std::nullopt);
  // The files of what was published before, with weight 1; as LoadImported. One whose prompts
  // cannot be read, or are of another package, is there for requests that name it only.
  void LoadLearned();

  // No version: the served one, also below. NOT_FOUND, and what VersionedRegistry says.
  absl::StatusOr<CatalogEntry> Find(std::string_view name, std::optional<uint32_t> version);
  // Returns the version. The file of an imported or learned one is deleted.
  absl::StatusOr<uint32_t> Unload(std::string_view name, std::optional<uint32_t> version);
  absl::StatusOr<CatalogEntry> SetPinned(std::string_view name, std::optional<uint32_t> version,
                                         bool pinned);
  // No version: the one below the served one.
  absl::StatusOr<CatalogEntry> Rollback(std::string_view name, std::optional<uint32_t> version);

  std::vector<CatalogEntry> List() const;
  inference::RegistryStats Stats() const { return registry_.Stats(); }

  // What a request gets: the chosen ones, or without choices the served version of each name with
  // its own weight, unless the prompt's embedding is beyond its reach. Those of weight zero are
  // left out. No embedding: as if it were within reach of all. NOT_FOUND for an unknown name,
  // telling some known ones; what cannot be read again fails with the errors of its file. May read
  // files.
  absl::StatusOr<std::vector<RangedPart>> Choose(
      std::span<const AdapterChoice> choices,
      std::optional<std::span<const float>> embedding = std::nullopt);
  // Whether requests with such a prompt get what has this reach.
  bool Reaches(const AdapterReach& reach, std::span<const float> embedding) const {
    return Covers(reach, embedding, options_.reach_similarity);
  }
  // Whether Choose would read a file now. Not while its result from before is held.
  bool ReadsFiles(std::span<const AdapterChoice> choices) const;

 private:
  struct Source {
    float weight = 0;
    AdapterOrigin origin = AdapterOrigin::kConfig;
    std::string path;
    AdapterSummary summary = {};
    std::shared_ptr<const AdapterReach> reach = nullptr;
  };
  using Key = std::pair<std::string, uint32_t>;

  absl::StatusOr<CatalogEntry> Add(std::shared_ptr<const inference::Talora> adapter, Source source)
      ABSL_LOCKS_EXCLUDED(changes_);
  absl::StatusOr<CatalogEntry> AddInTurn(std::shared_ptr<const inference::Talora> adapter,
                                         Source source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(changes_);
  absl::Status CheckRoom(const Key& key) const;
  void WarnOfSmallBudget() const;
  // What stands beside a learned file. A reach that covers nothing where it cannot be used.
  std::shared_ptr<const AdapterReach> ReadReach(const std::string& path) const;
  absl::StatusOr<std::shared_ptr<const inference::Talora>> ReadKept(const std::string& path) const;
  // The files of a folder.
  void LoadFolder(const std::string& folder, AdapterOrigin origin, float weight);
  CatalogEntry Describe(const inference::VersionInfo& info) const;
  float WeightOrInherited(std::string_view name, std::optional<float> weight) const;
  absl::StatusOr<uint32_t> ServedVersion(std::string_view name,
                                         std::optional<uint32_t> version) const;
  // Some of them, and how many more there are.
  std::string KnownNames() const;

  const inference::Model& model_;
  const AdapterCatalogOptions options_;
  inference::TaloraRegistry registry_;
  Mutex changes_;  // one change of the set at a time
  mutable Mutex mutex_;
  std::map<Key, Source> sources_ ABSL_GUARDED_BY(mutex_);
};

// INVALID_ARGUMENT for a weight beyond limits::kMaxAdapterWeight or a range that is empty or leaves
// [0, 1], naming the adapter.
absl::Status CheckAdapterChoice(const AdapterChoice& choice);

}  // namespace ruvd::serving
