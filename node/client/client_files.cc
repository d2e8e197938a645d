// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The calls of NodeClient that send or receive files, and those that start without waiting.

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/api_limits.h"
#include "node/client/client.h"
#include "node/client/file_messages.h"
#include "node/client/stubs-inl.h"
#include "node/transport/callback_queue.h"

namespace ruvd::client {
namespace {

using pattern::v1::ImportPatternRequest;
using pattern::v1::ImportPatternResponse;
using pattern::v1::UpsertPatternResponse;

template <typename Request>
absl::Status SendFile(grpc::ClientWriter<Request>& writer, Request header, std::string_view bytes,
                      const std::string& server) {
  FileMessages<Request> messages(std::move(header), bytes);
  Request message;
  // If a write fails, the node ended the call, and Finish says why.
  while (messages.Next(&message) && writer.Write(message)) {
  }
  writer.WritesDone();
  return ToStatus(writer.Finish(), server);
}

absl::Status WrongSize(const std::string& server, uint64_t announced, uint64_t received) {
  return Error(absl::StatusCode::kDataLoss, reasons::kInternal,
               "{} announced an adapter of {} bytes and sent {}; check that this address is a ruvd "
               "node of the same version, and ask again",
               server, announced, received);
}

template <typename Response>
absl::StatusOr<Response> Answered(const grpc::Status& answer, const std::string& server,
                                  Response& response) {
  RETURN_IF_ERROR(ToStatus(answer, server));
  return std::move(response);
}

// Sends a pattern with an adapter. It deletes itself after the call.
class PatternUpload final : public grpc::ClientWriteReactor<ImportPatternRequest> {
 public:
  using Done = std::function<void(const grpc::Status&, ImportPatternResponse&)>;

  PatternUpload(ImportPatternRequest header, std::shared_ptr<const std::string> adapter, Done done)
      : adapter_(std::move(adapter)),
        messages_(std::move(header), *adapter_),
        done_(std::move(done)) {}

  grpc::ClientContext& context() { return context_; }
  void Start(pattern::v1::PatternService::Stub& stub) {
    stub.async()->ImportPattern(&context_, &response_, this);
    SendNext();
    StartCall();
  }

  // If a write fails, the node ended the call, and OnDone hears why.
  void OnWriteDone(bool ok) override {
    if (ok) {
      SendNext();
    }
  }
  void OnDone(const grpc::Status& status) override {
    done_(status, response_);
    delete this;
  }

 private:
  void SendNext() {
    if (messages_.Next(&message_)) {
      StartWrite(&message_);
    } else {
      StartWritesDone();
    }
  }

  grpc::ClientContext context_;
  const std::shared_ptr<const std::string> adapter_;
  FileMessages<ImportPatternRequest> messages_;
  ImportPatternRequest message_;  // that is being written
  ImportPatternResponse response_;
  const Done done_;
};

}  // namespace

// The node ends a call a little after its answer, and files of other clients may arrive, too.
absl::StatusOr<learning::v1::AddLessonsResponse> NodeClient::AddLessons(
    const learning::v1::LessonFile& file, std::string_view bytes) {
  constexpr std::chrono::milliseconds kLongestWait(2000);
  const auto end = std::chrono::steady_clock::now() + timeout_;
  std::chrono::milliseconds wait(50);
  while (true) {
    auto added = SendLessons(file, bytes);
    if (ReasonOf(added.status()) != reasons::kMailboxFull ||
        std::chrono::steady_clock::now() + wait > end) {
      return added;
    }
    std::this_thread::sleep_for(wait);
    wait = std::min(2 * wait, kLongestWait);
  }
}

absl::StatusOr<learning::v1::AddLessonsResponse> NodeClient::SendLessons(
    const learning::v1::LessonFile& file, std::string_view bytes) {
  grpc::ClientContext context;
  RETURN_IF_ERROR(stubs_->Begin(file, timeout_, &context));
  learning::v1::AddLessonsResponse response;
  const auto writer = stubs_->learning.AddLessons(&context, &response);
  learning::v1::AddLessonsRequest header;
  *header.mutable_file() = file;
  RETURN_IF_ERROR(SendFile(*writer, std::move(header), bytes, server_));
  return response;
}

absl::StatusOr<adapter::v1::ImportAdapterResponse> NodeClient::ImportAdapter(
    const adapter::v1::AdapterFile& file, std::string_view bytes) {
  grpc::ClientContext context;
  RETURN_IF_ERROR(stubs_->Begin(file, timeout_, &context));
  adapter::v1::ImportAdapterResponse response;
  const auto writer = stubs_->adapters.ImportAdapter(&context, &response);
  adapter::v1::ImportAdapterRequest header;
  *header.mutable_file() = file;
  RETURN_IF_ERROR(SendFile(*writer, std::move(header), bytes, server_));
  return response;
}

absl::StatusOr<std::string> NodeClient::ExportAdapter(
    const adapter::v1::ExportAdapterRequest& request) {
  grpc::ClientContext context;
  RETURN_IF_ERROR(stubs_->Begin(request, timeout_, &context));
  const auto reader = stubs_->adapters.ExportAdapter(&context, request);
  adapter::v1::ExportAdapterResponse piece;
  uint64_t total = 0;
  std::string bytes;
  while (reader->Read(&piece)) {
    total = std::max(total, piece.total_bytes());
    bytes += piece.data();
    if (bytes.size() > total) {
      context.TryCancel();
    }
  }
  const grpc::Status status = reader->Finish();
  if (bytes.size() > total || (status.ok() && bytes.size() < total)) {
    return WrongSize(server_, total, bytes.size());
  }
  RETURN_IF_ERROR(ToStatus(status, server_));
  return bytes;
}

absl::StatusOr<ExportedPattern> NodeClient::ExportPattern(const std::string& id) {
  pattern::v1::ExportPatternRequest request;
  request.set_id(id);
  grpc::ClientContext context;
  RETURN_IF_ERROR(stubs_->Begin(request, timeout_, &context));
  const auto reader = stubs_->patterns.ExportPattern(&context, request);
  pattern::v1::ExportPatternResponse part;
  std::optional<pattern::v1::Pattern> pattern;
  std::string adapter;
  while (reader->Read(&part)) {
    if (part.has_pattern()) {
      pattern = std::move(*part.mutable_pattern());
    }
    adapter += part.data();
    if (adapter.size() > limits::kMaxPatternAdapterBytes) {
      context.TryCancel();
    }
  }
  const grpc::Status status = reader->Finish();
  if (adapter.size() > limits::kMaxPatternAdapterBytes) {
    return WrongSize(server_, pattern ? pattern->adapter_bytes() : 0, adapter.size());
  }
  RETURN_IF_ERROR(ToStatus(status, server_));
  if (!pattern) {
    return CutOff(server_);
  }
  if (pattern->adapter_bytes() != adapter.size()) {
    return WrongSize(server_, pattern->adapter_bytes(), adapter.size());
  }
  return ExportedPattern{.pattern = *std::move(pattern), .adapter = std::move(adapter)};
}

void NodeClient::StartUpsertPattern(
    const std::shared_ptr<const pattern::v1::UpsertPatternRequest>& request,
    std::function<void(absl::StatusOr<pattern::v1::UpsertPatternResponse>)> done) {
  struct Call {
    grpc::ClientContext context;
    std::shared_ptr<const pattern::v1::UpsertPatternRequest> request;
    UpsertPatternResponse response;
  };
  const auto call = std::make_shared<Call>();
  call->request = request;
  if (const absl::Status status = stubs_->Begin(*request, timeout_, &call->context); !status.ok()) {
    done(status);
    return;
  }
  transport::RetainCallbackQueue();
  stubs_->patterns.async()->UpsertPattern(
      &call->context, call->request.get(), &call->response,
      [this, call, done = std::move(done)](const grpc::Status& answer) {
        done(Answered(answer, server_, call->response));
      });
}

void NodeClient::StartImportPattern(
    const std::shared_ptr<const pattern::v1::PatternFile>& file,
    const std::shared_ptr<const std::string>& adapter,
    std::function<void(absl::StatusOr<pattern::v1::ImportPatternResponse>)> done) {
  ImportPatternRequest header;
  *header.mutable_file() = *file;
  auto upload = std::make_unique<PatternUpload>(
      std::move(header), adapter,
      [this, done](const grpc::Status& answer, ImportPatternResponse& response) {
        done(Answered(answer, server_, response));
      });
  if (const absl::Status status = stubs_->Begin(*file, timeout_, &upload->context());
      !status.ok()) {
    done(status);
    return;
  }
  transport::RetainCallbackQueue();
  upload.release()->Start(stubs_->patterns);  // it deletes itself
}

}  // namespace ruvd::client
