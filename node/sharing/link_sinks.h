// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <memory>
#include <utility>

#include "federation/events/actions.h"
#include "node/sharing/federation.h"

namespace ruvd::sharing {

// The streams of the links that are open. Not thread-safe: the federation actor owns it.
class LinkSinks {
 public:
  LinkSinks() = default;
  LinkSinks(const LinkSinks&) = delete;
  LinkSinks& operator=(const LinkSinks&) = delete;
  // After a failure or a forced stop nobody else would end the streams.
  ~LinkSinks();

  void Add(federation::LinkId link, std::shared_ptr<LinkSink> sink) {
    sinks_[link] = std::move(sink);
  }
  bool Has(federation::LinkId link) const { return sinks_.contains(link); }
  void Forget(federation::LinkId link) { sinks_.erase(link); }
  // Nothing where the link is gone.
  void Send(federation::SendFrame send);
  void Close(const federation::CloseLink& close);

 private:
  std::map<federation::LinkId, std::shared_ptr<LinkSink>> sinks_;
};

}  // namespace ruvd::sharing
