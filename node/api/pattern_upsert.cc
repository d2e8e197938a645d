// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/pattern_upsert.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/bank.h"
#include "node/api/bad_request.h"
#include "node/api/message_times.h"
#include "node/api/messages.h"
#include "node/api/pattern_messages.h"
#include "node/limits.h"
#include "node/serving/pattern_payload.h"
#include "privacy/sodium.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::api {
namespace {

using google::protobuf::util::TimeUtil;
using pattern::v1::UpsertPatternResponse;

// Tries to write a pattern that other calls change between reading and writing.
constexpr int kTries = 5;

// Returns the tier to store; if none is given, the stored tier stays.
absl::StatusOr<storage::SharingTier> ReadTier(privacy::v1::SharingTier tier,
                                              const storage::Pattern* existing) {
  switch (tier) {
    case privacy::v1::SHARING_TIER_UNSPECIFIED:
      return existing != nullptr ? existing->tier : storage::SharingTier::kPrivate;
    case privacy::v1::SHARING_TIER_PRIVATE:
      return storage::SharingTier::kPrivate;
    case privacy::v1::SHARING_TIER_PUBLIC:
      return storage::SharingTier::kPublic;
    default:
      return BadField("pattern.tier",
                      "tier {} cannot be stored in this version; use private or public",
                      static_cast<int>(tier));
  }
}

// Compares all fields that a client may set, except the counter of uses and the time of the change.
bool SameContent(const storage::Pattern& a, const storage::Pattern& b) {
  return a.embedding == b.embedding && a.bank == b.bank && a.task == b.task &&
         a.quality == b.quality && a.tier == b.tier && a.examples == b.examples &&
         a.origin == b.origin && a.created_ms == b.created_ms && a.expires_ms == b.expires_ms &&
         a.adapter_name == b.adapter_name && a.adapter_version == b.adapter_version &&
         a.payload == b.payload && a.standing == b.standing;
}

// A pattern of another node that an operator stores serves without a trial, because the operator
// decided so. A trial of the same adapter goes on, and its result stays.
storage::PatternStanding StandingOf(const storage::Pattern& pattern, const Digest& self,
                                    const storage::Pattern* existing) {
  if (pattern.origin == self) {
    return storage::PatternStanding::kOwn;
  }
  if (existing != nullptr && existing->adapter_name == pattern.adapter_name &&
      existing->adapter_version == pattern.adapter_version) {
    return existing->standing;
  }
  return pattern.adapter_name.empty() ? storage::PatternStanding::kNoAdapter
                                      : storage::PatternStanding::kServing;
}

// Compares all fields that peers get, except the core.
bool SameToPeers(const storage::Pattern& a, const storage::Pattern& b) {
  return a.embedding == b.embedding && a.bank == b.bank && a.task == b.task &&
         a.quality == b.quality && a.examples == b.examples;
}

// Returns the payload beside the embedding; empty if the row does not decode.
serving::PatternPayload PayloadOf(const storage::Pattern* pattern) {
  return pattern != nullptr
             ? serving::DecodePatternPayload(pattern->payload).value_or(serving::PatternPayload{})
             : serving::PatternPayload{};
}

// A client that names no tier leaves the decision to the operator's consent, or to the earlier
// choice. An imported file that replaces a stored pattern does too, because its "private" may not
// be a user's choice.
bool Withheld(const pattern::v1::UpsertPatternRequest& request, const storage::Pattern* existing,
              const serving::PatternPayload& before) {
  const privacy::v1::SharingTier tier = request.pattern().tier();
  const bool said = tier != privacy::v1::SHARING_TIER_UNSPECIFIED &&
                    (existing == nullptr || !request.only_if_newer());
  return said || tier == privacy::v1::SHARING_TIER_PUBLIC
             ? tier == privacy::v1::SHARING_TIER_PRIVATE
             : before.withheld;
}

// The stored pattern. If it is damaged, as much as can be read, because it will be replaced.
struct Stored {
  std::optional<storage::Pattern> pattern;
  bool damaged = false;

  serving::PatternPayload Payload() const {
    serving::PatternPayload payload = PayloadOf(pattern ? &*pattern : nullptr);
    payload.withheld |= damaged;  // it is unknown whether it was private
    return payload;
  }
};

absl::StatusOr<Stored> Find(const storage::PatternStore& patterns, const storage::PatternId& id) {
  Stored stored;
  absl::StatusOr<storage::Pattern> pattern = patterns.Get(id);
  if (absl::IsDataLoss(pattern.status())) {
    stored.damaged = true;
    pattern = patterns.GetWithoutPayload(id);
  }
  if (pattern.ok()) {
    stored.pattern = *std::move(pattern);
  } else if (!absl::IsNotFound(pattern.status()) && !absl::IsDataLoss(pattern.status())) {
    return pattern.status();
  }
  return stored;
}

absl::StatusOr<storage::PatternId> IdOf(const pattern::v1::Pattern& message) {
  if (!message.id().empty()) {
    return ReadPatternId(message.id());
  }
  storage::PatternId id;
  privacy::SecureRandomBytes(id);
  return id;
}

}  // namespace

absl::Status PatternUpsert::ReadTimes(const pattern::v1::Pattern& message,
                                      const storage::Pattern* existing,
                                      storage::Pattern* pattern) const {
  const int64_t now = options_.clock->WallMillis();
  const int64_t latest = now + limits::kMaxClockLead.count();
  pattern->created_ms = existing != nullptr ? existing->created_ms : now;
  pattern->updated_ms = now;
  if (message.has_create_time()) {
    ASSIGN_OR_RETURN(pattern->created_ms, ReadTime("pattern.create_time", message.create_time()));
  }
  if (message.has_update_time()) {
    ASSIGN_OR_RETURN(pattern->updated_ms, ReadTime("pattern.update_time", message.update_time()));
  }
  if (std::max(pattern->created_ms, pattern->updated_ms) > latest) {
    return BadField(
        pattern->created_ms > latest ? "pattern.create_time" : "pattern.update_time",
        "create_time is {} and update_time is {}, but the node's clock says {}; neither "
        "may be in the future: correct the clocks",
        TimeUtil::ToString(ToTimestamp(pattern->created_ms)),
        TimeUtil::ToString(ToTimestamp(pattern->updated_ms)), TimeUtil::ToString(ToTimestamp(now)));
  }
  if (message.has_expire_time()) {
    ASSIGN_OR_RETURN(pattern->expires_ms, ReadTime("pattern.expire_time", message.expire_time()));
    if (pattern->expires_ms <= now) {
      return BadField("pattern.expire_time",
                      "expire_time is {}, which is in the past; leave it out for a pattern that "
                      "does not expire",
                      TimeUtil::ToString(message.expire_time()));
    }
  }
  return absl::OkStatus();
}

std::optional<Digest> PatternUpsert::StoredContent(const storage::Pattern* existing,
                                                   const serving::PatternPayload& held) const {
  if (existing == nullptr) {
    return std::nullopt;
  }
  const auto stored = serving::AdapterOfPattern(*existing, held, *options_.model, options_.frame);
  return stored.ok() && *stored != nullptr ? std::optional(inference::AdapterId(**stored))
                                           : std::nullopt;
}

absl::Status PatternUpsert::ReadAdapter(const pattern::v1::UpsertPatternRequest& request,
                                        std::string_view bytes, const storage::Pattern* existing,
                                        const serving::PatternPayload& held,
                                        storage::Pattern* pattern) const {
  serving::PatternPayload payload{.withheld = Withheld(request, existing, held)};
  if (bytes.empty()) {
    if (payload.withheld) {
      pattern->payload = serving::EncodePatternPayload(payload);
    }
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Adapter> given,
                   inference::DecodeAdapter(AsBytes(bytes)));
  RETURN_IF_ERROR(inference::CheckAdapter(*given, *options_.model));
  const Digest content = inference::AdapterId(*given);
  if (StoredContent(existing, held) == content) {  // keeps its name
    payload.adapter = held.adapter;
    payload.cores = held.cores;
    payload.deep_version = held.deep_version;
    payload.stays_here = held.stays_here;
    if (SameToPeers(*existing, *pattern)) {
      payload.contributors = held.contributors;
      payload.shareable = held.shareable;
    }
    pattern->adapter_name = existing->adapter_name;
    pattern->adapter_version = existing->adapter_version;
  } else {
    inference::Adapter adapter = *given;
    adapter.name = serving::PatternAdapterName(pattern->id, content);
    adapter.version = 1;
    payload.adapter = inference::EncodeAdapter(adapter);
    pattern->adapter_name = std::move(adapter.name);
    pattern->adapter_version = adapter.version;
  }
  pattern->payload = serving::EncodePatternPayload(payload);
  return absl::OkStatus();
}

absl::StatusOr<storage::Pattern> PatternUpsert::Read(const pattern::v1::Pattern& message,
                                                     const storage::Pattern* existing) const {
  if (message.bank() >= static_cast<uint32_t>(inference::kTimestepBanks)) {
    return BadField("pattern.bank", "bank is {}; it must be from 0 to {}", message.bank(),
                    inference::kTimestepBanks - 1);
  }
  storage::Pattern pattern;
  const auto& values = message.embedding().values();
  pattern.embedding.assign(values.begin(), values.end());
  pattern.bank = message.bank();
  pattern.task = message.task();
  pattern.quality = message.quality();
  pattern.examples = message.examples();
  pattern.uses = std::max(message.uses(), existing != nullptr ? existing->uses : 0);
  pattern.last_used_ms = existing != nullptr ? existing->last_used_ms : 0;
  ASSIGN_OR_RETURN(pattern.tier, ReadTier(message.tier(), existing));
  pattern.origin = options_.self;
  if (!message.origin().empty()) {
    ASSIGN_OR_RETURN(pattern.origin, ReadNodeId("pattern.origin", message.origin()));
  }
  if (existing != nullptr && existing->origin != pattern.origin) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                 "pattern {} came from node {}, and its origin cannot be changed to {}; delete it "
                 "first, or store the new one without an id",
                 ToHex(existing->id), ToHex(existing->origin), ToHex(pattern.origin));
  }
  RETURN_IF_ERROR(ReadTimes(message, existing, &pattern));
  return pattern;
}

absl::Status PatternUpsert::Run(const pattern::v1::UpsertPatternRequest& request,
                                std::string_view adapter, UpsertPatternResponse* response) {
  if (!request.has_pattern() || !request.pattern().has_embedding()) {
    return BadField("pattern.embedding", "a pattern needs an embedding of {} values",
                    options_.patterns->dimension());
  }
  RETURN_IF_ERROR(CheckPackage(request.model_package(), options_.package_id));
  ASSIGN_OR_RETURN(const storage::PatternId id, IdOf(request.pattern()));
  absl::Status done;
  for (int i = 0; i < kTries && (i == 0 || absl::IsAborted(done)); ++i) {
    response->Clear();
    done = RunOnce(id, request, adapter, response);
  }
  return done;
}

absl::Status PatternUpsert::RunOnce(const storage::PatternId& id,
                                    const pattern::v1::UpsertPatternRequest& request,
                                    std::string_view adapter,
                                    UpsertPatternResponse* response) const {
  ASSIGN_OR_RETURN(const Stored found, Find(*options_.patterns, id));
  const storage::Pattern* const stored = found.pattern ? &*found.pattern : nullptr;
  ASSIGN_OR_RETURN(storage::Pattern pattern, Read(request.pattern(), stored));
  pattern.id = id;
  RETURN_IF_ERROR(ReadAdapter(request, adapter, stored, found.Payload(), &pattern));
  pattern.standing = StandingOf(pattern, options_.self, stored);
  const bool whole = stored != nullptr && !found.damaged;
  const bool same = whole && SameContent(*stored, pattern);
  if (same || (whole && request.only_if_newer() && stored->updated_ms >= pattern.updated_ms)) {
    response->set_outcome(same ? UpsertPatternResponse::OUTCOME_UNCHANGED
                               : UpsertPatternResponse::OUTCOME_KEPT);
    WritePattern(*stored, response->mutable_pattern());
    return absl::OkStatus();
  }
  if (stored == nullptr && found.damaged) {  // its stamp cannot be read, so it cannot be compared
    RETURN_IF_ERROR(options_.patterns->Put(pattern, storage::Durability::kProcessCrash));
  } else {
    const std::optional<HybridTime> expected =
        stored != nullptr ? std::optional(stored->stamp) : std::nullopt;
    RETURN_IF_ERROR(
        options_.patterns->Update(pattern, expected, storage::Durability::kProcessCrash));
  }
  response->set_outcome(stored != nullptr || found.damaged
                            ? UpsertPatternResponse::OUTCOME_REPLACED
                            : UpsertPatternResponse::OUTCOME_CREATED);
  WritePattern(pattern, response->mutable_pattern());
  return absl::OkStatus();
}

}  // namespace ruvd::api
