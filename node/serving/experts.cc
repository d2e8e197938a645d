// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/experts.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/reasons.h"
#include "node/log/log.h"
#include "node/serving/adapter_catalog.h"

namespace ruvd::serving {
namespace {

constexpr std::string_view kPrefix = "expert-";
constexpr size_t kIdBytes = 6;

}  // namespace

std::string NameOfExpert(const Digest& peer) {
  return std::string(kPrefix) + ToHex(std::span(peer).first(kIdBytes));
}

bool IsExpertName(std::string_view name) {
  return name.size() == kPrefix.size() + 2 * kIdBytes && name.starts_with(kPrefix) &&
         std::ranges::all_of(name.substr(kPrefix.size()), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

absl::Status AdapterCatalog::SetExpert(std::shared_ptr<const inference::Talora> adapter,
                                       Loader reload) {
  RUVD_CHECK(IsExpertName(adapter->name));
  if (EvidenceOf(*adapter) == nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kAdapterInvalid,
                 "nothing can choose {}: it does not say which words its lessons have, or this "
                 "node's model comes without NAME.memory.gguf",
                 adapter->name);
  }
  RemoveExpert(adapter->name);
  return Add(std::move(adapter),
             {.weight = 1, .origin = AdapterOrigin::kPeer, .path = "", .reload = std::move(reload)})
      .status();
}

void AdapterCatalog::RemoveExpert(const std::string& name) {
  RUVD_CHECK(IsExpertName(name));
  const MutexLock one(changes_);
  for (absl::StatusOr<uint32_t> version = ServedVersion(name, std::nullopt); version.ok();
       version = ServedVersion(name, std::nullopt)) {
    if (const absl::Status removed = Remove({name, *version}).status(); !removed.ok()) {
      LogError("{}@{} is still served: {}", name, *version, MessageOf(removed));
      return;
    }
  }
}

}  // namespace ruvd::serving
