// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/consent/consent_book.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::storage {
namespace {

constexpr uint8_t kSharedUse =
    privacy::consent_purposes::kTraining | privacy::consent_purposes::kSharing;
constexpr int64_t kReleaseMillis = 60'000;

}  // namespace

ConsentBook::ConsentBook(UserConsentStore& store, const privacy::NodeKey& key)
    : store_(store), key_(key), operator_(Pseudonym(privacy::ConsentSubject::Kind::kUser, "")) {}

// The pseudonym contains the node's id, so that rows of two nodes do not show which users they
// share.
std::string ConsentBook::Pseudonym(privacy::ConsentSubject::Kind kind, std::string_view id) const {
  constexpr std::string_view kContributorDomain("RUVDLLM-CONTRIBUTOR-v1\0", 23);
  ByteWriter writer;
  writer.WriteText(kContributorDomain).WriteBytes(key_.id());
  writer.Write(static_cast<uint8_t>(kind)).WriteText(id);
  return ToHex(Sha256(std::string_view(writer.Take())));
}

absl::StatusOr<std::unique_ptr<ConsentBook>> ConsentBook::Open(UserConsentStore& store,
                                                               const privacy::NodeKey& key) {
  std::unique_ptr<ConsentBook> book(new ConsentBook(store, key));
  ASSIGN_OR_RETURN(const UserConsentStore::Records records, store.All());
  size_t foreign = 0;
  const MutexLock lock(book->mutex_);
  for (const privacy::UserConsent& record : records.read) {
    if (!record.Verify(key).ok() || !book->Take(record).ok()) {
      ++foreign;
      book->register_.MarkUntrusted(book->Nameless(record.subject));
    }
  }
  book->damaged_ = records.damaged;
  book->register_.SetUnreadable(records.damaged.size());
  if (records.damaged.size() + foreign > 0) {
    spdlog::error(
        "{} consents of users cannot be read and {} were not signed by this node: no data that "
        "they may concern is shared until the users are asked again or a backup is restored [{}]",
        records.damaged.size(), foreign, reasons::kConsentDamaged);
  }
  return book;
}

privacy::ConsentSubject ConsentBook::Nameless(const privacy::ConsentSubject& subject) const {
  return {.kind = subject.kind, .id = Pseudonym(subject.kind, subject.id)};
}

absl::Status ConsentBook::Take(const privacy::UserConsent& record) {
  privacy::UserConsent nameless = record;
  nameless.subject = Nameless(record.subject);
  RETURN_IF_ERROR(register_.Put(nameless));
  records_[nameless.subject] = record;
  return absl::OkStatus();
}

const privacy::UserConsent* ConsentBook::Find(privacy::ConsentSubject::Kind kind,
                                              const std::string& pseudonym) const {
  const auto found = records_.find({.kind = kind, .id = pseudonym});
  return found == records_.end() ? nullptr : &found->second;
}

absl::StatusOr<privacy::UserConsent> ConsentBook::Record(privacy::UserConsent fields,
                                                         int64_t now_ms) {
  const MutexLock lock(mutex_);
  const privacy::UserConsent* const known =
      Find(fields.subject.kind, Pseudonym(fields.subject.kind, fields.subject.id));
  const int64_t lasts_ms = fields.expires_ms - fields.granted_ms;
  // This holds even if the clock went back: the newer record must count.
  fields.granted_ms = known == nullptr ? now_ms : std::max(now_ms, known->granted_ms + 1);
  fields.expires_ms = fields.granted_ms + lasts_ms;
  ASSIGN_OR_RETURN(const privacy::UserConsent record,
                   privacy::UserConsent::Sign(std::move(fields), key_));
  if (known == nullptr && records_.size() >= limits::kMaxConsentSubjects) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "{} users and sessions already have a consent of their own, which is the limit; "
                 "let users decide for "
                 "all their sessions",
                 records_.size());
  }
  const absl::Status stored = store_.Put(record);
  if (stored.ok() || record.purposes == 0) {
    RETURN_IF_ERROR(Take(record));
  }
  RETURN_IF_ERROR(stored);
  damaged_.erase(UserConsentStore::KeyOf(record.subject));  // the row has been replaced
  register_.SetUnreadable(damaged_.size());
  return record;
}

absl::StatusOr<privacy::UserConsent> ConsentBook::Withdraw(const std::string& user_id,
                                                           int64_t now_ms) {
  return Record({.subject = {.kind = privacy::ConsentSubject::Kind::kUser, .id = user_id},
                 .expires_ms = limits::kMaxConsentMillis},
                now_ms);
}

bool ConsentBook::Knows(const std::string& user_id) const {
  const MutexLock lock(mutex_);
  return Find(privacy::ConsentSubject::Kind::kUser,
              Pseudonym(privacy::ConsentSubject::Kind::kUser, user_id)) != nullptr;
}

privacy::Contributor ConsentBook::ContributorOf(const Trajectory& trajectory) const {
  return {
      .user = Pseudonym(privacy::ConsentSubject::Kind::kUser, trajectory.user_id),
      .session = trajectory.session_id.empty()
                     ? ""
                     : Pseudonym(privacy::ConsentSubject::Kind::kSession, trajectory.session_id)};
}

bool ConsentBook::Allows(const privacy::Contributor& contributor, privacy::ConsentTier tier,
                         int64_t now_ms) const {
  if (contributor.user == operator_ &&
      Find(privacy::ConsentSubject::Kind::kSession, contributor.session) == nullptr) {
    return contributor.session.empty() ||
           register_.Readable(
               {.kind = privacy::ConsentSubject::Kind::kSession, .id = contributor.session});
  }
  return register_.Require(contributor, kSharedUse, tier, now_ms).ok();
}

bool ConsentBook::MayPrepare(const privacy::Contributor& contributor, int64_t now_ms) const {
  const MutexLock lock(mutex_);
  return Allows(contributor, privacy::ConsentTier::kMasked,
                now_ms);  // the most restrictive tier that shares anything
}

bool ConsentBook::MayShare(std::span<const privacy::Contributor> contributors,
                           privacy::ConsentTier tier, int64_t now_ms) const {
  const MutexLock lock(mutex_);
  size_t allowed = 0;
  for (const privacy::Contributor& one : contributors) {
    allowed += Allows(one, tier, now_ms) ? 1 : 0;
  }
  return !contributors.empty() && allowed == contributors.size();
}

privacy::ConsentRegister ConsentBook::ForRelease(privacy::ConsentTier operators,
                                                 int64_t now_ms) const {
  const MutexLock lock(mutex_);
  privacy::ConsentRegister copy = register_;
  if (operators != privacy::ConsentTier::kPrivate) {
    // The record holds only for the time that a release takes on a busy machine, because the
    // operator may withdraw at any time. A full register refuses it, and then the release is
    // refused.
    copy.Put({.subject = {.kind = privacy::ConsentSubject::Kind::kUser, .id = operator_},
              .purposes = kSharedUse,
              .widest = operators,
              .granted_ms = now_ms,
              .expires_ms = now_ms + kReleaseMillis})
        .IgnoreError();
  }
  return copy;
}

bool ConsentBook::EndedSince(int64_t since_ms, int64_t now_ms) const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(records_, [&](const auto& entry) {
    const privacy::UserConsent& record = entry.second;
    return record.purposes != 0 && record.expires_ms > since_ms && record.expires_ms <= now_ms;
  });
}

std::vector<privacy::UserConsent> ConsentBook::All() const {
  const MutexLock lock(mutex_);
  std::vector<privacy::UserConsent> all;
  all.reserve(records_.size());
  for (const auto& [subject, record] : records_) {
    all.push_back(record);
  }
  return all;
}

}  // namespace ruvd::storage
