// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "node/http/exchange.h"

namespace ruvd::http {

// The bytes of one answer on their way from a handler, on any thread, to the connection that writes
// them. Thread-safe.
class Outbox {
 public:
  struct Form {
    bool keep_alive = true;    // the connection stays open behind the answer
    bool takes_chunks = true;  // otherwise the end of the connection ends a stream
    bool head_only = false;    // the answer to HEAD
    int64_t wall_ms = 0;       // for the date of the answer
  };
  // `refuse` makes an answer to what no handler answers, on any thread. `wake` tells the connection
  // that there is something to take. It is called with the outbox locked, must not call back, and
  // is not called after Leave.
  Outbox(const Form& form, std::function<Answer(std::string_view, int, std::string_view)> refuse,
         std::function<void()> wake)
      : form_(form), refuse_(std::move(refuse)), wake_(std::move(wake)) {}

  // For the handler, as in Exchange
  void Respond(Answer answer);
  void BeginStream(std::string_view content_type);
  bool Send(std::string_view piece);
  void EndStream();
  void FailStream(int status);
  // Answers with 500 if no answer was begun, and cuts an unfinished stream off.
  void Abandon();
  bool is_gone() const;
  bool is_behind() const;

  // For the connection
  struct Taken {
    std::string bytes;
    bool is_last = false;      // the answer ends with these bytes
    bool is_cut_off = false;   // the answer is unfinished, and the connection must end
    bool is_too_slow = false;  // too much waits for the other end
  };
  Taken Take();
  // Adds a comment to a silent stream of events.
  void Ping();
  // Says that the connection has ended, so that no part of the answer is read any more.
  void Leave();
  // Returns the status of the answer, or that of the error which ended its stream; 0 before it was
  // begun.
  int status() const;

 private:
  void Begin(int status, std::string_view head) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddChunk(std::string_view piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Form form_;
  const std::function<Answer(std::string_view, int, std::string_view)> refuse_;
  mutable Mutex mutex_;
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);  // null: the connection has left
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;          // since the last Take
  std::string unsent_ ABSL_GUARDED_BY(mutex_);
  int status_ ABSL_GUARDED_BY(mutex_) = 0;
  bool streams_events_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more is added
  bool cut_off_ ABSL_GUARDED_BY(mutex_) = false;
  bool too_slow_ ABSL_GUARDED_BY(mutex_) = false;
};

// Makes what a handler holds of the answer that goes through the outbox.
std::shared_ptr<Exchange> MakeExchange(std::shared_ptr<Outbox> outbox);

// A connection's hold of an outbox, which it leaves in any case.
class HeldOutbox {
 public:
  explicit HeldOutbox(std::shared_ptr<Outbox> outbox) : outbox_(std::move(outbox)) {}
  ~HeldOutbox() { outbox_->Leave(); }
  HeldOutbox(const HeldOutbox&) = delete;
  HeldOutbox& operator=(const HeldOutbox&) = delete;
  Outbox* operator->() const { return outbox_.get(); }
  std::shared_ptr<Exchange> exchange() const { return MakeExchange(outbox_); }

 private:
  const std::shared_ptr<Outbox> outbox_;
};

// Returns the head of an answer, with the empty line. `length` < 0: its body is a stream.
std::string AnswerHead(int status, std::string_view content_type,
                       const std::vector<std::pair<std::string, std::string>>& fields,
                       int64_t length, const Outbox::Form& form);

}  // namespace ruvd::http
