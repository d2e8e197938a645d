// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
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
#include "inference/retrieval/word_evidence.h"
#include "node/serving/inference.h"
#include "storage/state/state_store.h"

namespace ruvd::serving {

// An adapter of a request that acts in the steps with t_min < t <= t_max. The timestep t is the
// masked share of the active window; the range [0, 1] covers every step.
struct RangedPart {
  std::shared_ptr<const inference::Talora> adapter;
  float weight = 1;
  float t_min = 0;
  float t_max = 1;
  // Set: the words of a text decide whether and how much the adapter acts (AdaptersByWords)
  std::shared_ptr<const inference::WordEvidence> evidence = nullptr;
  bool operator==(const RangedPart&) const = default;
};

// Where an adapter of the catalogue came from.
enum class AdapterOrigin : uint8_t {
  kConfig,    // inference.adapters
  kLoaded,    // a file that a client named; it stays until the node stops
  kImported,  // a copy in the node's folder, loaded again at every start
  kLearned,   // made by this node; kept like an imported one, but served to requests that choose
              // nothing
  kRounds,    // made by the rounds of the cluster; see AdapterCatalog::SetGlobal
  kPeer,      // an expert that a peer learned; see AdapterCatalog::SetExpert
};

// What can be said about an adapter without reading its file again.
struct AdapterSummary {
  inference::AdapterKind kind = inference::AdapterKind::kLora;
  Digest frame_id{};
  uint32_t rank = 0;     // the largest rank of all its targets
  uint32_t targets = 0;  // number of matrices that it changes
  bool banks = false;    // it has timestep banks, which the fields below describe
  inference::BankSchedule schedule;
  inference::TaloraTraining training;
  bool trunk = false;
};

// Returns the summary of an adapter that has a trunk or residuals.
AdapterSummary SummaryOf(const inference::Talora& talora);

// One version of an adapter, as clients see it.
struct CatalogEntry {
  inference::VersionInfo info;
  AdapterSummary summary;
  std::shared_ptr<const inference::Talora>
      adapter;       // set where it was requested or added, else null
  float weight = 0;  // weight in requests that choose nothing
  AdapterOrigin origin = AdapterOrigin::kConfig;
  std::string path;  // empty: it is in the node's store
  // Set: words decide in which requests that choose nothing the adapter acts. Null: in all of them
  std::shared_ptr<const inference::WordEvidence> evidence;
};

struct AdapterCatalogOptions {
  uint64_t budget = uint64_t{256} << 20;  // bytes of factors kept in memory
  // The folder of imported files; it is created with the first import. Empty: imports are refused.
  std::string folder;
  // Keeps what the node learned itself, because what users wrote can be recovered from weights.
  // Borrowed; null: nothing can be published.
  storage::StateStore* state = nullptr;
  // The log of each token's frequency in public text (MemoryParameters). Empty: words decide
  // nothing.
  std::vector<float> public_log_frequency = {};
};

// The adapters that requests can choose by name, plain ones and ones with timestep banks. They come
// from GGUF files, and what the node learned from its store; an adapter that was evicted to save
// memory is read again. Beneath them acts the global adapter, which the rounds of the cluster make.
// Thread-safe.
class AdapterCatalog {
 public:
  // `model` must outlive this object.
  AdapterCatalog(const inference::Model& model, AdapterCatalogOptions options);
  const inference::Model& model() const { return model_; }

  // Loads the `entries` of inference.adapters. Each is FILE or FILE=WEIGHT; the weight (default 1)
  // applies to requests that choose nothing. Errors name the entry: CONFIG_INVALID for a weight out
  // of range, a version that occurs twice or too many files, and the errors of LoadTaloraFile. Logs
  // a warning if the adapters that requests get without choosing do not fit into the budget
  // together.
  absl::Status LoadConfigured(std::span<const std::string> entries);
  // Loads the files of the import folder with weight 0. A file that cannot be read is logged and
  // left in place.
  void LoadImported();

  // Adds a file. Without a weight, it takes the weight of the version of the same name that is
  // served now, or 0 without one. Returns INVALID_ARGUMENT for a weight out of range,
  // ALREADY_EXISTS (INVALID_ARGUMENT) if the version is loaded already, RESOURCE_EXHAUSTED
  // (LIMIT_EXCEEDED) if there are too many adapters, and the errors of LoadTaloraFile.
  absl::StatusOr<CatalogEntry> Load(const std::string& path, std::optional<float> weight);
  // Adds an adapter from the bytes of its file and keeps the file. Returns the errors of Load,
  // FILE_UNWRITABLE and DISK_FULL.
  absl::StatusOr<CatalogEntry> Import(std::string_view file, std::optional<float> weight);

  // Adds what the node learned as a version that requests get if they choose nothing, with this
  // weight, and keeps it. `lessons` names the lessons that are in it, at most
  // limits::kMaxAdapterLessons; without names it never leaves the node. Returns FAILED_PRECONDITION
  // if there is no state, ALREADY_EXISTS and RESOURCE_EXHAUSTED as Load does, and the errors of
  // StateStore::Put.
  absl::StatusOr<CatalogEntry> Publish(std::shared_ptr<const inference::Talora> adapter,
                                       float weight, std::span<const std::string> lessons = {});
  // Returns the lessons that a learned version was published with; none if they are not known.
  // Returns the errors of StateStore::Get.
  absl::StatusOr<std::vector<std::string>> LessonsOf(const std::string& name,
                                                     uint32_t version) const;
  // Loads what was published before, with weight 1; errors are handled as in LoadImported.
  void LoadLearned();

  // Puts the adapter that the rounds of the cluster made beneath the adapters of all requests that
  // get adapters, from the next request on; null for none. A request that has begun keeps the
  // version with which it began. The adapter must be called kGlobalAdapter, must not change any
  // more, and must fit the model (CheckTalora). It is listed and can be found and chosen like
  // others, but it stays in memory, counts in no limit and no budget, and cannot be unloaded,
  // pinned or rolled back.
  void SetGlobal(std::shared_ptr<const inference::Talora> adapter);

  // Serves what a peer learned from the next request on, in requests that choose nothing and only
  // where the words of its lessons choose it. It takes the place of what has its name, which must
  // be NameOfExpert's. `reload` reads it again after it was evicted. Only RemoveExpert removes it.
  // Returns FAILED_PRECONDITION for an adapter whose words are not known, and RESOURCE_EXHAUSTED as
  // Load does.
  using Loader = std::function<absl::StatusOr<std::shared_ptr<const inference::Talora>>()>;
  absl::Status SetExpert(std::shared_ptr<const inference::Talora> adapter, Loader reload);
  // Does nothing if no expert has this name.
  void RemoveExpert(const std::string& name);

  // Returns a version; without `version`, the served one (in the calls below too). Returns
  // NOT_FOUND and the errors of VersionedRegistry. The calls below Find return FAILED_PRECONDITION
  // for the global adapter and for experts.
  absl::StatusOr<CatalogEntry> Find(std::string_view name, std::optional<uint32_t> version);
  // Returns the version that was unloaded. Deletes the file of an imported adapter, and a learned
  // one from the node's state.
  absl::StatusOr<uint32_t> Unload(std::string_view name, std::optional<uint32_t> version);
  absl::StatusOr<CatalogEntry> SetPinned(std::string_view name, std::optional<uint32_t> version,
                                         bool pinned);
  // Without `version`, goes back to the version below the served one.
  absl::StatusOr<CatalogEntry> Rollback(std::string_view name, std::optional<uint32_t> version);

  std::vector<CatalogEntry> List() const;
  inference::RegistryStats Stats() const { return registry_.Stats(); }

  // Returns the adapters of a request: the chosen ones, or, without choices, the served version of
  // each name with its own weight and, if its words are known, with its evidence. In both cases the
  // global adapter comes first with weight 1, if there is one, unless a choice names it: then it
  // has the weight and range of the choice. Adapters of weight 0 are left out. Returns NOT_FOUND
  // for an unknown name, with a few known names, and the errors of the file where an evicted
  // adapter cannot be read again. May read files.
  absl::StatusOr<std::vector<RangedPart>> Choose(std::span<const AdapterChoice> choices);
  // Returns the evidence of an adapter's words; null if they or those of public text are not known.
  std::shared_ptr<const inference::WordEvidence> EvidenceOf(const inference::Talora& adapter) const;
  // Returns whether Choose would have to read a file now. False while an earlier result of Choose
  // for the same choices is held.
  bool NeedsFiles(std::span<const AdapterChoice> choices) const;

 private:
  struct Source {
    float weight = 0;
    AdapterOrigin origin = AdapterOrigin::kConfig;
    std::string path;
    Loader reload = nullptr;  // of an expert
    AdapterSummary summary = {};
    std::shared_ptr<const inference::WordEvidence> evidence = nullptr;
  };
  using Key = std::pair<std::string, uint32_t>;

  absl::StatusOr<CatalogEntry> Add(std::shared_ptr<const inference::Talora> adapter, Source source)
      ABSL_LOCKS_EXCLUDED(changes_);
  absl::StatusOr<CatalogEntry> AddInTurn(std::shared_ptr<const inference::Talora> adapter,
                                         Source source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(changes_);
  absl::Status CheckRoom(const Key& key) const;
  void WarnOfSmallBudget() const;
  absl::StatusOr<std::shared_ptr<const inference::Talora>> ReadImported(
      const std::string& path) const;
  absl::StatusOr<std::shared_ptr<const inference::Talora>> ReadLearned(const Key& key) const;
  absl::StatusOr<std::shared_ptr<const inference::Talora>> ReadAgain(const Key& key) const;
  // Removes a version of the registry with its source, and returns that.
  absl::StatusOr<Source> Remove(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(changes_);
  absl::Status LoadLearnedValue(const std::string& name);
  // Deletes the file or the value of an adapter that is loaded again at every start.
  absl::Status RemoveKept(const Key& key, const Source& source);
  absl::Status RemoveLearned(const Key& key);
  CatalogEntry Describe(const inference::VersionInfo& info) const;
  // Returns all entries except the global adapter.
  std::vector<CatalogEntry> ListOthers() const;
  // Returns the global adapter's entry, or nullopt without one.
  std::optional<CatalogEntry> GlobalEntry() const;
  // Returns the global adapter for a request and counts the use; null without one.
  std::shared_ptr<const inference::Talora> UseGlobal();
  // Returns FAILED_PRECONDITION if the name is that of the global adapter and there is one, or that
  // of an expert.
  absl::Status CheckMayChange(std::string_view name) const;
  float WeightOrInherited(std::string_view name, std::optional<float> weight) const;
  absl::StatusOr<uint32_t> ServedVersion(std::string_view name,
                                         std::optional<uint32_t> version) const;
  // Returns some names, and how many more there are.
  std::string KnownNames() const;

  const inference::Model& model_;
  const AdapterCatalogOptions options_;
  inference::TaloraRegistry registry_;
  Mutex changes_;  // held for each change of the set, so that changes come one at a time
  mutable Mutex mutex_;
  std::map<Key, Source> sources_ ABSL_GUARDED_BY(mutex_);
  std::optional<CatalogEntry> global_ ABSL_GUARDED_BY(mutex_);  // with its adapter
};

// Returns INVALID_ARGUMENT, naming the adapter, for a weight beyond limits::kMaxAdapterWeight.
absl::Status CheckAdapterWeight(std::string_view name, float weight);
// Returns INVALID_ARGUMENT, naming the adapter, for a weight beyond limits::kMaxAdapterWeight and
// for a range that is empty or leaves [0, 1].
absl::Status CheckAdapterChoice(const AdapterChoice& choice);

}  // namespace ruvd::serving
