// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/consent/site_policy.h"

#include <toml++/toml.h>

#include <exception>
#include <optional>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/consent/user_consent.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr int64_t kVersion = 1;

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kPolicyInvalid,
               "the site policy {}; nothing is shared until it is corrected", what);
}

std::optional<ConsentTier> TierOf(std::string_view name) {
  for (const ConsentTier tier :
       {ConsentTier::kPrivate, ConsentTier::kMasked, ConsentTier::kDp, ConsentTier::kPublic}) {
    if (TierName(tier) == name) {
      return tier;
    }
  }
  return std::nullopt;
}

std::optional<uint8_t> PurposeOf(std::string_view name) {
  if (name == "training") {
    return consent_purposes::kTraining;
  }
  return name == "sharing" ? std::optional(consent_purposes::kSharing) : std::nullopt;
}

// Returns the elements of a list of strings, or nullopt for anything else.
std::optional<std::vector<std::string>> Names(const toml::node& node) {
  const toml::array* const list = node.as_array();
  if (list == nullptr) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const toml::node& item : *list) {
    const auto name = item.value_exact<std::string>();
    if (!name) {
      return std::nullopt;
    }
    names.push_back(*name);
  }
  return names;
}

absl::Status ReadKey(std::string_view key, const toml::node& node, SiteScope* scope) {
  const auto names = Names(node);
  if (!names || (key != "tiers" && key != "purposes")) {
    return Invalid(
        "has a scope with a key other than tiers and purposes, or with a value that is not a list "
        "of names");
  }
  for (const std::string& name : *names) {
    if (key == "tiers") {
      const auto tier = TierOf(name);
      if (!tier) {
        return Invalid("names a tier that is not private, masked, dp or public");
      }
      scope->tiers.insert(*tier);
    } else {
      const auto purpose = PurposeOf(name);
      if (!purpose) {
        return Invalid("names a purpose that is neither training nor sharing");
      }
      scope->purposes |= *purpose;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<SiteScope> ReadScope(const toml::node& node) {
  const toml::table* const table = node.as_table();
  if (table == nullptr) {
    return Invalid("has a scope that is not a table");
  }
  SiteScope scope;
  for (const auto& [key, value] : *table) {
    RETURN_IF_ERROR(ReadKey(key.str(), value, &scope));
  }
  return scope;
}

absl::StatusOr<toml::table> ParseToml(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return Invalid(fmt::format("is not valid TOML at line {}", error.source().begin.line));
  } catch (const std::exception&) {
    return Invalid("is no TOML");
  }
}

}  // namespace

absl::StatusOr<SitePolicy> SitePolicy::Parse(std::string_view text) {
  if (text.size() > limits::kMaxPolicyBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "the site policy has {} bytes, more than the limit of {}; list scopes, not people",
                 text.size(), limits::kMaxPolicyBytes);
  }
  ASSIGN_OR_RETURN(const toml::table document, ParseToml(text));
  if (document["version"].value_exact<int64_t>() != kVersion) {
    return Invalid("does not begin with version = 1");
  }
  SitePolicy policy;
  for (const auto& [key, value] : document) {
    if (key.str() == "version") {
      continue;
    }
    const toml::table* const scopes = value.as_table();
    if (key.str() != "scope" || scopes == nullptr) {
      return Invalid("has a key that is neither version nor a [scope.NAME]");
    }
    for (const auto& [name, scope] : *scopes) {
      if (name.str().empty() || name.str().size() > limits::kMaxPolicyScopeBytes ||
          policy.scopes_.size() >= limits::kMaxPolicyScopes) {
        return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                     "a site policy may have at most {} scopes with names of 1 to {} bytes; merge "
                     "some scopes",
                     limits::kMaxPolicyScopes, limits::kMaxPolicyScopeBytes);
      }
      ASSIGN_OR_RETURN(policy.scopes_[std::string(name.str())], ReadScope(scope));
    }
  }
  return policy;
}

absl::Status SitePolicy::Require(std::string_view scope, uint8_t purpose, ConsentTier tier) const {
  const auto found = scopes_.find(scope);
  if (found == scopes_.end()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kScopeUnknown,
                 "the site policy does not list this scope, so its data may not be used; add "
                 "[scope.NAME] to the policy, or use a scope that it lists");
  }
  const bool shares = (purpose & consent_purposes::kSharing) != 0;
  if (purpose == 0 || (found->second.purposes & purpose) != purpose ||
      (shares && !found->second.tiers.contains(tier))) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kPolicyRefuses,
                 "the site policy does not allow {} under tier {} in this scope; only the site's "
                 "operator can change that",
                 shares ? "sharing" : "training", TierName(tier));
  }
  return absl::OkStatus();
}

}  // namespace ruvd::privacy
