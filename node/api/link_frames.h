// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "node/api/link_counts.h"
#include "node/limits.h"
#include "ruvd/federation/v1/federation.pb.h"

// What both ends of a link need between a stream and the federation actor; internal to link.cc.
namespace ruvd::api {

// The queue of outgoing frames of one link, for both sides: frames stay in order, with at most one
// write in flight. The reactor that owns it passes its StartWrite and its way to end the stream.
class FrameQueue {
 public:
  explicit FrameQueue(LinkCounts& counts) : counts_(counts) {}

  // The next action of the owner, which runs outside the lock.
  struct Next {
    const federation::v1::WireFrame* write = nullptr;  // stays alive until WriteDone
    bool linger = false;  // closing has begun; cancel the stream if it takes too long
    bool end = false;
  };

  Next Push(std::shared_ptr<const federation::v1::WireFrame> frame) {
    const size_t bytes = frame->ByteSizeLong();
    MutexLock lock(mutex_);
    if (closing_) {
      return {};
    }
    if (frames_.size() >= limits::kMaxLinkQueue || bytes_ + bytes > limits::kMaxLinkQueueBytes) {
      counts_.queue.Refuse();
      frames_.erase(frames_.begin() + (writing_ ? 1 : 0), frames_.end());
      return BeginClosing();
    }
    bytes_ += bytes;
    frames_.push_back(std::move(frame));
    return Advance();
  }
  Next Close() {
    MutexLock lock(mutex_);
    return BeginClosing();
  }
  Next WriteDone(bool ok) {
    MutexLock lock(mutex_);
    writing_ = false;
    const size_t bytes = frames_.front()->ByteSizeLong();
    counts_.CountOut(ok ? bytes : 0);
    bytes_ -= std::min(bytes_, bytes);
    frames_.pop_front();
    if (!ok) {
      frames_.clear();
      return BeginClosing();
    }
    return Advance();
  }

 private:
  Next BeginClosing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool first = !std::exchange(closing_, true);
    Next next = Advance();
    next.linger = first;
    return next;
  }
  Next Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || ended_) {
      return {};
    }
    if (!frames_.empty()) {
      writing_ = true;
      return {.write = frames_.front().get()};
    }
    if (closing_) {
      ended_ = true;
      return {.end = true};
    }
    return {};
  }

  LinkCounts& counts_;
  Mutex mutex_;
  std::deque<std::shared_ptr<const federation::v1::WireFrame>> frames_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

// Limits how far a link reads ahead of the federation actor. The thread that handles a frame starts
// a waiting read. It does so under the lock that Stop takes, so that no read starts on a stream
// that ended.
class ReadWindow {
 public:
  explicit ReadWindow(LinkCounts& counts) : counts_(counts) {}

  void FrameRead() {
    MutexLock lock(mutex_);
    ++waiting_;
  }
  // Returns whether to read now; if not, FrameHandled starts the read later.
  bool MayRead() {
    MutexLock lock(mutex_);
    paused_ = waiting_ >= limits::kMaxLinkFramesWaiting;
    if (paused_) {
      counts_.waiting_frames.Refuse();
    }
    return !paused_;
  }
  template <typename StartRead>
  void FrameHandled(const StartRead& start_read) {
    MutexLock lock(mutex_);
    --waiting_;
    if (std::exchange(paused_, false) && !stopped_) {
      start_read();
    }
  }
  void Stop() {
    MutexLock lock(mutex_);
    stopped_ = true;
  }

 private:
  LinkCounts& counts_;
  Mutex mutex_;
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ruvd::api
