// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/store_checks.h"

#include "base/status.h"
#include "storage/consent/consent_store.h"
#include "storage/db/database.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd {
namespace {

// Whether a store decodes its rows: it does so when it is opened.
absl::Status CheckTrajectories(Database& database, StoreReport* report) {
  const auto store = TrajectoryStore::Open(database, {});
  if (!store.ok()) {
    report->Complain("trajectories: " + MessageOf(store.status()));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<StoreCheck> StoreChecks() {
  return {{"trajectories", CheckTrajectories}};
}

}  // namespace ruvd
