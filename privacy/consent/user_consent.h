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

// What one subject agreed to, signed by the node that asked. A withdrawal is a record without
// purposes. A plain value; docs/wire-format.md has the bytes.
struct UserConsent {
  ConsentSubject subject;
  uint8_t purposes = 0;
  ConsentTier widest = ConsentTier::kPrivate;  // the loosest tier that sharing may use
  int64_t granted_ms = 0;                      // Unix time
  int64_t expires_ms = 0;                      // exclusive
  Signature signature{};

  // Signs `fields`. INVALID_ARGUMENT for those that Parse would refuse.
  static absl::StatusOr<UserConsent> Sign(UserConsent fields, const NodeKey& key);
  std::string Encode() const;
  // CONSENT_INVALID unless the bytes are exactly one encoded record.
  static absl::StatusOr<UserConsent> Parse(std::span<const uint8_t> bytes);
  // SIGNATURE_INVALID if this is not the key's own record: it then allows nothing.
  absl::Status Verify(const NodeKey& key) const;
  bool operator==(const UserConsent&) const = default;
};

// Whose words something was learned from.
struct Contributor {
  std::string user;
  std::string session;  // may be empty
  auto operator<=>(const Contributor&) const = default;
};

// Who agreed to what. The record of a session decides about its data, where there is one; else that
// of its user; without either nothing is allowed. A record of the user that is not older than the
// session's narrows it: who withdraws means the sessions that agreed before. A record that cannot
// be read may have been a withdrawal: whoever it may concern is refused. Bounded; not thread-safe.
class ConsentRegister {
 public:
  // Takes a record that was verified. One that is not newer than what is known of its subject
  // changes nothing, so that a replayed grant does not undo a withdrawal; of two of one moment a
  // withdrawal stays. LIMIT_EXCEEDED for more than kMaxConsentSubjects.
  absl::Status Put(const UserConsent& record);

  // What this subject said is there and cannot be trusted: nothing is allowed of it before the next
  // Put for it.
  void Doubt(const ConsentSubject& subject) { doubted_.insert(subject); }
  // How many records cannot be read, of subjects that nobody knows. While there are any, only
  // contributors are allowed something of whose user and session, where there is one, a record is
  // known.
  void SetUnreadable(size_t records) { unreadable_ = records; }
  // Whether all that this subject may have said is known.
  bool Readable(const ConsentSubject& subject) const;

  // CONSENT_DAMAGED where a record that may be this contributor's cannot be read; CONSENT_MISSING
  // where the contributor did not allow `purpose` or, for sharing, a tier as loose as `tier`;
  // CONSENT_EXPIRED where it no longer does.
  absl::Status Require(const Contributor& contributor, uint8_t purpose, ConsentTier tier,
                       int64_t now_ms) const;

  // Require of all: asked before training, and again before a release, since any of them may have
  // withdrawn in between. Names nobody, only how many are missing. CONSENT_MISSING for nobody:
  // what has no known contributors was not consented to. CONSENT_DAMAGED as Require.
  absl::Status RequireAll(std::span<const Contributor> contributors, uint8_t purpose,
                          ConsentTier tier, int64_t now_ms) const;

  size_t size() const { return records_.size(); }

 private:
  const UserConsent* Find(ConsentSubject::Kind kind, const std::string& id) const;
  absl::Status CheckReadable(const Contributor& contributor) const;
  std::map<ConsentSubject, UserConsent> records_;
  std::set<ConsentSubject> doubted_;
  size_t unreadable_ = 0;
};

}  // namespace ruvd::privacy
