// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/own_withdrawals.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status.h"
#include "privacy/consent/withdrawal.h"
#include "privacy/limits.h"

namespace ruvd {

std::vector<Digest> ItemsOf(const GossipCore& core, const NodeId& origin) {
  std::vector<Digest> ids;
  for (const Item& item : core.Items()) {  // by id
    if (item.origin == origin) {
      ids.push_back(item.id);
    }
  }
  return ids;
}

size_t NoteTakenBack(const std::vector<Digest>& offered, const GossipCore& core, const NodeKey& key,
                     int64_t now_ms, WithdrawalStore* store) {
  const std::vector<Digest> left = ItemsOf(core, key.id());
  std::vector<Digest> gone;
  std::ranges::set_difference(offered, left, std::back_inserter(gone));
  for (size_t at = 0; store != nullptr && at < gone.size(); at += limits::kMaxWithdrawnItems) {
    const auto begin = gone.begin() + static_cast<ptrdiff_t>(at);
    const auto end =
        begin + static_cast<ptrdiff_t>(std::min(limits::kMaxWithdrawnItems, gone.size() - at));
    const auto withdrawal = Withdrawal::Sign({begin, end}, /*everything=*/false, now_ms, key);
    const absl::Status noted = withdrawal.ok() ? store->Put(*withdrawal) : withdrawal.status();
    if (!noted.ok()) {
      spdlog::error("that items were taken back is not noted: {} [{}]", MessageOf(noted),
                    ReasonOf(noted));
    }
  }
  return gone.size();
}

}  // namespace ruvd
