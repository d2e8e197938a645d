// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/peer_patterns.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "node/log/log.h"
#include "node/reasons.h"
#include "node/sharing/shared_items.h"
#include "privacy/consent/withdrawal.h"

namespace ruvd::sharing {
namespace {

constexpr uint32_t kPage = 256;
// Tries to write a pattern that other code changes between reading and writing.
constexpr int kTries = 5;

// Returns the expiry of a newer version. If the former version expired with its item, the newer one
// expires with its own item. Otherwise the operator set the expiry, and it is kept.
int64_t EndOf(const storage::Pattern& former, const storage::Pattern& newer) {
  const bool by_itself =
      newer.expires_ms != 0 && former.expires_ms == former.updated_ms + limits::kItemLifeMillis;
  return by_itself ? newer.expires_ms : former.expires_ms;
}

}  // namespace

absl::Status PeerPatterns::Load() {
  std::string token;
  do {
    ASSIGN_OR_RETURN(const storage::PatternPage page, patterns_.List(kPage, token));
    for (const storage::Pattern& pattern : page.patterns) {
      if (pattern.origin != self_) {
        held_[pattern.origin][pattern.id] = pattern.updated_ms;
      }
    }
    token = page.next_page_token;
  } while (!token.empty());
  return absl::OkStatus();
}

absl::Status PeerPatterns::Store(const federation::SharedPattern& shared,
                                 const privacy::NodeId& origin,
                                 std::optional<int64_t> withdrawn_ms) {
  if (shared.quality < gate_.quality || shared.examples < gate_.examples) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kPatternTooWeak,
        "pattern {} has {} lesson(s) and quality {:.2f}, which is less than this node accepts ({} "
        "lessons, privacy.public_examples, and a quality of {:.2f})",
        ToHex(shared.id), shared.examples, shared.quality, gate_.examples, gate_.quality);
  }
  absl::Status stored = StoreOnce(shared, origin, withdrawn_ms);
  for (int i = 1; i < kTries && absl::IsAborted(stored); ++i) {
    stored = StoreOnce(shared, origin, withdrawn_ms);
  }
  return stored;
}

absl::Status PeerPatterns::Store(const federation::Item& pattern,
                                 const federation::GossipCore& core) {
  ASSIGN_OR_RETURN(const federation::SharedPattern shared,
                   federation::DecodeSharedPattern(AsBytes(*pattern.payload)));
  const absl::Status stored =
      Store(shared, pattern.origin, core.PatternWithdrawn(pattern.origin, shared.id));
  const std::string reason = ReasonOf(stored);
  if (reason != reasons::kPatternTooWeak && reason != reasons::kPatternTaken) {
    return stored;
  }
  ++refused_[reason];
  LogDebug("refused: {} [{}]", MessageOf(stored), reason);
  return absl::OkStatus();
}

absl::Status PeerPatterns::Remove(const federation::Item& pattern) {
  ASSIGN_OR_RETURN(const federation::SharedPattern shared,
                   federation::DecodeSharedPattern(AsBytes(*pattern.payload)));
  return RemoveUntil(shared.id, pattern.origin, shared.created_ms);
}

absl::Status PeerPatterns::Withdraw(const federation::Item& withdrawal) {
  ASSIGN_OR_RETURN(const privacy::Withdrawal record,
                   privacy::Withdrawal::Parse(AsBytes(*withdrawal.payload)));
  std::vector<storage::PatternId> named = record.patterns;
  if (record.everything) {
    for (const auto& [id, updated_ms] : held_[withdrawal.origin]) {
      named.push_back(id);
    }
  }
  absl::Status all;
  for (const storage::PatternId& id : named) {
    all.Update(RemoveUntil(id, withdrawal.origin, record.withdrawn_ms));
  }
  return all;
}

absl::Status PeerPatterns::RemoveUntil(const storage::PatternId& id, const privacy::NodeId& origin,
                                       int64_t until_ms) {
  const absl::StatusOr<storage::Pattern> stored = patterns_.GetWithoutPayload(id);
  if (stored.ok() && stored->origin == origin && stored->updated_ms <= until_ms) {
    const absl::Status deleted = patterns_.Delete(id);
    if (!deleted.ok() && !absl::IsNotFound(deleted)) {
      return deleted;
    }
    held_[origin].erase(id);
  }
  return absl::OkStatus();
}

absl::Status PeerPatterns::StoreOnce(const federation::SharedPattern& shared,
                                     const privacy::NodeId& origin,
                                     std::optional<int64_t> withdrawn_ms) {
  const absl::StatusOr<storage::Pattern> existing = patterns_.Get(shared.id);
  if (existing.ok() && existing->origin != origin) {
    return Error(absl::StatusCode::kAlreadyExists, reasons::kPatternTaken,
                 "pattern {} belongs to another node", ToHex(shared.id));
  }
  if (!existing.ok() && !absl::IsNotFound(existing.status())) {
    return existing.status();
  }
  ASSIGN_OR_RETURN(const bool deleted, patterns_.WasDeleted(shared.id));
  // If the origin deleted it, this is a newer version. Whether the operator deleted it as well is
  // unknown.
  const bool unwanted = deleted && shared.created_ms <= withdrawn_ms.value_or(shared.created_ms);
  if (unwanted || (existing.ok() && existing->updated_ms >= shared.created_ms)) {
    return absl::OkStatus();
  }
  const uint32_t version = existing.ok() ? existing->adapter_version + 1 : 1;
  ASSIGN_OR_RETURN(storage::Pattern pattern, PatternFromShared(shared, origin, frame_, version));
  std::optional<HybridTime> expected;
  if (existing.ok()) {
    pattern.expires_ms = EndOf(*existing, pattern);
    expected = existing->stamp;
  }
  RETURN_IF_ERROR(patterns_.Update(pattern, expected));
  held_[origin][shared.id] = shared.created_ms;
  return Trim(origin);
}

absl::Status PeerPatterns::Trim(const privacy::NodeId& origin) {
  auto& rows = held_[origin];
  while (rows.size() > limits::kMaxPatternsPerOrigin) {
    const auto oldest = std::ranges::min_element(
        rows, {}, [](const auto& row) { return std::pair(row.second, row.first); });
    const absl::Status deleted = patterns_.Delete(oldest->first);
    if (!deleted.ok() && !absl::IsNotFound(deleted)) {  // the operator may have deleted it already
      return deleted;
    }
    rows.erase(oldest);
  }
  return absl::OkStatus();
}

}  // namespace ruvd::sharing
