// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/consent/user_consent.h"

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kMagic("RUVDLLM-USER-CONSENT-v1\0", 24);

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kConsentInvalid,
               "a consent {}; ask for it again", what);
}

bool KnownTier(ConsentTier tier) {
  return tier >= ConsentTier::kPrivate && tier <= ConsentTier::kPublic;
}

absl::Status CheckFields(const UserConsent& record) {
  if (record.subject.id.empty() || record.subject.id.size() > limits::kMaxConsentSubjectBytes ||
      (record.subject.kind != ConsentSubject::Kind::kUser &&
       record.subject.kind != ConsentSubject::Kind::kSession)) {
    return Invalid("names no user and no session");
  }
  if ((record.purposes & ~consent_purposes::kAll) != 0 || !KnownTier(record.widest)) {
    return Invalid("names an unknown purpose or tier");
  }
  if (record.granted_ms < 0 || record.expires_ms <= record.granted_ms ||
      record.expires_ms - record.granted_ms > limits::kMaxConsentMillis) {
    return Invalid("does not last more than 0 and at most 366 days");
  }
  return absl::OkStatus();
}

std::string EncodeFields(const UserConsent& record) {
  ByteWriter writer;
  writer.WriteText(kMagic).Write(static_cast<uint8_t>(record.subject.kind));
  writer.Write(static_cast<uint8_t>(record.subject.id.size())).WriteText(record.subject.id);
  writer.Write(record.purposes).Write(static_cast<uint8_t>(record.widest));
  writer.Write(record.granted_ms).Write(record.expires_ms);
  return writer.Take();
}

// The signed bytes include the node's id, because its key may belong to a later epoch.
std::string SignedBytes(const UserConsent& record, const NodeKey& key) {
  return EncodeFields(record).append(AsText(key.id()));
}

absl::Status Missing(size_t missing, size_t of) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "{} of {} contributors did not agree to this use; leave out their data and train "
               "again, or ask them",
               missing, of);
}

// Returns OK if `record`, which may be nullptr, allows a use at `now_ms`.
absl::Status CheckAllows(const UserConsent* record, uint8_t purpose, ConsentTier tier,
                         int64_t now_ms) {
  const bool shares = (purpose & consent_purposes::kSharing) != 0;
  if (record == nullptr || (record->purposes & purpose) != purpose || purpose == 0 ||
      (shares && (!KnownTier(tier) || tier > record->widest)) || now_ms < record->granted_ms) {
    return Missing(1, 1);
  }
  if (now_ms >= record->expires_ms) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentExpired,
                 "a consent ended {} s ago; ask for it again",
                 (now_ms - record->expires_ms) / 1000);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UserConsent> UserConsent::Sign(UserConsent fields, const NodeKey& key) {
  RETURN_IF_ERROR(CheckFields(fields));
  fields.signature = key.Sign(AsBytes(SignedBytes(fields, key)));
  return fields;
}

std::string UserConsent::Encode() const {
  return EncodeFields(*this).append(AsText(signature));
}

absl::StatusOr<UserConsent> UserConsent::Parse(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  const auto magic = reader.ReadBytes(kMagic.size());
  const auto kind = reader.Read<uint8_t>();
  const auto length = reader.Read<uint8_t>();
  const auto id = reader.ReadBytes(length.value_or(0));
  const auto purposes = reader.Read<uint8_t>();
  const auto tier = reader.Read<uint8_t>();
  const auto granted = reader.Read<int64_t>();
  const auto expires = reader.Read<int64_t>();
  const auto signature = reader.ReadArray<64>();
  if (reader.failed() || reader.remaining() != 0 || AsText(*magic) != kMagic) {
    return Invalid("does not decode");
  }
  UserConsent record{
      .subject = {.kind = static_cast<ConsentSubject::Kind>(*kind), .id = std::string(AsText(*id))},
      .purposes = *purposes,
      .widest = static_cast<ConsentTier>(*tier),
      .granted_ms = *granted,
      .expires_ms = *expires,
      .signature = *signature};
  RETURN_IF_ERROR(CheckFields(record));
  return record;
}

absl::Status UserConsent::Verify(const NodeKey& key) const {
  RETURN_IF_ERROR(CheckFields(*this));
  if (!key.HasSigned(AsBytes(SignedBytes(*this, key)), signature)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "a consent is not signed by this node, so it allows nothing; ask for it again");
  }
  return absl::OkStatus();
}

absl::Status ConsentRegister::Put(const UserConsent& record) {
  RETURN_IF_ERROR(CheckFields(record));
  const auto known = records_.find(record.subject);
  if (known == records_.end() && records_.size() >= limits::kMaxConsentSubjects) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "more than {} users and sessions have a consent of their own; let users decide "
                 "for all their sessions",
                 limits::kMaxConsentSubjects);
  }
  const bool newer = known == records_.end() || known->second.granted_ms < record.granted_ms ||
                     (known->second.granted_ms == record.granted_ms && record.purposes == 0);
  if (newer) {
    records_[record.subject] = record;
  }
  untrusted_.erase(record.subject);
  return absl::OkStatus();
}

const UserConsent* ConsentRegister::Find(ConsentSubject::Kind kind, const std::string& id) const {
  const auto found = records_.find({.kind = kind, .id = id});
  return found == records_.end() ? nullptr : &found->second;
}

bool ConsentRegister::Readable(const ConsentSubject& subject) const {
  return !untrusted_.contains(subject) && (unreadable_ == 0 || records_.contains(subject));
}

absl::Status ConsentRegister::CheckReadable(const Contributor& contributor) const {
  const ConsentSubject user{.kind = ConsentSubject::Kind::kUser, .id = contributor.user};
  const ConsentSubject session{.kind = ConsentSubject::Kind::kSession, .id = contributor.session};
  if (!Readable(user) || (!session.id.empty() && !Readable(session))) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentDamaged,
                 "a consent that cannot be read may be a contributor's withdrawal ({} records are "
                 "damaged, {} do not verify); ask for it again, or restore a backup of the store",
                 unreadable_, untrusted_.size());
  }
  return absl::OkStatus();
}

absl::Status ConsentRegister::Require(const Contributor& contributor, uint8_t purpose,
                                      ConsentTier tier, int64_t now_ms) const {
  RETURN_IF_ERROR(CheckReadable(contributor));
  const UserConsent* const session = Find(ConsentSubject::Kind::kSession, contributor.session);
  const UserConsent* const user = Find(ConsentSubject::Kind::kUser, contributor.user);
  if (session == nullptr) {
    return CheckAllows(user, purpose, tier, now_ms);
  }
  RETURN_IF_ERROR(CheckAllows(session, purpose, tier, now_ms));
  const bool user_decided_since = user != nullptr && user->granted_ms >= session->granted_ms;
  return user_decided_since ? CheckAllows(user, purpose, tier, now_ms) : absl::OkStatus();
}

absl::Status ConsentRegister::RequireAll(std::span<const Contributor> contributors, uint8_t purpose,
                                         ConsentTier tier, int64_t now_ms) const {
  size_t missing = 0;
  for (const Contributor& contributor : contributors) {
    const absl::Status allowed = Require(contributor, purpose, tier, now_ms);
    if (ReasonOf(allowed) == reasons::kConsentDamaged) {
      return allowed;  // asking the other contributors would not help
    }
    missing += allowed.ok() ? 0 : 1;
  }
  return missing == 0 && !contributors.empty() ? absl::OkStatus()
                                               : Missing(missing, contributors.size());
}

}  // namespace ruvd::privacy
