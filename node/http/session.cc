// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/http/session.h"

#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "node/http/limits.h"
#include "node/http/outbox.h"
#include "node/http/request_reader.h"
#include "node/log/log.h"
#include "node/transport/descriptor.h"
#include "node/transport/peer_address.h"

namespace ruvd::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Strand = asio::strand<asio::io_context::executor_type>;
using std::chrono::milliseconds;

// Operations return their errors; none is thrown.
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr size_t kReadBytes = 8 << 10;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kUnread = "unread";  // a request that reached no route

transport::PeerAddress PeerOf(int socket) {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  ::getpeername(socket, reinterpret_cast<sockaddr*>(&from), &size);
  return transport::PeerAddressOf(from).value_or(transport::PeerAddress());
}

tcp ProtocolOf(int socket) {
  int domain = AF_INET;
  socklen_t size = sizeof domain;
  ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  return domain == AF_INET6 ? tcp::v6() : tcp::v4();
}

// One connection. A first coroutine reads bytes all the time, so that the end of the connection is
// noticed while an answer is being made; a second one reads requests from them and writes answers.
// All members are used on the strand.
class SessionImpl final : public Session, public std::enable_shared_from_this<SessionImpl> {
 public:
  SessionImpl(SessionState& shared, asio::io_context& io, int socket, SSL_CTX* tls)
      : shared_(shared),
        strand_(asio::make_strand(io)),
        socket_(strand_),
        wake_(strand_),
        deadline_(strand_),
        peer_(PeerOf(socket)) {
    error_code failed;
    socket_.assign(ProtocolOf(socket), socket, failed);
    if (failed) {
      const transport::Descriptor unused(socket);  // closes it
      has_ended_ = true;
    }
    if (tls != nullptr) {
      SSL_CTX_up_ref(tls);
      asio::ssl::context context(tls);  // takes over the reference
      tls_.emplace(socket_, context);
    }
  }

  void Start() override {
    asio::co_spawn(strand_, Run(), [self = shared_from_this()](const std::exception_ptr& thrown) {
      self->OnEnd(thrown);
    });
  }
  void Drain() override { wake_.cancel(); }
  void Close() override {
    is_drained_ = true;
    Shut();
  }

 private:
  void Shut() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);  // the acceptor sees this, too
    socket_.close(ignored);
    has_ended_ = true;
    wake_.cancel();
    deadline_.cancel();
  }

  asio::awaitable<void> Run() {
    if (tls_ && !co_await ShakeHands()) {
      co_return;
    }
    asio::co_spawn(strand_, ReadAll(),
                   [self = shared_from_this()](const std::exception_ptr& thrown) {
                     self->OnReadAllEnd(thrown);
                   });
    bool goes_on = true;
    while (goes_on) {
      goes_on = co_await ServeOne();
    }
    co_await Finish();
  }

  asio::awaitable<bool> ShakeHands() {
    ArmDeadline(shared_.options.times.handshake);
    const auto [failed] = co_await tls_->async_handshake(asio::ssl::stream_base::server, kAwait);
    DisarmDeadline();
    if (failed) {
      shared_.Count(is_overdue_ ? RequestEnd::kTooLate : RequestEnd::kTlsFailed);
    }
    co_return !failed;
  }

  // Reads what comes, and no more than may wait. While an answer is being made, a caller that fills
  // what may wait is ended: behind it, its leaving could not be seen.
  asio::awaitable<void> ReadAll() {
    std::array<char, kReadBytes> bytes;
    while (!has_ended_) {
      if (unparsed_.size() >= limits::kMaxHttpUnparsedBytes) {
        sent_ahead_ = makes_answer_;
        if (sent_ahead_) {
          break;
        }
        reader_waits_ = true;
        co_await Wait(room_, std::nullopt);
        reader_waits_ = false;
        continue;
      }
      const size_t count = co_await ReadSome(asio::buffer(bytes));
      if (count == 0) {
        break;
      }
      if (!discards_) {
        unparsed_.append(bytes.data(), count);
      } else if ((discarded_ += count) > limits::kMaxHttpDiscardedBytes) {
        break;
      }
      wake_.cancel();
    }
  }

  // Returns 0 at the end of the connection.
  asio::awaitable<size_t> ReadSome(asio::mutable_buffer into) {
    if (tls_) {
      const auto [failed, count] = co_await tls_->async_read_some(into, kAwait);
      co_return failed ? 0 : count;
    }
    const auto [failed, count] = co_await socket_.async_read_some(into, kAwait);
    co_return failed ? 0 : count;
  }

  // Returns whether the other end's system took all bytes, some of them within each time.
  asio::awaitable<bool> WriteAll(std::string_view bytes) {
    while (!bytes.empty()) {
      ArmDeadline(shared_.options.times.write);
      const size_t count = co_await WriteSome(asio::buffer(bytes));
      DisarmDeadline();
      if (count == 0) {
        co_return false;
      }
      bytes.remove_prefix(count);
    }
    co_return true;
  }

  // Returns 0 if the connection takes no more.
  asio::awaitable<size_t> WriteSome(asio::const_buffer from) {
    if (tls_) {
      const auto [failed, count] = co_await tls_->async_write_some(from, kAwait);
      co_return failed ? 0 : count;
    }
    const auto [failed, count] = co_await socket_.async_write_some(from, kAwait);
    co_return failed ? 0 : count;
  }

  // Closes the connection unless it is disarmed within the time.
  void ArmDeadline(milliseconds time) {
    deadline_.expires_after(time);
    deadline_.async_wait([self = shared_from_this(), number = ++deadlines_](error_code cancelled) {
      if (!cancelled && number == self->deadlines_) {
        self->is_overdue_ = true;
        self->Shut();
      }
    });
  }

  void DisarmDeadline() {
    ++deadlines_;
    deadline_.cancel();
  }

  // Waits until the timer is cancelled or the time has come; returns whether it has.
  asio::awaitable<bool> Wait(asio::steady_timer& timer, std::optional<TimePoint> until) {
    if (until) {
      timer.expires_after(std::max<Duration>(*until - shared_.clock.Now(), Duration(0)));
    } else {
      timer.expires_at(asio::steady_timer::time_point::max());
    }
    const auto [cancelled] = co_await timer.async_wait(kAwait);
    co_return !cancelled;
  }

  // Reads one request and writes its answer. Returns whether another may follow.
  asio::awaitable<bool> ServeOne() {
    RequestReader reader;
    if (!co_await ReadHead(reader)) {
      co_return false;
    }
    const TimePoint since = shared_.clock.Now();
    shared_.requests.fetch_add(1);
    RequestHead head = reader.head();
    head.source = "http:" + ToHex(transport::SourceOf(peer_));
    Verdict verdict = shared_.options.admit(head);
    if (auto* const refused = std::get_if<Refused>(&verdict)) {
      co_return co_await Answered(*refused, head, !head.has_body, since);
    }
    auto& admitted = std::get<Admitted>(verdict);
    if (admitted.proves && !std::exchange(has_proved_, true)) {
      shared_.acceptor->Prove(peer_);
    }
    BodyMemory::Share share(shared_.bodies, transport::SourceOf(peer_));
    reader.AllowBody(admitted.most_body_bytes);
    if (!co_await ReadBody(reader, admitted.name, since, share)) {
      co_return false;
    }
    const HeldOutbox outbox(MakeOutbox(head, head.keep_alive && !shared_.draining));
    makes_answer_ = true;
    room_.cancel();  // a reader that waits for room looks at that
    // What the handler holds is released when it is done, and not when its answer was read.
    std::exchange(admitted.handle, nullptr)(reader.TakeBody(), outbox.exchange());
    const bool was_written = co_await WriteAnswer(outbox, admitted.name, since);
    makes_answer_ = false;
    co_return (was_written && head.keep_alive && !shared_.draining);
  }

  enum class Fed : uint8_t { kDone, kEnded, kLate, kNoRoom };

  // Feeds the reader until it is done with its stage, the connection has ended, `until` has come,
  // or no room is left for the body. `share` is null for a head.
  asio::awaitable<Fed> Feed(RequestReader& reader, TimePoint until, BodyMemory::Share* share) {
    for (;;) {
      const size_t used = reader.Feed(unparsed_);
      unparsed_.erase(0, used);
      if (used > 0 && reader_waits_) {
        room_.cancel();
      }
      if (share != nullptr && !share->Become(reader.body_bytes())) {
        co_return Fed::kNoRoom;
      }
      if (reader.stage() != RequestReader::Stage::kHead &&
          reader.stage() != RequestReader::Stage::kBody) {
        co_return Fed::kDone;
      }
      const bool is_idle = !reader.has_begun() && unparsed_.empty();
      if (has_ended_ || (is_idle && shared_.draining)) {
        co_return Fed::kEnded;
      }
      if (co_await Wait(wake_, until)) {
        co_return Fed::kLate;
      }
      if (is_idle && !unparsed_.empty()) {  // from now on the head has its time
        until = shared_.clock.Now() + shared_.options.times.head;
      }
    }
  }

  // Returns false if no request follows, or none that could be read; then it was answered.
  asio::awaitable<bool> ReadHead(RequestReader& reader) {
    const TimePoint since = shared_.clock.Now();
    const auto time = unparsed_.empty() ? shared_.options.times.idle : shared_.options.times.head;
    const Fed fed = co_await Feed(reader, since + time, /*share=*/nullptr);
    if (fed == Fed::kDone && reader.stage() != RequestReader::Stage::kFailed) {
      co_return true;
    }
    if (fed == Fed::kDone) {
      co_await AnswerUnread(reader, kUnread, since);
    } else if (fed == Fed::kLate && (reader.has_begun() || !unparsed_.empty())) {
      const RequestHead unread;
      co_await AnswerEnd(RequestEnd::kTooLate, kUnread, unread, since, 408,
                         "the head of the request came too slowly; send it at once");
    }
    co_return false;
  }

  // Returns false if the body is not there; then the request was answered.
  asio::awaitable<bool> ReadBody(RequestReader& reader, std::string_view name, TimePoint since,
                                 BodyMemory::Share& share) {
    if (reader.head().expects_continue && reader.stage() == RequestReader::Stage::kBody) {
      if (!co_await WriteAll(kContinue)) {
        co_return false;
      }
    }
    const TimePoint until = shared_.clock.Now() + shared_.options.times.body;
    switch (co_await Feed(reader, until, &share)) {
      case Fed::kDone:
        if (reader.stage() == RequestReader::Stage::kComplete) {
          co_return true;
        }
        co_await AnswerUnread(reader, name, since);
        break;
      case Fed::kNoRoom:
        reader.TakeBody();
        co_await AnswerEnd(RequestEnd::kBodiesTooBig, name, reader.head(), since, 503,
                           "the node holds as many requests as it can; try again");
        break;
      case Fed::kLate:
        co_await AnswerEnd(RequestEnd::kTooLate, name, reader.head(), since, 408,
                           "the body of the request came too slowly; send it at once");
        break;
      case Fed::kEnded:
        TellEnd(WhyEnded(), name, since);
        break;
    }
    co_return false;
  }

  // Answers a request that the server ends before it reaches a handler.
  asio::awaitable<void> AnswerEnd(RequestEnd end, std::string_view name, const RequestHead& head,
                                  TimePoint since, int status, std::string_view why) {
    shared_.Count(end);
    const Refused refused{name, shared_.options.refuse(name, status, why)};
    co_await Answered(refused, head, /*may_go_on=*/false, since);
  }

  asio::awaitable<void> AnswerUnread(RequestReader& reader, std::string_view name,
                                     TimePoint since) {
    const BadRequest& why = reader.failure();
    const RequestHead head;
    co_await AnswerEnd(RequestEnd::kMalformed, name, head, since, why.status, why.message);
  }

  // Writes an answer that is there; returns whether another request may follow.
  asio::awaitable<bool> Answered(const Refused& refused, const RequestHead& head, bool may_go_on,
                                 TimePoint since) {
    const bool keeps = may_go_on && head.keep_alive && !shared_.draining;
    const HeldOutbox outbox(MakeOutbox(head, keeps));
    outbox->Respond(refused.answer);
    const bool was_written = co_await WriteAnswer(outbox, refused.name, since);
    const bool goes_on = was_written && keeps;
    co_return goes_on;
  }

  std::shared_ptr<Outbox> MakeOutbox(const RequestHead& head, bool keep_alive) {
    return std::make_shared<Outbox>(Outbox::Form{.keep_alive = keep_alive,
                                                 .takes_chunks = head.takes_chunks,
                                                 .head_only = head.method == "HEAD",
                                                 .wall_ms = shared_.clock.WallMillis()},
                                    shared_.options.refuse,
                                    [weak = weak_from_this(), strand = strand_] {
                                      asio::post(strand, [weak] {
                                        if (const auto self = weak.lock()) {
                                          self->wake_.cancel();
                                        }
                                      });
                                    });
  }

  // Writes the answer as it comes, and tells how it ended; returns whether all of it was written.
  asio::awaitable<bool> WriteAnswer(const HeldOutbox& outbox, std::string_view name,
                                    TimePoint since) {
    for (;;) {
      const Outbox::Taken taken = outbox->Take();
      if (taken.is_too_slow || (!taken.bytes.empty() && !co_await WriteAll(taken.bytes))) {
        const bool is_slow = taken.is_too_slow || is_overdue_;
        TellEnd(is_slow ? RequestEnd::kCallerSlow : WhyEnded(), name, since);
        co_return false;
      }
      if (taken.is_cut_off) {
        TellEnd(RequestEnd::kCutOff, name, since);
        co_return false;
      }
      if (taken.is_last) {
        Tell(name, outbox->status(), since);
        co_return true;
      }
      if (taken.bytes.empty() && has_ended_) {
        TellEnd(WhyEnded(), name, since);
        co_return false;
      }
      if (taken.bytes.empty() &&
          co_await Wait(wake_, shared_.clock.Now() + shared_.options.times.ping)) {
        outbox->Ping();
      }
    }
  }

  // Why an answer has no reader any more.
  RequestEnd WhyEnded() const {
    return is_drained_   ? RequestEnd::kDrained
           : sent_ahead_ ? RequestEnd::kSentAhead
                         : RequestEnd::kCallerLeft;
  }

  void TellEnd(RequestEnd end, std::string_view name, TimePoint since) {
    shared_.Count(end);
    Tell(name, StatusOf(end), since);
  }

  void Tell(std::string_view name, int status, TimePoint since) const {
    if (shared_.options.on_answered) {
      shared_.options.on_answered(
          name, status, std::chrono::duration<double>(shared_.clock.Now() - since).count());
    }
  }

  // Says goodbye, and reads what still comes, so that the last answer is not lost by a reset.
  asio::awaitable<void> Finish() {
    discards_ = true;
    unparsed_ = std::string();
    room_.cancel();
    if (!has_ended_) {
      ArmDeadline(shared_.options.times.linger);
      if (tls_) {
        co_await tls_->async_shutdown(kAwait);
      } else {
        error_code ignored;
        socket_.shutdown(tcp::socket::shutdown_send, ignored);
      }
      while (!has_ended_) {
        co_await Wait(wake_, std::nullopt);
      }
    }
  }

  void OnReadAllEnd(const std::exception_ptr& thrown) {
    Report(thrown);
    has_ended_ = true;
    wake_.cancel();
  }
  void OnEnd(const std::exception_ptr& thrown) {
    Report(thrown);
    Shut();
    room_.cancel();
    shared_.sessions.erase(shared_from_this());
    if (shared_.sessions.empty()) {
      shared_.on_last_end();
    }
  }
  static void Report(const std::exception_ptr& thrown) {
    if (thrown == nullptr) {
      return;
    }
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      LogError("an HTTP connection ended with an error: {}", error.what());
    }
  }

  SessionState& shared_;
  const Strand strand_;
  tcp::socket socket_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;
  asio::steady_timer wake_;           // cancelled when something has happened for Run
  asio::steady_timer room_{strand_};  // cancelled when there is room for ReadAll
  asio::steady_timer deadline_;
  uint64_t deadlines_ = 0;
  const transport::PeerAddress peer_;
  std::string unparsed_;
  bool reader_waits_ = false;
  bool has_ended_ = false;  // no more bytes come
  bool is_overdue_ = false;
  bool has_proved_ = false;
  bool is_drained_ = false;    // the server ended the connection
  bool makes_answer_ = false;  // of a handler
  bool sent_ahead_ = false;    // more than may wait, during an answer
  bool discards_ = false;
  size_t discarded_ = 0;
};

}  // namespace

std::shared_ptr<Session> MakeSession(SessionState& shared, asio::io_context& io, int socket,
                                     ssl_ctx_st* tls) {
  return std::make_shared<SessionImpl>(shared, io, socket, tls);
}

}  // namespace ruvd::http
