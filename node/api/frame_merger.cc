// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/frame_merger.h"

#include <utility>

namespace ruvd::api {

void FrameMerger::Add(const inference::v1::DenoiseFrame& frame) {
  for (const inference::v1::Commit& commit : frame.commits()) {
    commits_[commit.position()] = commit;
    remasked_.erase(commit.position());
  }
  for (const uint32_t position : frame.remasked()) {
    commits_.erase(position);
    remasked_.insert(position);
  }
  newest_ = frame;
  newest_->clear_commits();
  newest_->clear_remasked();
}

std::optional<inference::v1::DenoiseFrame> FrameMerger::Take() {
  if (!newest_) {
    return std::nullopt;
  }
  inference::v1::DenoiseFrame merged = *std::exchange(newest_, std::nullopt);
  for (auto& [position, commit] : std::exchange(commits_, {})) {
    *merged.add_commits() = std::move(commit);
  }
  for (const uint32_t position : std::exchange(remasked_, {})) {
    merged.add_remasked(position);
  }
  return merged;
}

}  // namespace ruvd::api
