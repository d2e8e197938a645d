// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/consent/consent.h"

namespace ruvd::privacy {

// What a site lets its nodes do with the data of one scope.
struct SiteScope {
  std::set<ConsentTier> tiers;  // that updates may be shared under
  uint8_t purposes = 0;         // bits of consent_purposes
  bool operator==(const SiteScope&) const = default;
};

// The site's own rules, which no federation and no user can widen: every update belongs to a scope
// that is listed here, or it is refused; there is no default. A TOML file:
//
//   version = 1
//   [scope.support]
//   tiers = ["masked", "dp"]
//   purposes = ["training", "sharing"]
class SitePolicy {
 public:
  // POLICY_INVALID for what is no such file: syntax, an unknown key, tier, purpose or version;
  // LIMIT_EXCEEDED above kMaxPolicyBytes or kMaxPolicyScopes.
  static absl::StatusOr<SitePolicy> Parse(std::string_view text);

  // OK where the scope allows `purpose`, and for sharing `tier`. SCOPE_UNKNOWN, POLICY_REFUSES.
  absl::Status Require(std::string_view scope, uint8_t purpose, ConsentTier tier) const;

  const std::map<std::string, SiteScope, std::less<>>& scopes() const { return scopes_; }

 private:
  std::map<std::string, SiteScope, std::less<>> scopes_;
};

}  // namespace ruvd::privacy
