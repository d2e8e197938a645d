// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The adapter that the rounds of the cluster make, among the others.

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/serving/adapter_catalog.h"
#include "node/serving/experts.h"
#include "node/serving/served_adapters.h"

namespace ruvd::serving {

void AdapterCatalog::SetGlobal(std::shared_ptr<const inference::Talora> adapter) {
  std::optional<CatalogEntry> entry;
  if (adapter != nullptr) {
    RUVD_CHECK(adapter->name == kGlobalAdapter && adapter->model_hash == model_.hash());
    entry = CatalogEntry{.info = {.name = adapter->name,
                                  .version = adapter->version,
                                  .id = inference::AdapterId(*adapter),
                                  .bytes = inference::FactorBytes(*adapter),
                                  .served = true},
                         .summary = SummaryOf(*adapter),
                         .adapter = std::move(adapter),
                         .weight = 1,
                         .origin = AdapterOrigin::kRounds,
                         .path = "",
                         .evidence = nullptr};
  }
  const MutexLock lock(mutex_);
  std::swap(global_, entry);  // the former one is freed after the lock
}

std::optional<CatalogEntry> AdapterCatalog::GlobalEntry() const {
  const MutexLock lock(mutex_);
  return global_;
}

std::shared_ptr<const inference::Talora> AdapterCatalog::UseGlobal() {
  const MutexLock lock(mutex_);
  if (!global_) {
    return nullptr;
  }
  ++global_->info.uses;
  return global_->adapter;
}

absl::Status AdapterCatalog::CheckMayChange(std::string_view name) const {
  if (IsExpertName(name)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                 "the adapter '{}' is an expert of a peer, so it cannot be unloaded, pinned or "
                 "rolled back; set federation.experts to false to serve none",
                 name);
  }
  if (name != kGlobalAdapter || !GlobalEntry()) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
               "the adapter '{}' comes from the rounds of the cluster, so it cannot be unloaded, "
               "pinned or rolled back; a request that names it with weight 0 is served without it",
               kGlobalAdapter);
}

std::vector<CatalogEntry> AdapterCatalog::List() const {
  std::vector<CatalogEntry> entries = ListOthers();
  if (std::optional<CatalogEntry> global = GlobalEntry()) {
    global->adapter = nullptr;
    const auto place = std::ranges::find_if(entries, [&global](const CatalogEntry& entry) {
      return entry.info.name > global->info.name;
    });
    entries.insert(place, *std::move(global));
  }
  return entries;
}

}  // namespace ruvd::serving
