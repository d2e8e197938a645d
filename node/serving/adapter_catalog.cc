// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/adapter_catalog.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/adapter/talora_file.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/serving/experts.h"
#include "node/serving/served_adapters.h"

namespace ruvd::serving {
namespace {

constexpr char kExtension[] = ".gguf";

struct Entry {
  std::string file;
  float weight = 1;
};

// A file name may contain '=' itself, so only the part after the last '=' counts, and only if it is
// a number.
Entry ReadEntry(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals != std::string::npos) {
    float weight = 0;
    const char* const end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data() + equals + 1, end, weight);
    if (error == std::errc() && read == end) {
      return {.file = text.substr(0, equals), .weight = weight};
    }
  }
  return {.file = text};
}

bool ValidWeight(float weight) {
  return std::abs(weight) <= limits::kMaxAdapterWeight;  // false for NaN
}

absl::Status WeightError(std::string_view name) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "the weight of adapter '{}' must be between -{} and {}; give another one", name,
               limits::kMaxAdapterWeight, limits::kMaxAdapterWeight);
}

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid, "{}",
               fmt::format(what, std::forward<Args>(args)...));
}

// The name alone marks what this node's deep loop learned, also when it is served and taken back,
// and what the rounds of the cluster or its peers made, so other files may not use these names.
absl::Status CheckName(const inference::Talora& adapter) {
  if (IsExpertName(adapter.name)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "an adapter called '{}' must come from that peer; give this one another name with "
                 "`ruvd adapter merge --name`",
                 adapter.name);
  }
  if (adapter.name == kDeepAdapter || adapter.name == kGlobalAdapter) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "an adapter called '{}' must come from {}; give this one another name with `ruvd "
        "adapter merge --name`",
        adapter.name,
        adapter.name == kDeepAdapter ? "a node's own deep loop" : "the rounds of its cluster");
  }
  return absl::OkStatus();
}

}  // namespace

AdapterSummary SummaryOf(const inference::Talora& talora) {
  AdapterSummary summary{.banks = !talora.residuals.empty(),
                         .schedule = talora.schedule,
                         .training = talora.training,
                         .trunk = talora.trunk != nullptr};
  std::vector<const inference::Adapter*> parts;
  if (talora.trunk != nullptr) {
    parts.push_back(talora.trunk.get());
  }
  for (const auto& residual : talora.residuals) {
    parts.push_back(residual.get());
  }
  summary.kind = parts.front()->kind;
  summary.frame_id = parts.front()->frame_id;
  std::set<std::string_view> tensors;
  for (const inference::Adapter* part : parts) {
    for (const auto& [tensor, change] : part->targets) {
      summary.rank = std::max(summary.rank, static_cast<uint32_t>(change.rank));
      tensors.insert(tensor);
    }
  }
  summary.targets = static_cast<uint32_t>(tensors.size());
  return summary;
}

AdapterCatalog::AdapterCatalog(const inference::Model& model, AdapterCatalogOptions options)
    : model_(model), options_(std::move(options)), registry_(model.hash(), options_.budget) {}

absl::Status AdapterCatalog::LoadConfigured(std::span<const std::string> entries) {
  if (entries.size() > limits::kMaxLoadedAdapters) {
    return Invalid("inference.adapters has {} files; at most {} can be loaded", entries.size(),
                   limits::kMaxLoadedAdapters);
  }
  for (const std::string& text : entries) {
    const Entry entry = ReadEntry(text);
    if (!ValidWeight(entry.weight)) {
      return Invalid("inference.adapters: the weight of {} must be between -{} and {}", text,
                     limits::kMaxAdapterWeight, limits::kMaxAdapterWeight);
    }
    auto adapter = inference::LoadTaloraFile(entry.file, model_);
    const absl::Status usable = adapter.ok() ? CheckName(**adapter) : adapter.status();
    if (!usable.ok()) {
      return Annotate(usable, "inference.adapters");
    }
    if (ServedVersion((*adapter)->name, (*adapter)->version).ok()) {
      return Invalid(
          "inference.adapters: {} is version {} of '{}', which another file has; requests choose "
          "adapters by name and version, so change general.name or leave one out",
          entry.file, (*adapter)->version, (*adapter)->name);
    }
    const auto added =
        Add(*std::move(adapter),
            {.weight = entry.weight, .origin = AdapterOrigin::kConfig, .path = entry.file});
    if (!added.ok()) {
      return Annotate(added.status(), "inference.adapters");
    }
  }
  WarnOfSmallBudget();
  return absl::OkStatus();
}

void AdapterCatalog::WarnOfSmallBudget() const {
  uint64_t bytes = 0;
  for (const CatalogEntry& entry : ListOthers()) {
    bytes += entry.info.served && entry.weight != 0 ? entry.info.bytes : 0;
  }
  if (bytes > options_.budget) {
    LogWarning(
        "the adapters of requests that choose none have {} bytes together, more than "
        "inference.adapter_bytes of {}: such requests read files again; raise it, or leave some "
        "out",
        bytes, options_.budget);
  }
}

void AdapterCatalog::LoadImported() {
  std::error_code error;
  std::set<std::string> paths;  // in a fixed order
  for (const auto& file : std::filesystem::directory_iterator(options_.folder, error)) {
    if (file.path().extension() == kExtension) {
      paths.insert(file.path().string());
    }
  }
  for (const std::string& path : paths) {
    auto adapter = ReadImported(path);
    absl::Status status = adapter.ok() ? CheckName(**adapter) : adapter.status();
    if (status.ok()) {
      status =
          Add(*std::move(adapter), {.origin = AdapterOrigin::kImported, .path = path}).status();
    }
    if (!status.ok()) {
      LogWarning("the imported adapter {} is left out: {} [{}]", path, MessageOf(status),
                 ReasonOf(status));
    }
  }
}

absl::StatusOr<std::shared_ptr<const inference::Talora>> AdapterCatalog::ReadImported(
    const std::string& path) const {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits::kMaxCatalogFileBytes));
  return ParseTaloraFile(AsBytes(bytes), model_, std::filesystem::path(path).stem().string());
}

float AdapterCatalog::WeightOrInherited(std::string_view name, std::optional<float> weight) const {
  if (weight) {
    return *weight;
  }
  for (const CatalogEntry& entry : ListOthers()) {
    if (entry.info.name == name && entry.info.served) {
      return entry.weight;
    }
  }
  return 0;
}

absl::StatusOr<CatalogEntry> AdapterCatalog::Load(const std::string& path,
                                                  std::optional<float> weight) {
  if (!ValidWeight(weight.value_or(0))) {
    return WeightError(SanitizeForDisplay(path));
  }
  ASSIGN_OR_RETURN(auto adapter, inference::LoadTaloraFile(path, model_));
  RETURN_IF_ERROR(CheckName(*adapter));
  const float own = WeightOrInherited(adapter->name, weight);
  return Add(std::move(adapter), {.weight = own, .origin = AdapterOrigin::kLoaded, .path = path});
}

absl::StatusOr<CatalogEntry> AdapterCatalog::Import(std::string_view file,
                                                    std::optional<float> weight) {
  if (options_.folder.empty()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                 "this node does not keep imported adapters; load a file of its machine instead");
  }
  ASSIGN_OR_RETURN(auto adapter, ParseTaloraFile(AsBytes(file), model_, "imported"));
  RETURN_IF_ERROR(CheckName(*adapter));
  if (!ValidWeight(weight.value_or(0))) {
    return WeightError(SanitizeForDisplay(adapter->name));
  }
  // The lock is held to the end, because two imports of one file would share its path.
  const MutexLock one(changes_);
  const float own = WeightOrInherited(adapter->name, weight);
  // The file is named after its hash, so that no client chooses a path.
  const Digest digest = Sha256(file);
  const std::string path =
      fmt::format("{}/{}{}", options_.folder, ToHex(std::span(digest).first(16)), kExtension);
  std::error_code error;
  const bool known = std::filesystem::exists(path, error);
  RETURN_IF_ERROR(MakeDataFolder(options_.folder));
  RETURN_IF_ERROR(WriteFileAtomically(path, file, 0600));
  auto added = AddInTurn(std::move(adapter),
                         {.weight = own, .origin = AdapterOrigin::kImported, .path = path});
  if (!added.ok() && !known) {
    std::filesystem::remove(path, error);
  }
  return added;
}

absl::StatusOr<CatalogEntry> AdapterCatalog::Add(std::shared_ptr<const inference::Talora> adapter,
                                                 Source source) {
  const MutexLock one(changes_);
  return AddInTurn(std::move(adapter), std::move(source));
}

absl::Status AdapterCatalog::CheckRoom(const Key& key) const {
  const MutexLock lock(mutex_);
  if (sources_.contains(key)) {
    return Error(absl::StatusCode::kAlreadyExists, reasons::kInvalidArgument,
                 "adapter {}@{} is there already; unload it, or give the file another name or "
                 "version",
                 SanitizeForDisplay(key.first), key.second);
  }
  if (sources_.size() >= limits::kMaxCatalogAdapters) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the node has {} adapters, which is the limit; unload some", sources_.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const inference::Talora>> AdapterCatalog::ReadAgain(
    const Key& key) const {
  Source source;
  {
    const MutexLock lock(mutex_);
    const auto known = sources_.find(key);
    if (known == sources_.end()) {
      return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                   "adapter {}@{} was unloaded meanwhile; list the adapters to see what is loaded",
                   SanitizeForDisplay(key.first), key.second);
    }
    source = known->second;
  }
  if (source.origin == AdapterOrigin::kLearned) {
    return ReadLearned(key);
  }
  if (source.origin == AdapterOrigin::kPeer) {
    return source.reload();
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(source.path, limits::kMaxCatalogFileBytes));
  // The name is passed on because a file without a name takes the name from its path.
  return ParseTaloraFile(AsBytes(bytes), model_, key.first);
}

absl::StatusOr<CatalogEntry> AdapterCatalog::AddInTurn(
    std::shared_ptr<const inference::Talora> adapter, Source source) {
  const Key key(adapter->name, adapter->version);
  RETURN_IF_ERROR(CheckRoom(key));
  const auto reload = [this, key] { return ReadAgain(key); };
  source.summary = SummaryOf(*adapter);
  source.evidence = EvidenceOf(*adapter);
  {
    const MutexLock lock(mutex_);
    sources_.emplace(key, std::move(source));
  }
  if (absl::Status status = registry_.Publish(adapter, reload); !status.ok()) {
    const MutexLock lock(mutex_);
    sources_.erase(key);
    return status;
  }
  for (const inference::VersionInfo& info : registry_.List()) {
    if (info.name == key.first && info.version == key.second) {
      CatalogEntry entry = Describe(info);
      entry.adapter = std::move(adapter);
      return entry;
    }
  }
  return Error(absl::StatusCode::kInternal, reasons::kInternal, "adapter {}@{} was not added",
               SanitizeForDisplay(key.first), key.second);
}

CatalogEntry AdapterCatalog::Describe(const inference::VersionInfo& info) const {
  CatalogEntry entry{.info = info};
  const MutexLock lock(mutex_);
  if (const auto source = sources_.find({info.name, info.version}); source != sources_.end()) {
    entry.weight = source->second.weight;
    entry.origin = source->second.origin;
    entry.path = source->second.path;
    entry.summary = source->second.summary;
    entry.evidence = source->second.evidence;
  }
  return entry;
}

absl::StatusOr<CatalogEntry> AdapterCatalog::Find(std::string_view name,
                                                  std::optional<uint32_t> version) {
  std::optional<CatalogEntry> global = GlobalEntry();
  if (global && global->info.name == name &&
      version.value_or(global->info.version) == global->info.version) {
    return *std::move(global);
  }
  ASSIGN_OR_RETURN(auto adapter, registry_.Get(name, version));
  for (const inference::VersionInfo& info : registry_.List()) {
    if (info.name == adapter->name && info.version == adapter->version) {
      CatalogEntry entry = Describe(info);
      entry.adapter = std::move(adapter);
      return entry;
    }
  }
  return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
               "adapter {} was unloaded meanwhile; list the adapters to see what is loaded",
               SanitizeForDisplay(name));
}

absl::StatusOr<uint32_t> AdapterCatalog::ServedVersion(std::string_view name,
                                                       std::optional<uint32_t> version) const {
  for (const inference::VersionInfo& info : registry_.List()) {
    if (info.name == name && (version ? info.version == *version : info.served)) {
      return info.version;
    }
  }
  return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
               "there is no adapter {}{}; list the adapters to see what is loaded",
               SanitizeForDisplay(name), version ? fmt::format("@{}", *version) : "");
}

absl::StatusOr<uint32_t> AdapterCatalog::Unload(std::string_view name,
                                                std::optional<uint32_t> version) {
  RETURN_IF_ERROR(CheckMayChange(name));
  const MutexLock one(changes_);
  ASSIGN_OR_RETURN(const uint32_t found, ServedVersion(name, version));
  const Key key(name, found);
  ASSIGN_OR_RETURN(const Source source, Remove(key));
  if (const absl::Status removed = RemoveKept(key, source); !removed.ok()) {
    LogWarning("adapter {}@{} cannot be deleted and will be loaded again at the next start: {}",
               SanitizeForDisplay(key.first), key.second, MessageOf(removed));
  }
  return found;
}

absl::StatusOr<AdapterCatalog::Source> AdapterCatalog::Remove(const Key& key) {
  RETURN_IF_ERROR(registry_.Remove(key.first, key.second));
  const MutexLock lock(mutex_);
  return std::move(sources_.extract(key).mapped());
}

absl::Status AdapterCatalog::RemoveKept(const Key& key, const Source& source) {
  if (source.origin == AdapterOrigin::kLearned) {
    return RemoveLearned(key);
  }
  std::error_code error;
  if (source.origin == AdapterOrigin::kImported) {
    std::filesystem::remove(source.path, error);
  }
  return error ? FileWriteError(source.path, error.value()) : absl::OkStatus();
}

absl::StatusOr<CatalogEntry> AdapterCatalog::SetPinned(std::string_view name,
                                                       std::optional<uint32_t> version,
                                                       bool pinned) {
  RETURN_IF_ERROR(CheckMayChange(name));
  ASSIGN_OR_RETURN(const uint32_t found, ServedVersion(name, version));
  RETURN_IF_ERROR(pinned ? registry_.Pin(name, found) : registry_.Unpin(name, found));
  return Find(name, found);
}

absl::StatusOr<CatalogEntry> AdapterCatalog::Rollback(std::string_view name,
                                                      std::optional<uint32_t> version) {
  RETURN_IF_ERROR(CheckMayChange(name));
  if (version) {
    RETURN_IF_ERROR(registry_.Serve(name, *version));
    return Find(name, version);
  }
  ASSIGN_OR_RETURN(const uint32_t served, registry_.Rollback(name));
  return Find(name, served);
}

std::vector<CatalogEntry> AdapterCatalog::ListOthers() const {
  std::vector<CatalogEntry> entries;
  for (const inference::VersionInfo& info : registry_.List()) {
    entries.push_back(Describe(info));
  }
  return entries;
}

absl::Status CheckAdapterWeight(std::string_view name, float weight) {
  return ValidWeight(weight) ? absl::OkStatus() : WeightError(SanitizeForDisplay(name));
}

absl::Status CheckAdapterChoice(const AdapterChoice& choice) {
  const std::string name = SanitizeForDisplay(choice.name);
  RETURN_IF_ERROR(CheckAdapterWeight(choice.name, choice.weight));
  if (!(choice.t_min >= 0 && choice.t_min < choice.t_max && choice.t_max <= 1)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the range of adapter '{}' must satisfy 0 <= t_min < t_max <= 1", name);
  }
  return absl::OkStatus();
}

}  // namespace ruvd::serving
