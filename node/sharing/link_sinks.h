// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "federation/events/actions.h"
#include "node/log/log_limit.h"
#include "node/sharing/federation.h"
#include "node/sharing/limits.h"

namespace ruvd::sharing {

// The streams of the open links. Not thread-safe: the federation actor owns it.
class LinkSinks {
 public:
  // `clock` must outlive this object.
  explicit LinkSinks(const Clock& clock)
      : closings_(clock, limits::kLinkLogLines, limits::kLinkLogPeriod) {}
  LinkSinks(const LinkSinks&) = delete;
  LinkSinks& operator=(const LinkSinks&) = delete;
  // Closes all streams: after a failure or a forced stop nothing else would close them.
  ~LinkSinks();

  void Add(federation::LinkId link, std::shared_ptr<LinkSink> sink) {
    sinks_[link] = std::move(sink);
  }
  bool Has(federation::LinkId link) const { return sinks_.contains(link); }
  void Forget(federation::LinkId link) { sinks_.erase(link); }
  // Sends a frame; does nothing if the link is gone.
  void Send(federation::SendFrame send);
  void Close(const federation::CloseLink& close);
  void OnIdentified(federation::LinkId link);

 private:
  std::map<federation::LinkId, std::shared_ptr<LinkSink>> sinks_;
  LogLimit closings_;
};

}  // namespace ruvd::sharing
