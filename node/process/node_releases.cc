// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Prepares what controls releases to peers: the site policy, the ledger and the noise.

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "node/log/log.h"
#include "node/process/learner_options.h"
#include "node/process/limits.h"
#include "node/process/node_impl.h"
#include "node/process/privacy_counter.h"
#include "privacy/consent/site_policy.h"
#include "privacy/limits.h"
#include "privacy/sodium.h"

namespace ruvd::node {
namespace {

constexpr std::string_view kOpenPolicy =
    "version = 1\n[scope.default]\ntiers = [\"masked\", \"dp\", \"public\"]\n"
    "purposes = [\"training\", \"sharing\"]\n";

absl::StatusOr<privacy::SitePolicy> ReadPolicy(const std::string& path) {
  if (path.empty()) {
    return privacy::SitePolicy::Parse(kOpenPolicy);
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, limits::kMaxPolicyBytes));
  return privacy::SitePolicy::Parse(text);
}

absl::StatusOr<std::unique_ptr<storage::PrivacyLedgerStore>> OpenLedger(
    const config::NodeConfig& config, std::vector<privacy::UnitBudget> budgets,
    const privacy::NodeKey& key, storage::Database& database) {
  return storage::PrivacyLedgerStore::Open(
      database,
      {.budgets = std::move(budgets), .key = &key, .counter_file = PrivacyCounterFileOf(config)});
}

}  // namespace

void NodeImpl::PrepareReleases() {
  const auto& privacy = config_.privacy;
  sharing::LocalContributorOptions options{.frame = frame_,
                                           .scope = privacy.scope,
                                           .random = privacy::SecureRandomBytes,
                                           .min_rating = config_.learning.min_rating,
                                           .learns = config_.learning.enabled};
  absl::StatusOr<privacy::SitePolicy> policy = ReadPolicy(privacy.policy);
  if (policy.ok()) {
    options.policy = *std::move(policy);
  } else {  // an empty policy refuses every scope
    LogError("nothing is shared, because the site policy is not usable: {} [{}]",
             MessageOf(policy.status()), ReasonOf(policy.status()));
  }
  absl::StatusOr<std::vector<privacy::UnitBudget>> budgets = BudgetsOf(config_);
  options.unavailable = budgets.status();
  if (budgets.ok()) {
    options.budgets = *std::move(budgets);
    auto ledger = OpenLedger(config_, options.budgets, files_->key, *database_);
    options.unavailable = ledger.status();
    if (ledger.ok()) {
      ledger_ = *std::move(ledger);
      options.ledger = ledger_.get();
    }
  }
  if (!options.unavailable.ok()) {
    LogError("nothing with noise is released: {} [{}]", MessageOf(options.unavailable),
             ReasonOf(options.unavailable));
  }
  contributor_ = std::make_unique<sharing::LocalContributor>(std::move(options));
}

}  // namespace ruvd::node
