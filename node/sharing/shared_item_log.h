// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "federation/events/actions.h"
#include "federation/events/item.h"
#include "storage/consent/consent_store.h"

namespace ruvd::sharing {

// Records what left this node under all consents of its life, even before a restart. An operator
// who withdraws a consent is told. Not thread-safe.
class SharedItemLog {
 public:
  // `store` must outlive this object.
  explicit SharedItemLog(storage::ConsentStore& store) : store_(store) {}

  // Reads what was recorded before the start. Returns the errors of ConsentStore::Left.
  absl::Status Load();
  // Records on disk, before peers get them, that items of this node leave under `tier`. If that
  // fails, it is logged, kept in memory until the next restart, and stored with the next items.
  void Record(privacy::ConsentTier tier, const federation::Actions& actions);
  // Records the stored items that were offered before the start, because nothing may have been
  // recorded then.
  void Record(privacy::ConsentTier tier, const privacy::NodeId& self,
              std::span<const federation::Item> items);
  // Notes the bytes of items sent since the last Load. They are stored at most once a minute, or
  // immediately if `at_once`; a crash loses those of the last minute.
  void RecordBytesSent(uint64_t sent, TimePoint now, bool at_once = false);

  bool plain() const { return left_.plain; }
  uint64_t bytes_sent(uint64_t sent) const { return before_ + sent; }

 private:
  void RecordPlain();
  absl::Status Store();

  storage::ConsentStore& store_;
  storage::SharedTotals left_;
  storage::SharedTotals stored_;
  uint64_t before_ = 0;  // bytes sent before the last start
  TimePoint next_{};     // time of the next store
};

}  // namespace ruvd::sharing
