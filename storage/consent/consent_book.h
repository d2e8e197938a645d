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

// Who of a node's users agreed to what, as training and releases ask it. Requests that name no user
// are the operator's own: the operator's tier speaks for them, unless their session has a record.
// Users and sessions are known by pseudonyms here, which rows of patterns keep in place of names.
// Thread-safe.
class ConsentBook {
 public:
  // Reads the stored records. One that is damaged or not this node's own may have been a
  // withdrawal: until its subject is asked again, whoever it may be about allows nothing. `store`
  // and `key` outlive the book. The errors of UserConsentStore::All.
  static absl::StatusOr<std::unique_ptr<ConsentBook>> Open(UserConsentStore& store,
                                                           const privacy::NodeKey& key);

  // Signs and stores what a subject agrees to from `now_ms` on, in place of what was known; no
  // purposes: a withdrawal, which holds until the node ends even where the disk refuses it. Returns
  // the record, whose granted_ms is later than the former one's. CONSENT_INVALID, LIMIT_EXCEEDED,
  // the errors of Database::Write.
  absl::StatusOr<privacy::UserConsent> Record(privacy::UserConsent fields, int64_t now_ms);

  // Notes that a user, and every session that agreed before, takes all of it back. As Record.
  absl::StatusOr<privacy::UserConsent> Withdraw(const std::string& user_id, int64_t now_ms);
  // Whether a record of this user's own is known.
  bool Knows(const std::string& user_id) const;

  // Whose words a trajectory holds.
  privacy::Contributor ContributorOf(const Trajectory& trajectory) const;

  // Whether what is learned from a contributor may be trained so that it can be shared, under
  // whatever tier; asked again when it is.
  bool MayPrepare(const privacy::Contributor& contributor, int64_t now_ms) const;

  // Whether all of them let it leave under `tier` now. False for nobody.
  bool MayShare(std::span<const privacy::Contributor> contributors, privacy::ConsentTier tier,
                int64_t now_ms) const;

  // What a release under the operator's tier asks: all records, and the operator's word for
  // requests without a user.
  privacy::ConsentRegister ForRelease(privacy::ConsentTier operators, int64_t now_ms) const;

  // Whether a consent of anybody ended in (since_ms, now_ms].
  bool EndedSince(int64_t since_ms, int64_t now_ms) const;

  // With the names of their subjects, in no order that means anything.
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
  // Takes a record that was verified.
  absl::Status Take(const privacy::UserConsent& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  UserConsentStore& store_;
  const privacy::NodeKey& key_;
  const std::string operator_;  // the pseudonym of requests without a user
  mutable Mutex mutex_;
  // The same records twice, by pseudonym: with the name of the subject, and without.
  std::map<privacy::ConsentSubject, privacy::UserConsent> records_ ABSL_GUARDED_BY(mutex_);
  privacy::ConsentRegister register_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> damaged_ ABSL_GUARDED_BY(mutex_);  // keys of rows that cannot be read
};

}  // namespace ruvd::storage
