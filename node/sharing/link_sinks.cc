// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/link_sinks.h"

#include <string>
#include <utility>

#include "base/status.h"
#include "node/log/log.h"
#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd::sharing {

LinkSinks::~LinkSinks() {
  for (const auto& [link, sink] : sinks_) {
    sink->Close();
  }
}

void LinkSinks::Send(federation::SendFrame send) {
  if (const auto sink = sinks_.find(send.link); sink != sinks_.end()) {
    sink->second->Send(std::move(send.frame));
  }
}

void LinkSinks::Close(const federation::CloseLink& close) {
  const auto sink = sinks_.find(close.link);
  if (sink == sinks_.end()) {
    return;
  }
  if (!close.status.ok()) {
    const std::string reason = ReasonOf(close.status);
    if (const auto left_out = closings_.Admit(reason)) {
      LogInfo("link {} closes: {} [{}]{}", close.link, MessageOf(close.status), reason,
              LeftOut(*left_out));
    }
  }
  sink->second->Close();
  sinks_.erase(sink);
}

void LinkSinks::OnIdentified(federation::LinkId link) {
  if (const auto sink = sinks_.find(link); sink != sinks_.end()) {
    sink->second->OnIdentified();
  }
}

}  // namespace ruvd::sharing
