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

// An item of another node, or of this one, that went into a version.
struct ProvenanceInput {
  Digest item{};  // message id
  NodeId origin{};
  int64_t created_ms = 0;
  auto operator<=>(const ProvenanceInput&) const = default;
};

// A version that has to be made again, of what is left.
struct RebuildStep {
  std::string version;
  std::vector<ProvenanceInput> inputs;  // without the withdrawn
  std::vector<std::string> parents;     // those rebuilt come earlier in the plan
};

// Which items every version of an adapter was made of, so that it can be made without some of them.
// Bounded; not thread-safe.
class ProvenanceIndex {
 public:
  // Notes a version, made of `inputs` and of the earlier versions `parents`. INVALID_ARGUMENT for a
  // version that is known or a parent that is not, LIMIT_EXCEEDED.
  absl::Status Add(const std::string& version, std::vector<ProvenanceInput> inputs,
                   std::vector<std::string> parents);

  // Every version that holds something withdrawn, itself or through a parent, parents first, with
  // what is left to make it of. Empty where nothing was.
  std::vector<RebuildStep> PlanWithout(std::span<const Withdrawal> withdrawals) const;

  // Forgets a version. Those made of it keep theirs: INVALID_ARGUMENT while there are such.
  absl::Status Remove(const std::string& version);

  size_t size() const { return versions_.size(); }

 private:
  struct Version {
    uint64_t order = 0;  // as added: parents before children
    std::vector<ProvenanceInput> inputs;
    std::vector<std::string> parents;
  };
  std::map<std::string, Version> versions_;
  uint64_t added_ = 0;
};

}  // namespace ruvd::privacy
