// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/consent/consent.h"

namespace ruvd::privacy {

// What a user's data may be used for; bits of UserConsent::purposes.
namespace consent_purposes {
inline constexpr uint8_t kTraining = 1;  // adapters of this node learn from it
inline constexpr uint8_t kSharing = 2;   // what was learned from it may leave the node
inline constexpr uint8_t kAll = 3;
}  // namespace consent_purposes

// Who consents: a user, or one of a user's sessions.
struct ConsentSubject {
  enum class Kind : uint8_t { kUser = 1, kSession = 2 };
  Kind kind = Kind::kUser;
  std::string id;  // 1 to kMaxConsentSubjectBytes bytes
  auto operator<=>(const ConsentSubject&) const = default;
};

// What one subject agreed to, signed by the node that asked. A record without purposes withdraws
// the consent. It is a plain value; docs/wire-format.md has the bytes.
struct UserConsent {
  ConsentSubject subject;
  uint8_t purposes = 0;
  ConsentTier widest = ConsentTier::kPrivate;  // the loosest tier that sharing may use
  int64_t granted_ms = 0;                      // Unix time
  int64_t expires_ms = 0;                      // exclusive
  Signature signature{};

  // Signs `fields`. Fails with CONSENT_INVALID for fields that Parse would refuse.
  static absl::StatusOr<UserConsent> Sign(UserConsent fields, const NodeKey& key);
  std::string Encode() const;
  // Decodes a record. Fails with CONSENT_INVALID unless the bytes are exactly one encoded record.
  static absl::StatusOr<UserConsent> Parse(std::span<const uint8_t> bytes);
  // Returns SIGNATURE_INVALID if `key` did not sign this record, which then allows nothing.
  absl::Status Verify(const NodeKey& key) const;
  bool operator==(const UserConsent&) const = default;
};

// The user and session whose words something was learned from.
struct Contributor {
  std::string user;
  std::string session;  // may be empty
  auto operator<=>(const Contributor&) const = default;
};

// Records which subject agreed to what. If a session has a record, it decides about the session's
// data; otherwise the record of its user does; without either nothing is allowed. If the user's
// record is not older than the session's, both must allow the use: a user who withdraws also means
// the sessions that agreed before. A record that cannot be read may have been a withdrawal, so
// every contributor whom it may concern is refused. Bounded by kMaxConsentSubjects; not
// thread-safe.
class ConsentRegister {
 public:
  // Takes a verified record. A record that is not newer than the known record of its subject
  // changes nothing, so that a replayed grant does not undo a withdrawal. If two records have the
  // same time, a withdrawal wins. Fails with LIMIT_EXCEEDED for more than kMaxConsentSubjects
  // subjects.
  absl::Status Put(const UserConsent& record);

  // Says that a stored record of this subject cannot be trusted. Nothing is allowed for the subject
  // before the next Put for it.
  void MarkUntrusted(const ConsentSubject& subject) { untrusted_.insert(subject); }
  // Says how many stored records cannot be read so that even their subjects are unknown. While
  // there are any, a contributor can be allowed something only if its user and its session, if it
  // has one, both have a known record.
  void SetUnreadable(size_t records) { unreadable_ = records; }
  // Returns whether everything that this subject may have said is known.
  bool Readable(const ConsentSubject& subject) const;

  // Returns OK if the contributor allows `purpose` at `now_ms` and, for sharing, a tier as loose as
  // `tier`. Otherwise returns CONSENT_DAMAGED if a record that may be this contributor's cannot be
  // read, CONSENT_EXPIRED if the consent has ended, or CONSENT_MISSING.
  absl::Status Require(const Contributor& contributor, uint8_t purpose, ConsentTier tier,
                       int64_t now_ms) const;

  // Calls Require for all contributors. Callers ask before training and again before a release,
  // because a contributor may withdraw in between. The message says how many consents are missing,
  // but not whose. An empty list gives CONSENT_MISSING, because data without known contributors has
  // no consent. CONSENT_DAMAGED is as in Require.
  absl::Status RequireAll(std::span<const Contributor> contributors, uint8_t purpose,
                          ConsentTier tier, int64_t now_ms) const;

  size_t size() const { return records_.size(); }

 private:
  const UserConsent* Find(ConsentSubject::Kind kind, const std::string& id) const;
  absl::Status CheckReadable(const Contributor& contributor) const;
  std::map<ConsentSubject, UserConsent> records_;
  std::set<ConsentSubject> untrusted_;
  size_t unreadable_ = 0;
};

}  // namespace ruvd::privacy
