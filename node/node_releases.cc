// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What stands between what a node learned and its peers: the site's policy, the ledger, the noise.

#include <spdlog/spdlog.h>

#include <chrono>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "node/node_impl.h"
#include "node/privacy_counter.h"
#include "privacy/consent/site_policy.h"
#include "privacy/limits.h"
#include "privacy/sodium.h"

namespace ruvd {
namespace {

constexpr std::string_view kOpenPolicy =
    "version = 1\n[scope.default]\ntiers = [\"masked\", \"dp\", \"public\"]\n"
    "purposes = [\"training\", \"sharing\"]\n";

absl::StatusOr<SitePolicy> ReadPolicy(const std::string& path) {
  if (path.empty()) {
    return SitePolicy::Parse(kOpenPolicy);
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, limits::kMaxPolicyBytes));
  return SitePolicy::Parse(text);
}

absl::StatusOr<std::unique_ptr<PrivacyLedgerStore>> OpenLedger(const NodeConfig& config,
                                                               const PrivacyBudget& budget,
                                                               const NodeKey& key,
                                                               Database& database) {
  return PrivacyLedgerStore::Open(
      database, {.budgets = {budget}, .key = &key, .counter_file = PrivacyCounterFileOf(config)});
}

}  // namespace

void NodeImpl::PrepareReleases() {
  const auto& privacy = config_.privacy;
  DpReleaseOptions options{
      .scope = privacy.scope,
      .clip_norm = double{privacy.clip_norm},
      .epsilon = double{privacy.release_epsilon},
      .delta = double{privacy.delta},
      .signal = double{privacy.signal},
      .interval = std::chrono::seconds(privacy.release_seconds),
      .layout = LayoutOfUpdates(),
      .random = SecureRandomBytes,
      .clock = &clock_,
  };
  absl::StatusOr<SitePolicy> policy = ReadPolicy(privacy.policy);
  if (policy.ok()) {
    options.policy = *std::move(policy);
  } else {  // an empty one refuses every scope
    spdlog::error("nothing is shared: {} [{}]", MessageOf(policy.status()),
                  ReasonOf(policy.status()));
  }
  const auto budget =
      PrivacyBudget::Within(PrivacyUnit::kNode, double{privacy.node_epsilon}, options.delta);
  options.unavailable = budget.status();
  if (budget.ok()) {
    options.budget = *budget;
    auto ledger = OpenLedger(config_, *budget, files_->key, *database_);
    options.unavailable = ledger.status();
    if (ledger.ok()) {
      ledger_ = *std::move(ledger);
      options.ledger = ledger_.get();
    }
  }
  if (!options.unavailable.ok()) {
    spdlog::error("no noised update is released: {} [{}]", MessageOf(options.unavailable),
                  ReasonOf(options.unavailable));
  }
  release_ = DpRelease::Create(std::move(options));
}

}  // namespace ruvd
