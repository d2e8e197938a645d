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

// What a site allows its nodes to do with the data of one scope.
struct SiteScope {
  std::set<ConsentTier> tiers;  // tiers under which updates may be shared
  uint8_t purposes = 0;         // bits of consent_purposes
  bool operator==(const SiteScope&) const = default;
};

// The site's own rules, which neither the federation nor a user can widen. Every update belongs to
// a scope; if the scope is not listed here, the update is refused. There is no default scope. The
// rules are a TOML file:
//
//   version = 1
//   [scope.support]
//   tiers = ["masked", "dp"]
//   purposes = ["training", "sharing"]
class SitePolicy {
 public:
  // Parses a policy file. Fails with POLICY_INVALID for a syntax error or an unknown key, tier,
  // purpose or version, and with LIMIT_EXCEEDED for more than kMaxPolicyBytes or kMaxPolicyScopes.
  static absl::StatusOr<SitePolicy> Parse(std::string_view text);

  // Returns OK if the scope allows `purpose` and, for sharing, `tier`. Otherwise returns
  // SCOPE_UNKNOWN or POLICY_REFUSES.
  absl::Status Require(std::string_view scope, uint8_t purpose, ConsentTier tier) const;

  const std::map<std::string, SiteScope, std::less<>>& scopes() const { return scopes_; }

 private:
  std::map<std::string, SiteScope, std::less<>> scopes_;
};

}  // namespace ruvd::privacy
