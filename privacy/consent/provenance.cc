// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/consent/provenance.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"

namespace ruvd::privacy {

absl::Status ProvenanceIndex::Add(const std::string& version, std::vector<ProvenanceInput> inputs,
                                  std::vector<std::string> parents) {
  if (versions_.size() >= limits::kMaxProvenanceVersions ||
      inputs.size() > limits::kMaxProvenanceInputs ||
      parents.size() > limits::kMaxProvenanceInputs) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "cannot record more than {} versions, or a version with {} inputs and {} parents; "
                 "remove old versions",
                 limits::kMaxProvenanceVersions, inputs.size(), parents.size());
  }
  const bool parents_known = std::ranges::all_of(
      parents, [this](const std::string& parent) { return versions_.contains(parent); });
  if (versions_.contains(version) || !parents_known) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "version {} is already recorded, or one of its parents is not; record each "
                 "version once, after its parents",
                 version);
  }
  versions_[version] = {
      .order = added_++, .inputs = std::move(inputs), .parents = std::move(parents)};
  return absl::OkStatus();
}

std::vector<RebuildStep> ProvenanceIndex::PlanRebuild(
    std::span<const Withdrawal> withdrawals) const {
  const auto withdrawn = [withdrawals](const ProvenanceInput& input) {
    return std::ranges::any_of(withdrawals, [&input](const Withdrawal& withdrawal) {
      return withdrawal.Covers(input.item, input.origin, input.created_ms);
    });
  };
  std::map<uint64_t, const std::string*> in_order;
  for (const auto& [name, version] : versions_) {
    in_order[version.order] = &name;
  }
  std::set<std::string> affected;
  std::vector<RebuildStep> plan;
  for (const auto& [order, name] : in_order) {
    const Version& version = versions_.at(*name);
    const bool through_parent = std::ranges::any_of(
        version.parents, [&affected](const std::string& p) { return affected.contains(p); });
    if (!through_parent && std::ranges::none_of(version.inputs, withdrawn)) {
      continue;
    }
    affected.insert(*name);
    RebuildStep step{.version = *name, .inputs = version.inputs, .parents = version.parents};
    std::erase_if(step.inputs, withdrawn);
    plan.push_back(std::move(step));
  }
  return plan;
}

absl::Status ProvenanceIndex::Remove(const std::string& version) {
  for (const auto& [name, other] : versions_) {
    if (std::ranges::find(other.parents, version) != other.parents.end()) {
      return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                   "version {} is a parent of version {}; remove the latter first", version, name);
    }
  }
  versions_.erase(version);
  return absl::OkStatus();
}

}  // namespace ruvd::privacy
