// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "privacy/consent/consent.h"
#include "privacy/consent/user_consent.h"
#include "privacy/identity/node_key.h"
#include "storage/consent/user_consent_store.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::storage {

// Knows what each of a node's users agreed to, as training and releases ask for it. Requests that
// name no user are the operator's own: the operator's tier applies to them unless their session has
// a record. Users and sessions are known here by pseudonyms, which rows of patterns store instead
// of names. Thread-safe.
class ConsentBook {
 public:
  // Reads the stored records. A record that is damaged or not signed by this node may have been a
  // withdrawal: until its subject is asked again, every subject that it may concern counts as not
  // agreeing. `store` and `key` must outlive the book. Returns an error of UserConsentStore::All.
  static absl::StatusOr<std::unique_ptr<ConsentBook>> Open(UserConsentStore& store,
                                                           const privacy::NodeKey& key);

  // Signs and stores what a subject agrees to from `now_ms` on, in place of the former record.
  // Without purposes it is a withdrawal, which holds until the process ends even if the disk
  // refuses it. Returns the record, whose granted_ms is later than that of the former one; or
  // CONSENT_INVALID, LIMIT_EXCEEDED or an error of Database::Write.
  absl::StatusOr<privacy::UserConsent> Record(privacy::UserConsent fields, int64_t now_ms);

  // Records that a user, with every session that agreed before, withdraws all consent. Errors are
  // those of Record.
  absl::StatusOr<privacy::UserConsent> Withdraw(const std::string& user_id, int64_t now_ms);
  // Returns whether this user has a record.
  bool Knows(const std::string& user_id) const;

  // Returns the contributor whose words a trajectory holds.
  privacy::Contributor ContributorOf(const Trajectory& trajectory) const;

  // Returns whether training on a contributor's data may produce something to be shared under any
  // tier. The question is asked again when it is shared.
  bool MayPrepare(const privacy::Contributor& contributor, int64_t now_ms) const;

  // Returns whether all contributors allow sharing under `tier` now. False for an empty list.
  bool MayShare(std::span<const privacy::Contributor> contributors, privacy::ConsentTier tier,
                int64_t now_ms) const;

  // Returns the register for a release under the operator's tier: all records, and the operator's
  // consent for requests without a user.
  privacy::ConsentRegister ForRelease(privacy::ConsentTier operators, int64_t now_ms) const;

  // Returns whether any consent ended in (since_ms, now_ms].
  bool EndedSince(int64_t since_ms, int64_t now_ms) const;

  // Returns all records with the names of their subjects, in no particular order.
  std::vector<privacy::UserConsent> All() const;

 private:
  ConsentBook(UserConsentStore& store, const privacy::NodeKey& key);
  std::string Pseudonym(privacy::ConsentSubject::Kind kind, std::string_view id) const;
  privacy::ConsentSubject Nameless(const privacy::ConsentSubject& subject) const;
  const privacy::UserConsent* Find(privacy::ConsentSubject::Kind kind,
                                   const std::string& pseudonym) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Allows(const privacy::Contributor& contributor, privacy::ConsentTier tier,
              int64_t now_ms) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes a verified record.
  absl::Status Take(const privacy::UserConsent& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  UserConsentStore& store_;
  const privacy::NodeKey& key_;
  const std::string operator_;  // the pseudonym of requests without a user
  mutable Mutex mutex_;
  // The records by pseudonym: records_ has the names of the subjects, register_ does not.
  std::map<privacy::ConsentSubject, privacy::UserConsent> records_ ABSL_GUARDED_BY(mutex_);
  privacy::ConsentRegister register_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> damaged_ ABSL_GUARDED_BY(mutex_);  // keys of rows that cannot be read
};

}  // namespace ruvd::storage
