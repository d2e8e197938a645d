// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/http/outbox.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "node/http/limits.h"

namespace ruvd::http {
namespace {

constexpr std::string_view kComment = ": ping\n\n";

// The phrases of RFC 9110 for what a node answers; programs read only the number.
std::string_view PhraseOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return status < 500 ? "Error" : "Internal Server Error";
  }
}

// Answers for a handler that forgets to.
class HeldExchange final : public Exchange {
 public:
  explicit HeldExchange(std::shared_ptr<Outbox> outbox) : outbox_(std::move(outbox)) {}
  ~HeldExchange() override { outbox_->Abandon(); }
  void Respond(Answer answer) override { outbox_->Respond(std::move(answer)); }
  void BeginStream(std::string content_type) override { outbox_->BeginStream(content_type); }
  bool Send(std::string piece) override { return outbox_->Send(piece); }
  void EndStream() override { outbox_->EndStream(); }
  void FailStream(int status) override { outbox_->FailStream(status); }
  bool is_gone() const override { return outbox_->is_gone(); }
  bool is_behind() const override { return outbox_->is_behind(); }

 private:
  const std::shared_ptr<Outbox> outbox_;
};

}  // namespace

std::shared_ptr<Exchange> MakeExchange(std::shared_ptr<Outbox> outbox) {
  return std::make_shared<HeldExchange>(std::move(outbox));
}

std::string AnswerHead(int status, std::string_view content_type,
                       const std::vector<std::pair<std::string, std::string>>& fields,
                       int64_t length, const Outbox::Form& form) {
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nDate: {:%a, %d %b %Y %H:%M:%S} GMT\r\nContent-Type: {}\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
      status, PhraseOf(status), fmt::gmtime(static_cast<std::time_t>(form.wall_ms / 1000)),
      content_type);
  for (const auto& [name, value] : fields) {
    head += fmt::format("{}: {}\r\n", name, value);
  }
  if (length >= 0) {
    head += fmt::format("Content-Length: {}\r\n", length);
  } else if (form.takes_chunks) {
    head += "Transfer-Encoding: chunked\r\n";
  }
  head += form.keep_alive && (length >= 0 || form.takes_chunks) ? "Connection: keep-alive\r\n\r\n"
                                                                : "Connection: close\r\n\r\n";
  return head;
}

void Outbox::Respond(Answer answer) {
  const MutexLock lock(mutex_);
  if (status_ != 0) {
    return;
  }
  Begin(answer.status, AnswerHead(answer.status, answer.content_type, answer.fields,
                                  static_cast<int64_t>(answer.body.size()), form_));
  if (!form_.head_only) {
    unsent_ += answer.body;
  }
  ended_ = true;
}

void Outbox::BeginStream(std::string_view content_type) {
  const MutexLock lock(mutex_);
  if (status_ != 0) {
    return;
  }
  constexpr int kOk = 200;
  streams_events_ = content_type == kEventStreamType;
  Begin(kOk, AnswerHead(kOk, content_type, {}, /*length=*/-1, form_));
}

void Outbox::Begin(int status, std::string_view head) {
  status_ = status;
  unsent_ += head;
  Wake();
}

void Outbox::AddChunk(std::string_view piece) {
  if (form_.head_only) {
    return;
  }
  if (form_.takes_chunks) {
    unsent_ += fmt::format("{:x}\r\n", piece.size());
    unsent_ += piece;
    unsent_ += "\r\n";
  } else {
    unsent_ += piece;
  }
}

bool Outbox::Send(std::string_view piece) {
  const MutexLock lock(mutex_);
  if (!wake_ || ended_ || too_slow_) {
    return false;
  }
  if (unsent_.size() + piece.size() > limits::kMaxHttpUnsentBytes) {
    too_slow_ = true;
  } else if (!piece.empty()) {  // an empty chunk would end the stream
    AddChunk(piece);
  }
  Wake();
  return !too_slow_;
}

void Outbox::EndStream() {
  const MutexLock lock(mutex_);
  if (!ended_) {
    End();
  }
}

void Outbox::FailStream(int status) {
  const MutexLock lock(mutex_);
  if (!ended_) {
    status_ = status;
    End();
  }
}

void Outbox::End() {
  if (form_.takes_chunks && !form_.head_only) {
    unsent_ += "0\r\n\r\n";
  }
  ended_ = true;
  Wake();
}

void Outbox::Abandon() {
  if (status() == 0) {
    Respond(refuse_("", 500, "the node gave no answer; its log may say more"));
  }
  const MutexLock lock(mutex_);
  if (!ended_) {
    ended_ = true;
    cut_off_ = true;
    Wake();
  }
}

bool Outbox::is_gone() const {
  const MutexLock lock(mutex_);
  return !wake_ || too_slow_;
}

bool Outbox::is_behind() const {
  const MutexLock lock(mutex_);
  return !unsent_.empty();
}

Outbox::Taken Outbox::Take() {
  const MutexLock lock(mutex_);
  woken_ = false;
  return {.bytes = std::exchange(unsent_, ""),
          .is_last = ended_ && !cut_off_,
          .is_cut_off = cut_off_,
          .is_too_slow = too_slow_};
}

void Outbox::Ping() {
  const MutexLock lock(mutex_);
  if (streams_events_ && !ended_ && unsent_.empty()) {
    AddChunk(kComment);
  }
}

void Outbox::Leave() {
  const MutexLock lock(mutex_);
  wake_ = nullptr;
  unsent_ = std::string();
}

int Outbox::status() const {
  const MutexLock lock(mutex_);
  return status_;
}

void Outbox::Wake() {
  if (wake_ && !woken_) {
    woken_ = true;
    wake_();
  }
}

}  // namespace ruvd::http
