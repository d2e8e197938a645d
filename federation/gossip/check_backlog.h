// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "federation/events/actions.h"
#include "federation/events/fair_share.h"

namespace ruvd::federation {

// Messages whose signatures this node had no time to check, by the link over which they came. They
// are kept because they are not sent again while that link is open. Holds at most `kMost` messages;
// each link gets its FairShare. Not thread-safe.
template <typename Message, size_t kMost>
class CheckBacklog {
 public:
  // Drops the message if there is no room.
  void Add(LinkId link, const Message& message) {
    const auto found = waiting_.find(link);
    const size_t own = found == waiting_.end() ? 0 : found->second.size();
    if (own < FairShare(size_ - own, kMost)) {
      waiting_[link].push_back(message);
      ++size_;
    }
  }
  // Removes and returns the oldest message of a link.
  std::optional<Message> Take(LinkId link) {
    const auto found = waiting_.find(link);
    if (found == waiting_.end()) {
      return std::nullopt;
    }
    Message message = std::move(found->second.front());
    found->second.pop_front();
    --size_;
    if (found->second.empty()) {
      waiting_.erase(found);
    }
    return message;
  }
  // Returns a message to the front because there was again no time to check it.
  void PutBack(LinkId link, Message message) {
    waiting_[link].push_front(std::move(message));
    ++size_;
  }
  void LinkDown(LinkId link) {
    if (const auto found = waiting_.find(link); found != waiting_.end()) {
      size_ -= found->second.size();
      waiting_.erase(found);
    }
  }
  std::vector<LinkId> links() const {
    std::vector<LinkId> links;
    links.reserve(waiting_.size());
    for (const auto& [link, messages] : waiting_) {
      links.push_back(link);
    }
    return links;
  }
  size_t size() const { return size_; }

 private:
  std::map<LinkId, std::deque<Message>> waiting_;
  size_t size_ = 0;
};

}  // namespace ruvd::federation
