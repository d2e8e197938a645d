// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/partial_payloads.h"

#include <utility>

namespace ruvd::federation {

void PartialPayloads::Insert(const Digest& id, std::string chunks) {
  Take(id);
  if (chunks.empty() || chunks.size() > max_bytes_) {
    return;
  }
  while (bytes_ + chunks.size() > max_bytes_) {
    Take(oldest_first_.front());
  }
  bytes_ += chunks.size();
  kept_[id] = std::move(chunks);
  oldest_first_.push_back(id);
}

std::string PartialPayloads::Take(const Digest& id) {
  const auto found = kept_.find(id);
  if (found == kept_.end()) {
    return {};
  }
  std::string chunks = std::move(found->second);
  bytes_ -= chunks.size();
  kept_.erase(found);
  std::erase(oldest_first_, id);
  return chunks;
}

}  // namespace ruvd::federation
