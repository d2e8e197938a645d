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

// What left this node under all consents that it ever had, also before a restart: whoever takes one
// back is told. Not thread-safe.
class LeftItems {
 public:
  // `store` outlives this.
  explicit LeftItems(storage::ConsentStore& store) : store_(store) {}

  // Reads what earlier lives of the node noted. The errors of ConsentStore::Left.
  absl::Status Load();
  // Notes, durably and before peers get them, that items of this node leave under `tier`. What
  // cannot be stored is logged, known until the next restart, and stored with the next ones.
  void Note(privacy::ConsentTier tier, const federation::Actions& actions);
  // The same of those that an earlier life offered, which may have noted nothing.
  void Note(privacy::ConsentTier tier, const privacy::NodeId& self,
            std::span<const federation::Item> items);
  // `sent`: bytes of items since the last Load. Stores them at most once a minute, or `at_once`; a
  // crash loses those of the last minute.
  void NoteSent(uint64_t sent, TimePoint now, bool at_once = false);

  bool plain() const { return left_.plain; }
  uint64_t bytes_sent(uint64_t sent) const { return before_ + sent; }

 private:
  void NotePlain();
  absl::Status Store();

  storage::ConsentStore& store_;
  storage::LeftSoFar left_;
  storage::LeftSoFar stored_;
  uint64_t before_ = 0;  // sent in earlier lives
  TimePoint next_{};     // when bytes are stored again
};

}  // namespace ruvd::sharing
