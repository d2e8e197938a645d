// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/verify/row_checks.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reasons.h"
#include "storage/changes/change_rows.h"
#include "storage/consent/consent_rows.h"
#include "storage/consent/consent_store.h"
#include "storage/consent/release_source_store.h"
#include "storage/consent/user_consent_store.h"
#include "storage/consent/withdrawal_store.h"
#include "storage/db/row_key.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/policies/policy_rows.h"
#include "storage/reasons.h"
#include "storage/sessions/session_rows.h"
#include "storage/state/state_rows.h"
#include "storage/state/state_store.h"
#include "storage/tokens/observed_rows.h"
#include "storage/trajectories/trajectory_rows.h"
#include "storage/verify/row_problems.h"

namespace ruvd::storage {
namespace {

// Checks a policy's row and the Fisher diagonal that it mentions.
absl::Status CheckPolicy(const Database& database, const RowView& row, const PolicyId& id,
                         RowProblems* complaints) {
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
  if (!stored.ok()) {
    return absl::OkStatus();  // Database::Verify reports it
  }
  const auto fisher = policies::DecodeFisher(*stored);
  if (complaints->Ok(fisher_key, fisher.status()) && fisher->size() != policy->fisher_values) {
    complaints->Add(fisher_key, fmt::format("it has {} values, but its policy says {}",
                                            fisher->size(), policy->fisher_values));
  }
  return absl::OkStatus();
}

// Checks the row that finds a trajectory by its time. A trajectory that does not decode is reported
// itself.
absl::Status CheckTimeRow(const Database& database, const RowView& row, RowProblems* complaints) {
  const std::string key = trajectories::IdKey(trajectories::IdOfTimeKey(row.key));
  const absl::StatusOr<std::string> stored = database.Get(ColumnFamily::kTrajectory, key);
  if (ReasonOf(stored.status()) == reasons::kKeyDestroyed) {
    return absl::OkStatus();  // its user was erased; the next start removes both
  }
  if (absl::IsNotFound(stored.status())) {
    return complaints->Expect(database, ColumnFamily::kTrajectory, row.key, key);
  }
  const auto trajectory = stored.ok() ? trajectories::DecodeTrajectory(*stored)
                                      : absl::StatusOr<Trajectory>(stored.status());
  if (trajectory.ok() &&
      row.key != trajectories::TimeKey(trajectory->created_ms, trajectory->response_id)) {
    complaints->Add(row.key, "its trajectory has another time");
  } else if (trajectory.ok() && row.value == (HasFeedback(*trajectory) ? trajectories::kNoFeedback
                                                                       : trajectories::kFeedback)) {
    complaints->Add(row.key, "it says the opposite of its trajectory about feedback");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTrajectoryRows(Database& database, StoreReport* report) {
  RowProblems complaints("trajectory", report);
  constexpr ColumnFamily kFamily = ColumnFamily::kTrajectory;
  const auto check = [&](const RowView& row) -> absl::StatusOr<bool> {
    if (row.key.starts_with(trajectories::kTimePrefix)) {
      RETURN_IF_ERROR(CheckTimeRow(database, row, &complaints));
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
  };
  return database.Scan(kFamily, "", "", check, RowProblems::SkipRow);
}

absl::Status CheckSessionRows(Database& database, StoreReport* report) {
  RowProblems complaints("session", report);
  const auto check = [&](const RowView& row) -> absl::StatusOr<bool> {
    const absl::StatusOr<SessionState> session = sessions::DecodeSession(row.value);
    if (complaints.Ok(row.key, session.status()) &&
        row.key != sessions::SessionKey(session->session_id)) {
      complaints.Add(row.key, "it holds another session");
    }
    return true;
  };
  return database.Scan(ColumnFamily::kSession, "", "", check, RowProblems::SkipRow);
}

absl::Status CheckObservedRows(Database& database, StoreReport* report) {
  RowProblems complaints("token", report);
  const auto check = [&](const RowView& row) -> absl::StatusOr<bool> {
    const absl::StatusOr<ObservedLesson> lesson = tokens::DecodeObserved(row.value);
    if (complaints.Ok(row.key, lesson.status()) && row.key != tokens::ObservedKey(lesson->name)) {
      complaints.Add(row.key, "it holds another lesson");
    }
    return true;
  };
  return database.Scan(ColumnFamily::kToken, "", "", check, RowProblems::SkipRow);
}

absl::Status CheckPolicyRows(Database& database, StoreReport* report) {
  RowProblems complaints("policy", report);
  constexpr ColumnFamily kFamily = ColumnFamily::kPolicy;
  const auto check = [&](const RowView& row) -> absl::StatusOr<bool> {
    const std::optional<PolicyId> id = policies::IdOfKey(row.key);
    if (!id) {
      complaints.Add(row.key, "this is not a key of a policy");
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
  };
  return database.Scan(kFamily, "", "", check, RowProblems::SkipRow);
}

absl::Status CheckOplogRows(Database& database, StoreReport* report) {
  RowProblems complaints("oplog", report);
  uint64_t expected = 0;
  const auto follow = [&](std::string_view key) {
    const uint64_t sequence = ReadKeyU64(key, 0).value_or(0);
    if (expected != 0 && sequence != expected) {
      complaints.Add(
          key, fmt::format("the log continues with {}, but {} was expected", sequence, expected));
    }
    expected = sequence + 1;
  };
  const auto check = [&](const RowView& row) -> absl::StatusOr<bool> {
    follow(row.key);
    complaints.Ok(row.key, patterns::DecodeOplogRow(row.value).status());
    return true;
  };
  const auto pass = [&](std::string_view key) -> absl::StatusOr<bool> {
    follow(key);
    return true;
  };
  return database.Scan(ColumnFamily::kOplog, "", "", check, pass);
}

absl::Status CheckChangeRows(Database& database, StoreReport* report) {
  RowProblems complaints("change", report);
  const auto check = [&](const RowView& row) -> absl::StatusOr<bool> {
    const uint64_t number = changes::NumberOfKey(row.key).value_or(0);
    if (row.key.starts_with(changes::kChangePrefix)) {
      complaints.Ok(row.key, changes::DecodeChange(row.value, number).status());
    } else if (row.key.starts_with(changes::kImagePrefix)) {
      complaints.Ok(row.key, changes::DecodeImage(row.value).status());
      RETURN_IF_ERROR(
          complaints.Expect(database, ColumnFamily::kChange, row.key, changes::ChangeKey(number)));
    }
    return true;
  };
  return database.Scan(ColumnFamily::kChange, "", "", check, RowProblems::SkipRow);
}

absl::Status CheckConsentRows(Database& database, StoreReport* report) {
  RowProblems complaints("consent", report);
  const auto check = [&](const RowView& row) -> absl::StatusOr<bool> {
    if (row.key == consent_rows::kOperatorKey) {
      complaints.Ok(row.key, DecodeConsent(row.value).status());
    } else if (row.key.starts_with(consent_rows::kUserPrefix)) {
      complaints.Ok(row.key, CheckUserConsentRow(row.key, row.value));
    } else if (row.key.starts_with(consent_rows::kWithdrawalPrefix)) {
      complaints.Ok(row.key, CheckWithdrawalRow(row.key, row.value));
    } else if (row.key.starts_with(consent_rows::kReleasePrefix)) {
      complaints.Ok(row.key, CheckReleaseSourceRow(row.key, row.value));
    } else {
      complaints.Add(row.key, "this is not a key of a consent");
    }
    return true;
  };
  return database.Scan(ColumnFamily::kConsent, "", "", check, RowProblems::SkipRow);
}

absl::Status CheckStateRows(Database& database, StoreReport* report) {
  RowProblems complaints("state", report);
  const StateStore state(database);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, state.Names(""));
  for (const std::string& name : names) {
    const absl::Status status = state.Check(name);
    if (ReasonOf(status) != reasons::kSealBroken) {  // Database::Verify reports it
      complaints.Ok(state_rows::HeadKey(name), status);
    }
  }
  const auto check_key = [&](std::string_view key) -> absl::StatusOr<bool> {
    if (!state_rows::ParseKey(key)) {
      complaints.Add(key, "this is not a key of the state");
    }
    return true;
  };
  return database.Scan(
      ColumnFamily::kState, "", "", [&](const RowView& row) { return check_key(row.key); },
      check_key);
}

absl::Status CheckLedger(Database& database, StoreReport* report) {
  const auto ledger = PrivacyLedgerStore::Open(database, {.read_only = true});
  if (!ledger.ok()) {
    report->AddProblem(
        fmt::format("ledger: {} [{}]", MessageOf(ledger.status()), ReasonOf(ledger.status())));
  }
  return absl::OkStatus();
}

std::vector<StoreCheck> RowChecks() {
  return {{"trajectory", CheckTrajectoryRows},
          {"lesson", CheckLessonRows},
          {"token", CheckObservedRows},
          {"witness", CheckWitnessRows},
          {"session", CheckSessionRows},
          {"policy", CheckPolicyRows},
          {"edge", CheckEdgeRows},
          {"oplog", CheckOplogRows},
          {"change", CheckChangeRows},
          {"consent", CheckConsentRows},
          {"state", CheckStateRows},
          {"ledger", CheckLedger}};
}

}  // namespace ruvd::storage
