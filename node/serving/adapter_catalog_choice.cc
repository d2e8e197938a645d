// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Which adapters a request gets.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/serving/adapter_catalog.h"

namespace ruvd::serving {

std::string AdapterCatalog::KnownNames() const {
  // A status travels in gRPC's metadata, which is limited to 8 KiB.
  constexpr size_t kMaxNames = 8;
  std::string known;
  size_t names = 0;
  for (const CatalogEntry& entry : List()) {
    if (entry.info.served && ++names <= kMaxNames) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.info.name);
    }
  }
  if (names > kMaxNames) {
    known += fmt::format(" and {} more, see `ruvd adapter ls`", names - kMaxNames);
  }
  return known;
}

bool AdapterCatalog::NeedsFiles(std::span<const AdapterChoice> choices) const {
  const std::vector<CatalogEntry> entries = ListOthers();
  return std::any_of(entries.begin(), entries.end(), [choices](const CatalogEntry& entry) {
    if (entry.info.hot || entry.info.lent) {
      return false;
    }
    if (choices.empty()) {
      return entry.info.served && entry.weight != 0;
    }
    return std::any_of(choices.begin(), choices.end(), [&entry](const AdapterChoice& choice) {
      const bool meant = choice.version ? *choice.version == entry.info.version : entry.info.served;
      return meant && choice.weight != 0 && choice.name == entry.info.name;
    });
  });
}

std::shared_ptr<const inference::WordEvidence> AdapterCatalog::EvidenceOf(
    const inference::Talora& adapter) const {
  if (!adapter.words || options_.public_log_frequency.empty()) {
    return nullptr;
  }
  return std::make_shared<const inference::WordEvidence>(*adapter.words,
                                                         options_.public_log_frequency);
}

absl::StatusOr<std::vector<RangedPart>> AdapterCatalog::Choose(
    std::span<const AdapterChoice> choices) {
  std::vector<RangedPart> parts;
  const std::shared_ptr<const inference::Talora> global = UseGlobal();
  const auto means_global = [&global](const AdapterChoice& choice) {
    return global != nullptr && choice.name == global->name &&
           choice.version.value_or(global->version) == global->version;
  };
  if (global != nullptr && std::none_of(choices.begin(), choices.end(), means_global)) {
    parts.push_back({.adapter = global});
  }
  if (choices.empty()) {
    for (const CatalogEntry& entry : ListOthers()) {
      if (entry.info.served && entry.weight != 0) {
        auto adapter = registry_.Get(entry.info.name, entry.info.version);
        if (absl::IsNotFound(adapter.status()) &&
            ReasonOf(adapter.status()) == reasons::kNotFound) {
          continue;  // unloaded meanwhile
        }
        RETURN_IF_ERROR(adapter.status());
        parts.push_back(
            {.adapter = *std::move(adapter), .weight = entry.weight, .evidence = entry.evidence});
      }
    }
  }
  for (size_t i = 0; i < choices.size(); ++i) {
    const AdapterChoice& choice = choices[i];
    const bool is_global = means_global(choice);
    if (!is_global && !ServedVersion(choice.name, choice.version).ok()) {
      const std::string known = KnownNames();
      // The message leaves out the name, because the witness log keeps messages and a name may
      // contain a user's words.
      return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                   "adapter number {} of the request is not loaded here; loaded adapters: {}",
                   i + 1, known.empty() ? "none, see inference.adapters" : known);
    }
    if (choice.weight == 0) {
      continue;
    }
    std::shared_ptr<const inference::Talora> adapter = global;
    if (!is_global) {
      ASSIGN_OR_RETURN(adapter, registry_.Get(choice.name, choice.version));
    }
    parts.push_back({.adapter = std::move(adapter),
                     .weight = choice.weight,
                     .t_min = choice.t_min,
                     .t_max = choice.t_max});
  }
  return parts;
}

}  // namespace ruvd::serving
