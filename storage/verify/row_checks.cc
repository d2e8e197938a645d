// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/verify/row_checks.h"

#include <optional>
#include <string>

#include "storage/db/row_key.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "storage/policies/policy_rows.h"
#include "storage/sessions/session_rows.h"
#include "storage/trajectories/trajectory_rows.h"
#include "storage/verify/row_complaints.h"

namespace ruvd {
namespace {

// A policy's row and what it says of its Fisher diagonal.
absl::Status CheckPolicy(const Database& database, const RowView& row, const PolicyId& id,
                         RowComplaints* complaints) {
  const absl::StatusOr<Policy> policy = policies::DecodePolicy(row.value, id);
  if (!complaints->Ok(row.key, policy.status())) {
    return absl::OkStatus();
  }
  const std::string fisher_key = policies::FisherKey(id);
  if (policy->fisher_values == 0) {
    return absl::OkStatus();
  }
  const absl::StatusOr<std::string> stored = database.Get(ColumnFamily::kPolicy, fisher_key);
  if (absl::IsNotFound(stored.status())) {
    return complaints->Expect(database, ColumnFamily::kPolicy, row.key, fisher_key);
  }
  RETURN_IF_ERROR(stored.status());
  const auto fisher = policies::DecodeFisher(*stored);
  if (complaints->Ok(fisher_key, fisher.status()) && fisher->size() != policy->fisher_values) {
    complaints->Add(fisher_key, fmt::format("{} values, its policy says {}", fisher->size(),
                                            policy->fisher_values));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTrajectoryRows(Database& database, StoreReport* report) {
  RowComplaints complaints("trajectory", report);
  constexpr ColumnFamily kFamily = ColumnFamily::kTrajectory;
  return database.Scan(kFamily, "", "", [&](const RowView& row) -> absl::StatusOr<bool> {
    if (row.key.starts_with(trajectories::kTimePrefix)) {
      RETURN_IF_ERROR(complaints.Expect(database, kFamily, row.key,
                                        trajectories::IdKey(trajectories::IdOfTimeKey(row.key))));
      return true;
    }
    const absl::StatusOr<Trajectory> trajectory = trajectories::DecodeTrajectory(row.value);
    if (!complaints.Ok(row.key, trajectory.status())) {
      return true;
    }
    if (row.key != trajectories::IdKey(trajectory->response_id)) {
      complaints.Add(row.key, "it holds another trajectory");
    }
    RETURN_IF_ERROR(
        complaints.Expect(database, kFamily, row.key,
                          trajectories::TimeKey(trajectory->created_ms, trajectory->response_id)));
    return true;
  });
}

absl::Status CheckSessionRows(Database& database, StoreReport* report) {
  RowComplaints complaints("session", report);
  return database.Scan(
      ColumnFamily::kSession, "", "", [&](const RowView& row) -> absl::StatusOr<bool> {
        const absl::StatusOr<SessionState> session = sessions::DecodeSession(row.value);
        if (complaints.Ok(row.key, session.status()) &&
            row.key != sessions::SessionKey(session->session_id)) {
          complaints.Add(row.key, "it holds another session");
        }
        return true;
      });
}

absl::Status CheckPolicyRows(Database& database, StoreReport* report) {
  RowComplaints complaints("policy", report);
  constexpr ColumnFamily kFamily = ColumnFamily::kPolicy;
  return database.Scan(kFamily, "", "", [&](const RowView& row) -> absl::StatusOr<bool> {
    const std::optional<PolicyId> id = policies::IdOfKey(row.key);
    if (!id) {
      complaints.Add(row.key, "the key is none of a policy");
      return true;
    }
    if (row.key.starts_with(policies::kPolicyPrefix)) {
      RETURN_IF_ERROR(CheckPolicy(database, row, *id, &complaints));
      return true;
    }
    if (row.key.starts_with(policies::kAccessPrefix)) {
      complaints.Ok(row.key, policies::DecodeAccess(row.value).status());
    }
    RETURN_IF_ERROR(complaints.Expect(database, kFamily, row.key, policies::PolicyKey(*id)));
    return true;
  });
}

absl::Status CheckLedger(Database& database, StoreReport* report) {
  const auto ledger = PrivacyLedgerStore::Open(database, {.read_only = true});
  if (!ledger.ok()) {
    report->Complain(
        fmt::format("ledger: {} [{}]", MessageOf(ledger.status()), ReasonOf(ledger.status())));
  }
  return absl::OkStatus();
}

std::vector<StoreCheck> RowChecks() {
  return {{"trajectory", CheckTrajectoryRows},
          {"witness", CheckWitnessRows},
          {"session", CheckSessionRows},
          {"policy", CheckPolicyRows},
          {"edge", CheckEdgeRows},
          {"ledger", CheckLedger}};
}

}  // namespace ruvd
