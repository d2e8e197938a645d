// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/shared_item_log.h"

#include <algorithm>
#include <chrono>
#include <variant>

#include "base/reasons.h"
#include "base/status.h"
#include "node/log/log.h"

namespace ruvd::sharing {
namespace {

constexpr Duration kStoreEvery = std::chrono::minutes(1);

bool HoldsLessons(const federation::Item& item) {
  return item.kind == federation::ItemKind::kPattern ||
         item.kind == federation::ItemKind::kContribution ||
         item.kind == federation::ItemKind::kExpert || item.kind == federation::ItemKind::kVerdict;
}

}  // namespace

absl::Status SharedItemLog::Load() {
  ASSIGN_OR_RETURN(left_, store_.LoadSharedTotals());
  stored_ = left_;
  before_ = left_.bytes_sent;
  return absl::OkStatus();
}

void SharedItemLog::Record(privacy::ConsentTier tier, const federation::Actions& actions) {
  const bool leave = std::ranges::any_of(actions, [](const federation::Action& action) {
    const auto* const accepted = std::get_if<federation::ItemAccepted>(&action);
    return accepted != nullptr && accepted->own && HoldsLessons(accepted->item);
  });
  if (tier == privacy::ConsentTier::kPublic && leave) {
    RecordPlain();
  }
}

void SharedItemLog::Record(privacy::ConsentTier tier, const privacy::NodeId& self,
                           std::span<const federation::Item> items) {
  const bool left = std::ranges::any_of(items, [&self](const federation::Item& item) {
    return item.origin == self && HoldsLessons(item);
  });
  if (tier == privacy::ConsentTier::kPublic && left) {
    RecordPlain();
  }
}

void SharedItemLog::RecordPlain() {
  left_.plain = true;
  if (stored_.plain) {
    return;
  }
  if (const absl::Status stored = Store(); !stored.ok()) {
    LogError("could not record that plain items left this node: {} [{}]", MessageOf(stored),
             ReasonOf(stored));
  }
}

void SharedItemLog::RecordBytesSent(uint64_t sent, TimePoint now, bool at_once) {
  left_.bytes_sent = before_ + sent;
  if (left_ == stored_ || (!at_once && now < next_)) {
    return;
  }
  next_ = now + kStoreEvery;
  if (const absl::Status stored = Store(); !stored.ok()) {
    LogWarning("could not record how many bytes left this node: {} [{}]", MessageOf(stored),
               ReasonOf(stored));
  }
}

absl::Status SharedItemLog::Store() {
  RETURN_IF_ERROR(store_.StoreSharedTotals(left_));
  stored_ = left_;
  return absl::OkStatus();
}

}  // namespace ruvd::sharing
