// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/consent/withdrawal.h"

namespace ruvd::privacy {

// An item, of another node or of this one, that was used to make a version.
struct ProvenanceInput {
  Digest item{};  // message id
  NodeId origin{};
  int64_t created_ms = 0;
  auto operator<=>(const ProvenanceInput&) const = default;
};

// A version that must be made again from its remaining inputs.
struct RebuildStep {
  std::string version;
  std::vector<ProvenanceInput> inputs;  // without the withdrawn ones
  std::vector<std::string> parents;     // parents that are rebuilt come earlier in the plan
};

// Records from which items every version of an adapter was made, so that it can be made again
// without some of them. Bounded by kMaxProvenanceVersions and kMaxProvenanceInputs; not
// thread-safe.
class ProvenanceIndex {
 public:
  // Records a version that was made from `inputs` and from the earlier versions `parents`. Fails
  // with INVALID_ARGUMENT if the version is already recorded or a parent is not, and with
  // LIMIT_EXCEEDED.
  absl::Status Add(const std::string& version, std::vector<ProvenanceInput> inputs,
                   std::vector<std::string> parents);

  // Returns every version that contains a withdrawn item, directly or through a parent, with the
  // inputs that remain. Parents come before the versions made from them. Returns an empty plan if
  // no version is concerned.
  std::vector<RebuildStep> PlanRebuild(std::span<const Withdrawal> withdrawals) const;

  // Forgets a version. Fails with INVALID_ARGUMENT while another version names it as a parent.
  absl::Status Remove(const std::string& version);

  size_t size() const { return versions_.size(); }

 private:
  struct Version {
    uint64_t order = 0;  // order of Add: parents before children
    std::vector<ProvenanceInput> inputs;
    std::vector<std::string> parents;
  };
  std::map<std::string, Version> versions_;
  uint64_t added_ = 0;
};

}  // namespace ruvd::privacy
