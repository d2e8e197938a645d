// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/consent/consent.h"
#include "privacy/consent/site_policy.h"
#include "privacy/consent/user_consent.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/identity/node_key.h"
#include "privacy/ledger/unit_budget.h"
#include "privacy/release/update_release.h"
#include "storage/db/database.h"
#include "storage/ledger/privacy_ledger_store.h"

namespace ruvd::bench {

inline constexpr char kExperimentScope[] = "experiment";

// A folder that is removed with the object.
class TemporaryFolder {
 public:
  // Fails with FILE_UNWRITABLE.
  static absl::StatusOr<std::unique_ptr<TemporaryFolder>> Create();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// What stands between a node's update and the others: its key, its site policy, the operator's
// tier, the consent of the user who wrote its texts, and its ledger on disk. Not movable, because
// guards borrow from it.
class GuardedNode {
 public:
  struct Terms {
    privacy::ConsentTier tier = privacy::ConsentTier::kPublic;
    privacy::UnitBudget budget;  // of tiers with noise
    uint64_t noise_seed = 0;     // 0: the operating system's randomness
  };
  // Makes the key from `number`. Fails as the database and the ledger do.
  static absl::StatusOr<std::unique_ptr<GuardedNode>> Create(const std::string& folder,
                                                             size_t number, const Terms& terms);

  const privacy::NodeId& id() const { return key_.id(); }
  privacy::ReleaseGuards Guards();
  std::span<const privacy::Contributor> contributors() const { return contributors_; }
  storage::PrivacyLedgerStore& ledger() { return *ledger_; }
  const privacy::dp::RandomBytes& random() const { return random_; }
  // Checks policy, operator's tier and consent for an update that carries no noise of its own when
  // it leaves.
  absl::Status RequireAllowed(privacy::ShareableKind kind);
  // Returns the epsilon, at the budget's delta, of everything that the ledger was charged.
  absl::StatusOr<double> Spent() const;

 private:
  GuardedNode(privacy::NodeKey key, const Terms& terms);
  privacy::NodeKey key_;
  Terms terms_;
  privacy::SitePolicy policy_;
  privacy::ConsentRegister consents_;
  std::vector<privacy::Contributor> contributors_;
  privacy::dp::RandomBytes random_;
  std::unique_ptr<storage::Database> database_;
  std::unique_ptr<storage::PrivacyLedgerStore> ledger_;
};

// Node keys of the experiment, by number from 0.
privacy::NodeKey ExperimentKey(size_t number);

}  // namespace ruvd::bench
