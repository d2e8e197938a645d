// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/registry.h"

#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"

namespace ruvd {

absl::Status AdapterRegistry::Publish(std::shared_ptr<const Adapter> adapter) {
  if (adapter->model_hash != model_hash_) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kAdapterForOtherModel,
                 "adapter {} belongs to another model; train it again on this one",
                 AdapterLabel(*adapter));
  }
  MutexLock lock(mutex_);
  Versions& versions = adapters_[adapter->name];
  const auto [position, inserted] = versions.try_emplace(adapter->version, adapter);
  if (!inserted && AdapterId(*position->second) != AdapterId(*adapter)) {
    return Error(absl::StatusCode::kAlreadyExists, reasons::kInvalidArgument,
                 "adapter {} exists with other content; publish it under a new version",
                 AdapterLabel(*adapter));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Adapter>> AdapterRegistry::Get(
    std::string_view name, std::optional<uint32_t> version) const {
  MutexLock lock(mutex_);
  if (const auto found = adapters_.find(name); found != adapters_.end()) {
    if (!version) {
      return found->second.rbegin()->second;
    }
    if (const auto exact = found->second.find(*version); exact != found->second.end()) {
      return exact->second;
    }
  }
  return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
               "there is no adapter {}{}; list the adapters for what there is", name,
               version ? fmt::format("@{}", *version) : "");
}

bool AdapterRegistry::Remove(std::string_view name, uint32_t version) {
  MutexLock lock(mutex_);
  const auto found = adapters_.find(name);
  if (found == adapters_.end() || found->second.erase(version) == 0) {
    return false;
  }
  if (found->second.empty()) {
    adapters_.erase(found);
  }
  return true;
}

uint32_t AdapterRegistry::NextVersion(std::string_view name) const {
  MutexLock lock(mutex_);
  const auto found = adapters_.find(name);
  return found == adapters_.end() ? 1 : found->second.rbegin()->first + 1;
}

std::vector<std::shared_ptr<const Adapter>> AdapterRegistry::List() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<const Adapter>> all;
  for (const auto& [name, versions] : adapters_) {
    for (const auto& [version, adapter] : versions) {
      all.push_back(adapter);
    }
  }
  return all;
}

}  // namespace ruvd
