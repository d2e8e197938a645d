// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/pattern_feed.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/api/bad_request.h"
#include "node/api/message_times.h"
#include "node/api/pattern_messages.h"
#include "node/api/rpc_status.h"
#include "storage/reasons.h"

namespace ruvd::api {
namespace {

using pattern::v1::WatchPatternsRequest;
using pattern::v1::WatchPatternsResponse;

pattern::v1::WatchPatternsResponse::ChangeKind KindOf(storage::PatternChangeKind kind) {
  switch (kind) {
    case storage::PatternChangeKind::kPut:
      return WatchPatternsResponse::CHANGE_KIND_PUT;
    case storage::PatternChangeKind::kDelete:
      return WatchPatternsResponse::CHANGE_KIND_DELETE;
    case storage::PatternChangeKind::kExpire:
      return WatchPatternsResponse::CHANGE_KIND_EXPIRE;
    case storage::PatternChangeKind::kEvict:
      return WatchPatternsResponse::CHANGE_KIND_EVICT;
  }
  return WatchPatternsResponse::CHANGE_KIND_UNSPECIFIED;
}

absl::Status Draining(uint64_t sequence) {
  return Error(absl::StatusCode::kUnavailable, reasons::kNodeDraining,
               "the node is stopping; watch again with after_sequence = {}", sequence);
}

absl::Status Truncated(uint64_t after, uint64_t newest) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kLogTruncated,
               "the log no longer has all changes after {}; list the patterns again and watch with "
               "after_sequence = {}",
               after, newest);
}

// A pattern whose rows do not open is left out, because a stream could otherwise never pass its
// change. A pattern that was changed again since is left out too: its new version may not be on
// disk yet, and is shown with its own change.
absl::Status Write(const storage::PatternStore& patterns, const storage::PatternChange& change,
                   WatchPatternsResponse::Change* out) {
  out->set_sequence(change.sequence);
  out->set_kind(KindOf(change.kind));
  out->set_id(ToHex(change.id));
  *out->mutable_time() = ToTimestamp(change.time.wall_ms());
  if (change.kind != storage::PatternChangeKind::kPut) {
    return absl::OkStatus();
  }
  const absl::StatusOr<storage::Pattern> pattern = patterns.GetWithoutPayload(change.id);
  if (pattern.ok()) {
    if (pattern->stamp <= change.time) {
      WritePattern(*pattern, out->mutable_pattern());
    }
    return absl::OkStatus();
  }
  return absl::IsNotFound(pattern.status()) || absl::IsDataLoss(pattern.status())
             ? absl::OkStatus()
             : pattern.status();
}

}  // namespace

// The set of streams. It outlives the feed if a writer is just calling the listener.
class PatternFeed::Hub {
 public:
  explicit Hub(const Options& options) : options_(options) {}
  // The id as clients get it, who only compare it
  std::string log_id() const { return fmt::format("{:016x}", options_.log_id); }
  const Options& options() const { return options_; }

  // Adds a stream. Returns UNAVAILABLE if closed, RESOURCE_EXHAUSTED if there are too many.
  absl::Status Add(const std::shared_ptr<Stream>& stream);
  void Remove(const std::shared_ptr<Stream>& stream);
  void WakeAll();
  void Close();
  size_t size() const {
    const MutexLock lock(mutex_);
    return streams_.size();
  }

 private:
  std::vector<std::shared_ptr<Stream>> All() const {
    const MutexLock lock(mutex_);
    return {streams_.begin(), streams_.end()};
  }

  const Options options_;
  mutable Mutex mutex_;
  std::set<std::shared_ptr<Stream>> streams_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// One call, with at most one write in flight. It lives until gRPC is done with it.
class PatternFeed::Stream final : public Reactor, public std::enable_shared_from_this<Stream> {
 public:
  Stream(std::shared_ptr<Hub> hub, absl::StatusOr<std::shared_ptr<const void>> held)
      : hub_(std::move(hub)), held_(std::move(held)) {}

  void Begin(const WatchPatternsRequest& request);
  // Tells the stream that there may be more to read. Never blocks.
  void Wake();
  // Ends the call with the error.
  void End(const absl::Status& error);
  // Ends the call because the node stops; the error says after which change to continue.
  void Drain();

  void OnWriteDone(bool ok) override;
  void OnCancel() override {
    cancelled_.store(true);
    Wake();
  }
  void OnDone() override {
    hub_->Remove(shared_from_this());
    self_.reset();
  }

 private:
  // Returns the change to begin after. INVALID_ARGUMENT for a change that never existed.
  absl::StatusOr<uint64_t> FirstPosition(const WatchPatternsRequest& request) const;
  // Starts the next write or ends the call; called without the mutex.
  void Pump();
  // Stops reading and writing, except for the write in flight.
  void EndWith(std::optional<grpc::Status> status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads a page of changes into the queue.
  void Refill() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Hub> hub_;
  const absl::StatusOr<std::shared_ptr<const void>> held_;
  std::shared_ptr<Stream> self_;  // released by OnDone
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> woken_{false};  // a Pump is posted

  Mutex mutex_;
  std::deque<WatchPatternsResponse> queue_ ABSL_GUARDED_BY(mutex_);
  uint64_t read_ ABSL_GUARDED_BY(mutex_) = 0;  // the last change that was read
  uint64_t sent_ ABSL_GUARDED_BY(mutex_) = 0;  // the last change that gRPC accepted
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // The final status; nullopt while the node drains, because the last sent change is known only
  // once no write is in flight.
  std::optional<grpc::Status> status_ ABSL_GUARDED_BY(mutex_);
};

absl::Status PatternFeed::Hub::Add(const std::shared_ptr<Stream>& stream) {
  const MutexLock lock(mutex_);
  if (closed_) {
    return Error(absl::StatusCode::kUnavailable, reasons::kNodeDraining,
                 "the node is stopping; watch again once it is back");
  }
  if (streams_.size() >= options_.max_streams) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "{} streams watch the patterns already, which is the limit; end one of them",
                 streams_.size());
  }
  streams_.insert(stream);
  return absl::OkStatus();
}

void PatternFeed::Hub::Remove(const std::shared_ptr<Stream>& stream) {
  const MutexLock lock(mutex_);
  streams_.erase(stream);
}

void PatternFeed::Hub::WakeAll() {
  for (const auto& stream : All()) {
    stream->Wake();
  }
}

void PatternFeed::Hub::Close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  for (const auto& stream : All()) {
    stream->Drain();
  }
}

void PatternFeed::Stream::Begin(const WatchPatternsRequest& request) {
  self_ = shared_from_this();
  const absl::StatusOr<uint64_t> first =
      held_.ok() ? FirstPosition(request) : absl::StatusOr<uint64_t>(held_.status());
  if (!first.ok()) {
    End(first.status());
    return;
  }
  // All of this happens before the stream can be woken, because it would then read from a wrong
  // place. Changes in the meantime are read from the log.
  {
    const MutexLock lock(mutex_);
    read_ = *first;
    sent_ = *first;
    auto& started = *queue_.emplace_back().mutable_started();
    started.set_sequence(*first);
    started.set_log_id(hub_->log_id());
  }
  if (const absl::Status status = hub_->Add(self_); !status.ok()) {
    End(status);
    return;
  }
  Pump();
}

absl::StatusOr<uint64_t> PatternFeed::Stream::FirstPosition(
    const WatchPatternsRequest& request) const {
  const uint64_t newest = hub_->options().patterns->Stats().last_sequence;
  if (!request.has_after_sequence()) {
    return newest;
  }
  if (!request.log_id().empty() && request.log_id() != hub_->log_id()) {
    return Truncated(request.after_sequence(), newest);
  }
  if (request.after_sequence() > newest) {
    return BadField(
        "after_sequence",
        "after_sequence is {}, but the newest change of this node is {}; if its store was "
        "restored, list the patterns again and watch with after_sequence = {}",
        request.after_sequence(), newest, newest);
  }
  return request.after_sequence();
}

void PatternFeed::Stream::Wake() {
  if (!woken_.exchange(true)) {
    hub_->options().executor->Post([self = shared_from_this()] {
      self->woken_.store(
          false);  // cleared before reading, so that a later change wakes the stream again
      self->Pump();
    });
  }
}

void PatternFeed::Stream::EndWith(std::optional<grpc::Status> status) {
  if (ended_) {
    return;
  }
  ended_ = true;
  status_ = std::move(status);
  while (queue_.size() > (writing_ ? 1 : 0)) {
    queue_.pop_back();
  }
}

void PatternFeed::Stream::End(const absl::Status& error) {
  {
    const MutexLock lock(mutex_);
    EndWith(ToRpcStatus(error));
  }
  Pump();
}

void PatternFeed::Stream::Drain() {
  {
    const MutexLock lock(mutex_);
    EndWith(std::nullopt);
  }
  Pump();
}

absl::Status PatternFeed::Stream::Read() {
  const storage::PatternStore& patterns = *hub_->options().patterns;
  for (bool more = true; more && queue_.empty();) {
    const auto page = patterns.Changes(read_, hub_->options().page);
    if (ReasonOf(page.status()) == reasons::kLogTruncated) {
      return Truncated(read_, patterns.Stats().last_sequence);
    }
    RETURN_IF_ERROR(page.status());
    for (const storage::PatternChange& change : page->changes) {
      RETURN_IF_ERROR(Write(patterns, change, queue_.emplace_back().mutable_change()));
    }
    read_ = page->last_sequence;
    more = page->more;
  }
  return absl::OkStatus();
}

void PatternFeed::Stream::Refill() {
  if (const absl::Status status = Read(); !status.ok()) {
    EndWith(ToRpcStatus(status));
  }
}

void PatternFeed::Stream::Pump() {
  const WatchPatternsResponse* next = nullptr;
  grpc::Status status;
  {
    const MutexLock lock(mutex_);
    if (writing_ || finished_) {
      return;
    }
    const bool cancelled = cancelled_.load();
    if (queue_.empty() && !ended_ && !cancelled) {
      Refill();
    }
    if (!queue_.empty() && !cancelled) {
      next = &queue_.front();  // stays in place until OnWriteDone: deque references are stable
      writing_ = true;
    } else if (ended_ || cancelled) {
      finished_ = true;
      status = ended_ ? status_.value_or(ToRpcStatus(Draining(sent_))) : grpc::Status::CANCELLED;
    } else {
      return;  // up to date; the next change wakes the stream
    }
  }
  if (next != nullptr) {
    StartWrite(next);
  } else {
    Finish(status);
  }
}

void PatternFeed::Stream::OnWriteDone(bool ok) {
  bool read = false;
  {
    const MutexLock lock(mutex_);
    writing_ = false;
    if (ok && queue_.front().has_change()) {
      sent_ = queue_.front().change().sequence();
    }
    queue_.pop_front();
    if (!ok) {
      cancelled_.store(true);  // the caller is gone
    }
    read = queue_.empty() && !ended_ && ok;
  }
  if (read) {
    Wake();  // a page must not be read on gRPC's thread
  } else {
    Pump();
  }
}

PatternFeed::PatternFeed(const Options& options) : hub_(std::make_shared<Hub>(options)) {
  options.patterns->SetChangeListener([hub = hub_](uint64_t) { hub->WakeAll(); });
}

PatternFeed::~PatternFeed() {
  hub_->options().patterns->SetChangeListener(nullptr);
}

PatternFeed::Reactor* PatternFeed::Watch(const WatchPatternsRequest& request,
                                         absl::StatusOr<std::shared_ptr<const void>> held) {
  const auto stream = std::make_shared<Stream>(hub_, std::move(held));
  stream->Begin(request);
  return stream.get();
}

void PatternFeed::Close() {
  hub_->Close();
}

size_t PatternFeed::size() const {
  return hub_->size();
}

}  // namespace ruvd::api
