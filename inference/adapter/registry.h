// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/mutex.h"
#include "inference/adapter/adapter.h"

namespace ruvd {

// The adapters of one model that requests may use, as immutable versions name@version. Whoever got
// an adapter keeps that very version alive through its shared_ptr, whatever is published or removed
// meanwhile; its memory goes with the last user. Thread-safe.
class AdapterRegistry {
 public:
  explicit AdapterRegistry(Digest model_hash) : model_hash_(model_hash) {}

  // Makes an adapter available. Publishing the same content again is OK; another content under a
  // version that exists is INVALID_ARGUMENT: versions never change. ADAPTER_FOR_OTHER_MODEL.
  absl::Status Publish(std::shared_ptr<const Adapter> adapter);

  // The given version, or the highest one. NOT_FOUND.
  absl::StatusOr<std::shared_ptr<const Adapter>> Get(
      std::string_view name, std::optional<uint32_t> version = std::nullopt) const;

  // Removes one version from what Get finds; false if it was not there.
  bool Remove(std::string_view name, uint32_t version);

  // One more than the highest version of this name, 1 for a new name.
  uint32_t NextVersion(std::string_view name) const;

  // All versions, by name and version ascending.
  std::vector<std::shared_ptr<const Adapter>> List() const;

 private:
  using Versions = std::map<uint32_t, std::shared_ptr<const Adapter>>;

  const Digest model_hash_;
  mutable Mutex mutex_;
  std::map<std::string, Versions, std::less<>> adapters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd
