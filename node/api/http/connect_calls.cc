// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/http/connect_calls.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/api/caller.h"
#include "node/api/rpc_status.h"
#include "node/transport/callback_queue.h"

namespace ruvd::api {
namespace {

using grpc::ByteBuffer;

// A caller that leaves is noticed after this at the latest.
constexpr std::chrono::milliseconds kLook(250);

ByteBuffer BufferOf(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return ByteBuffer(&slice, 1);
}

std::string BytesOf(const ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (buffer.Dump(&slices).ok()) {
    for (const grpc::Slice& slice : slices) {
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  return bytes;
}

std::string PathOf(const google::protobuf::MethodDescriptor& method) {
  return "/" + method.service()->full_name() + "/" + method.name();
}

void Prepare(const ConnectRequest& request, const Clock& clock, grpc::ClientContext* context) {
  context->AddMetadata(kInsideSecret, InsideSecret());
  context->AddMetadata(kInsideSource, request.source);
  if (request.authorization) {
    context->AddMetadata("authorization", *request.authorization);
  }
  if (request.timeout) {
    context->set_deadline(std::chrono::system_clock::time_point(
        std::chrono::milliseconds(clock.WallMillis()) + *request.timeout));
  }
}

// Cancels a call whose caller left, until the call has ended and `call` is gone.
template <typename Call>
void Watch(Executor& executor, const std::weak_ptr<Call>& call) {
  executor.PostAt(executor.clock().Now() + kLook, [&executor, call] {
    if (const auto running = call.lock(); running != nullptr) {
      if (running->exchange().is_gone()) {
        running->Cancel();
      } else {
        Watch(executor, call);
      }
    }
  });
}

http::Answer AnswerOf(const grpc::Status& status) {
  http::Answer answer{.status = ConnectHttpStatus(status.error_code()),
                      .body = ConnectError(status)};
  if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED) {
    answer.fields.emplace_back("WWW-Authenticate", "Bearer");
  }
  if (const int64_t seconds = RetrySeconds(status); seconds > 0) {
    answer.fields.emplace_back("Retry-After", std::to_string(seconds));
  }
  return answer;
}

// A call with one answer.
class UnaryCall final : public std::enable_shared_from_this<UnaryCall> {
 public:
  UnaryCall(ConnectRequest request, std::string bytes, const Executor& executor)
      : request_(std::move(request)), sent_(BufferOf(bytes)) {
    Prepare(request_, executor.clock(), &context_);
  }
  void Start(grpc::GenericStub& stub) {
    stub.UnaryCall(&context_, PathOf(*request_.method), grpc::StubOptions(), &sent_, &received_,
                   [self = shared_from_this()](const grpc::Status& status) { self->End(status); });
  }
  void Cancel() { context_.TryCancel(); }
  const http::Exchange& exchange() const { return *request_.exchange; }

 private:
  void End(const grpc::Status& status) {
    if (!status.ok()) {
      request_.exchange->Respond(AnswerOf(status));
      return;
    }
    absl::StatusOr<std::string> body =
        EncodeMessage(*request_.method->output_type(), request_.type.encoding, BytesOf(received_));
    request_.exchange->Respond(
        body.ok()
            ? http::Answer{.content_type = ConnectTypeName(request_.type), .body = *std::move(body)}
            : AnswerOf(ToRpcStatus(body.status())));
  }

  const ConnectRequest request_;
  grpc::ClientContext context_;
  const ByteBuffer sent_;
  ByteBuffer received_;
};

// A call with a stream of answers. gRPC calls the reactions one after another.
class StreamCall final : public grpc::ClientBidiReactor<ByteBuffer, ByteBuffer>,
                         public std::enable_shared_from_this<StreamCall> {
 public:
  StreamCall(ConnectRequest request, std::string bytes, Executor& executor)
      : request_(std::move(request)), sent_(BufferOf(bytes)), executor_(executor) {
    Prepare(request_, executor.clock(), &context_);
  }
  void Start(grpc::GenericStub& stub) {
    self_ = shared_from_this();
    stub.PrepareBidiStreamingCall(&context_, PathOf(*request_.method), grpc::StubOptions(), this);
    request_.exchange->BeginStream(ConnectTypeName(request_.type));
    AddHold();  // for reads that begin when the caller is ready
    StartWriteLast(&sent_, grpc::WriteOptions());
    StartRead(&received_);
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }
  const http::Exchange& exchange() const { return *request_.exchange; }

  void OnReadDone(bool ok) override {
    if (!ok) {
      RemoveHold();  // OnDone says how it ended
      return;
    }
    const absl::StatusOr<std::string> message =
        EncodeMessage(*request_.method->output_type(), request_.type.encoding, BytesOf(received_));
    if (!message.ok()) {
      failure_ = message.status();
    }
    if (!message.ok() || !request_.exchange->Send(Envelope(*message))) {
      context_.TryCancel();
    }
    ReadWhenReady();
  }

  void OnDone(const grpc::Status& end) override {
    const std::shared_ptr<StreamCall> self = std::move(self_);
    const grpc::Status status = failure_.ok() ? end : ToRpcStatus(failure_);
    request_.exchange->Send(EndEnvelope(status));
    if (status.ok()) {
      request_.exchange->EndStream();
    } else {
      request_.exchange->FailStream(ConnectHttpStatus(status.error_code()));
    }
  }

 private:
  // A service that sends faster than the caller reads waits here.
  void ReadWhenReady() {
    constexpr std::chrono::milliseconds kPause(5);
    if (!request_.exchange->is_behind() || request_.exchange->is_gone()) {
      StartRead(&received_);
    } else {
      executor_.PostAt(executor_.clock().Now() + kPause,
                       [self = shared_from_this()] { self->ReadWhenReady(); });
    }
  }

  const ConnectRequest request_;
  grpc::ClientContext context_;
  const ByteBuffer sent_;
  ByteBuffer received_;
  Executor& executor_;
  absl::Status failure_;              // of an answer that could not be written
  std::shared_ptr<StreamCall> self_;  // released by OnDone
};

absl::StatusOr<std::string> MessageOfRequest(const ConnectRequest& request) {
  const google::protobuf::MethodDescriptor& method = *request.method;
  if (method.client_streaming()) {
    return Error(absl::StatusCode::kUnimplemented, reasons::kInvalidArgument,
                 "{} takes a stream, which HTTP/1.1 cannot send; call it over gRPC", method.name());
  }
  std::string_view message = request.message;
  if (request.type.streams) {
    ASSIGN_OR_RETURN(message, OpenEnvelope(request.message));
  }
  return DecodeMessage(*method.input_type(), request.type.encoding, message);
}

}  // namespace

struct ConnectCalls::Stub {
  explicit Stub(std::shared_ptr<grpc::Channel> channel) : generic(std::move(channel)) {}
  grpc::GenericStub generic;
};

ConnectCalls::ConnectCalls(std::shared_ptr<grpc::Channel> channel, Executor& executor)
    : stub_(std::make_unique<Stub>(std::move(channel))), executor_(executor) {
  transport::RetainCallbackQueue();
}

ConnectCalls::~ConnectCalls() = default;

void ConnectCalls::Start(ConnectRequest request) const {
  absl::StatusOr<std::string> message = MessageOfRequest(request);
  if (!message.ok()) {
    request.exchange->Respond(ErrorAnswer(message.status(), request.type));
    return;
  }
  if (request.type.streams) {
    const auto call =
        std::make_shared<StreamCall>(std::move(request), *std::move(message), executor_);
    Watch(executor_, std::weak_ptr(call));
    call->Start(stub_->generic);
  } else {
    const auto call =
        std::make_shared<UnaryCall>(std::move(request), *std::move(message), executor_);
    Watch(executor_, std::weak_ptr(call));
    call->Start(stub_->generic);
  }
}

http::Answer ConnectCalls::ErrorAnswer(const absl::Status& status, ConnectType type) {
  if (type.streams) {
    return {.content_type = ConnectTypeName(type), .body = EndEnvelope(ToRpcStatus(status))};
  }
  return AnswerOf(ToRpcStatus(status));
}

}  // namespace ruvd::api
