// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error_details.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "node/api/caller.h"
#include "node/api/callers.h"
#include "node/api/chunk_stream-inl.h"
#include "node/api/file_upload-inl.h"
#include "node/api/messages.h"
#include "node/api/pages.h"
#include "node/api/pattern_feed.h"
#include "node/api/pattern_messages.h"
#include "node/api/pattern_upsert.h"
#include "node/api/query_lane.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "node/api/synced_answers.h"
#include "node/api_limits.h"
#include "node/learning/memory.h"
#include "node/limits.h"
#include "node/serving/inference.h"
#include "node/serving/pattern_payload.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"
#include "storage/changes/change_store.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::api {
namespace {

// Ends an admitted call before its caller hears of `result`, and returns that.
absl::Status EndedBefore(std::shared_ptr<const AdmittedCall>& call, absl::Status result) {
  call.reset();
  return result;
}

using PatternUpload = FileUpload<pattern::v1::ImportPatternRequest>;
using PatternDownload = ChunkStream<pattern::v1::ExportPatternResponse>;

absl::StatusOr<uint64_t> CheckPatternFile(const pattern::v1::PatternFile& file) {
  if (file.adapter_bytes() > limits::kMaxPatternAdapterBytes) {
    return WithLimit(WithField(Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                                     "the adapter has {} bytes, more than {}; use one of a smaller "
                                     "rank",
                                     file.adapter_bytes(), limits::kMaxPatternAdapterBytes),
                               "file.adapter_bytes"),
                     {.limit = limits::kMaxPatternAdapterBytes, .value = file.adapter_bytes()});
  }
  return file.adapter_bytes();
}

// All calls except Watch run on a lane of their own, because they may read a thousand rows, open an
// adapter of megabytes or wait for the disk. A text is first embedded by the inference actor.
class PatternServiceImpl final : public pattern::v1::PatternService::CallbackService {
 public:
  explicit PatternServiceImpl(const ServiceDependencies& dependencies)
      : node_(dependencies),
        lane_(dependencies.pattern_calls, limits::kMaxWaitingPatternCalls),
        synced_(dependencies.pattern_calls, &lane_, dependencies.patterns),
        upsert_({.clock = dependencies.clock,
                 .model = dependencies.model,
                 .patterns = dependencies.patterns,
                 .frame = dependencies.frame,
                 .package_id = dependencies.package_id,
                 .self = dependencies.self}) {}

  grpc::ServerUnaryReactor* UpsertPattern(grpc::CallbackServerContext* context,
                                          const pattern::v1::UpsertPatternRequest* request,
                                          pattern::v1::UpsertPatternResponse* response) override {
    auto* reactor = context->DefaultReactor();
    const auto call = AdmitCall(node_.callers, *context);
    if (!call.ok()) {
      reactor->Finish(ToRpcStatus(call.status()));
      return reactor;
    }
    lane_.Run(
        context, reactor,
        [this, request, response, call = *call]() mutable {
          return EndedBefore(call, upsert_.Run(*request, /*adapter=*/"", response));
        },
        [this, reactor] {
          synced_.Finish(
              [reactor](const absl::Status& status) { reactor->Finish(ToRpcStatus(status)); });
        });
    return reactor;
  }

  grpc::ServerReadReactor<pattern::v1::ImportPatternRequest>* ImportPattern(
      grpc::CallbackServerContext* context, pattern::v1::ImportPatternResponse* response) override {
    const auto call = AdmitCall(node_.callers, *context);
    if (!call.ok()) {
      return PatternUpload::Refuse(context, &uploads_, call.status());
    }
    return PatternUpload::Start(
        context, {.uploads = &uploads_,
                  .most_uploads = limits::kMaxPatternUploads,
                  .check = CheckPatternFile,
                  .store = [this, response, call = *call](const pattern::v1::PatternFile& file,
                                                          std::string adapter,
                                                          const PatternUpload::Done& done) mutable {
                    Import(file, std::move(adapter), std::move(call), response, done);
                  }});
  }

  grpc::ServerWriteReactor<pattern::v1::ExportPatternResponse>* ExportPattern(
      grpc::CallbackServerContext* context,
      const pattern::v1::ExportPatternRequest* request) override {
    const auto call = AdmitCall(node_.callers, *context);
    if (!call.ok()) {
      return PatternDownload::Refuse(context, call.status());
    }
    if (downloads_.fetch_add(1) >= limits::kMaxDownloads) {
      downloads_.fetch_sub(1);
      return PatternDownload::Refuse(context, TooManyDownloads());
    }
    return PatternDownload::Start(
        context, *node_.pattern_calls, [this, request] { return Export(request->id()); },
        [this, call = *call] { downloads_.fetch_sub(1); });
  }

  grpc::ServerUnaryReactor* SearchPatterns(grpc::CallbackServerContext* context,
                                           const pattern::v1::SearchPatternsRequest* request,
                                           pattern::v1::SearchPatternsResponse* response) override {
    if (request->query_case() != pattern::v1::SearchPatternsRequest::kText) {
      return Run(context, [this, request, response]() -> absl::Status {
        RETURN_IF_ERROR(CheckPackage(request->model_package(), node_.package_id));
        ASSIGN_OR_RETURN(const storage::PatternSearchOptions options, ReadPatternSearch(*request));
        const auto& values = request->embedding().values();
        return Search({values.begin(), values.end()}, options, response);
      });
    }
    auto* reactor = context->DefaultReactor();
    const auto call = AdmitCall(node_.callers, *context);
    absl::StatusOr<storage::PatternSearchOptions> options = ReadPatternSearch(*request);
    absl::Status status = call.status();
    status.Update(options.ok() ? CheckRequestBytes(*request) : options.status());
    if (status.ok()) {
      status = node_.inference->Embed(
          EmbedJobOf(request->text(), **call, *context, *node_.clock),
          [this, context, reactor, response, call = *call,
           options = *std::move(options)](absl::StatusOr<serving::EmbedAnswer> answer) {
            if (!answer.ok()) {
              reactor->Finish(ToRpcStatus(answer.status()));
              return;
            }
            call->Charge(static_cast<uint64_t>(answer->tokens));
            lane_.Run(
                context, reactor,
                [this, call, response, options, query = std::move(answer->embedding)]() mutable {
                  return EndedBefore(call, Search(query, options, response));
                });
          });
    }
    if (!status.ok()) {
      reactor->Finish(ToRpcStatus(status));
    }
    return reactor;
  }

  grpc::ServerUnaryReactor* ListPatterns(grpc::CallbackServerContext* context,
                                         const pattern::v1::ListPatternsRequest* request,
                                         pattern::v1::ListPatternsResponse* response) override {
    return Run(context, [this, request, response] { return List(*request, response); });
  }

  grpc::ServerUnaryReactor* GetPattern(grpc::CallbackServerContext* context,
                                       const pattern::v1::GetPatternRequest* request,
                                       pattern::v1::GetPatternResponse* response) override {
    return Run(context, [this, request, response] { return Get(*request, response); });
  }

  grpc::ServerUnaryReactor* DeletePattern(grpc::CallbackServerContext* context,
                                          const pattern::v1::DeletePatternRequest* request,
                                          pattern::v1::DeletePatternResponse*) override {
    return Run(context, [this, request]() -> absl::Status {
      ASSIGN_OR_RETURN(const storage::PatternId id, ReadPatternId(request->id()));
      RETURN_IF_ERROR(node_.patterns->Delete(id));
      if (node_.memory != nullptr) {
        node_.memory->OnLessonsChanged();  // its lessons must not teach any more
      }
      // Deleting a pattern also deletes its earlier states, which undo would restore.
      return node_.changes == nullptr ? absl::OkStatus() : node_.changes->ForgetPattern(id);
    });
  }

  grpc::ServerWriteReactor<pattern::v1::WatchPatternsResponse>* WatchPatterns(
      grpc::CallbackServerContext* context,
      const pattern::v1::WatchPatternsRequest* request) override {
    auto call = AdmitCall(node_.callers, *context);
    return call.ok() ? node_.pattern_feed->Watch(*request, *std::move(call))
                     : node_.pattern_feed->Watch(*request, call.status());
  }

 private:
  grpc::ServerUnaryReactor* Run(grpc::CallbackServerContext* context,
                                std::function<absl::Status()> answer) {
    auto* reactor = context->DefaultReactor();
    const auto call = AdmitCall(node_.callers, *context);
    if (!call.ok()) {
      reactor->Finish(ToRpcStatus(call.status()));
      return reactor;
    }
    lane_.Run(context, reactor, [call = *call, answer = std::move(answer)]() mutable {
      return EndedBefore(call, answer());
    });
    return reactor;
  }

  absl::Status Get(const pattern::v1::GetPatternRequest& request,
                   pattern::v1::GetPatternResponse* response) {
    ASSIGN_OR_RETURN(const storage::PatternId id, ReadPatternId(request.id()));
    ASSIGN_OR_RETURN(const storage::Pattern pattern, node_.patterns->GetWithoutPayload(id));
    WritePattern(pattern, response->mutable_pattern());
    if (request.with_embedding()) {
      WriteEmbedding(pattern, response->mutable_pattern());
    }
    return absl::OkStatus();
  }

  void Import(const pattern::v1::PatternFile& file, std::string adapter,
              std::shared_ptr<const AdmittedCall> call,
              pattern::v1::ImportPatternResponse* response, const PatternUpload::Done& done) {
    lane_.Post(
        [this, file, adapter = std::move(adapter), call = std::move(call), response]() mutable {
          pattern::v1::UpsertPatternResponse stored;
          const absl::Status status = upsert_.Run(file.pattern(), adapter, &stored);
          response->set_outcome(stored.outcome());
          *response->mutable_pattern() = std::move(*stored.mutable_pattern());
          return EndedBefore(call, status);
        },
        done, [this, done] { synced_.Finish(done); });
  }

  absl::StatusOr<PatternDownload::Next> Export(const std::string& hex) {
    ASSIGN_OR_RETURN(const storage::PatternId id, ReadPatternId(hex));
    ASSIGN_OR_RETURN(const storage::Pattern pattern, node_.patterns->Get(id));
    std::string bytes;
    if (!pattern.adapter_name.empty()) {
      ASSIGN_OR_RETURN(const serving::PatternPayload payload,
                       serving::DecodePatternPayload(pattern.payload));
      ASSIGN_OR_RETURN(const auto adapter,
                       serving::AdapterOfPattern(pattern, payload, *node_.model, node_.frame));
      if (adapter != nullptr) {
        bytes = inference::EncodeAdapter(*adapter);
      }
    }
    pattern::v1::ExportPatternResponse head;
    WritePattern(pattern, head.mutable_pattern());
    WriteEmbedding(pattern, head.mutable_pattern());
    head.mutable_pattern()->set_adapter_bytes(bytes.size());
    return [head = std::optional(std::move(head)), bytes = std::move(bytes),
            sent = size_t{0}](pattern::v1::ExportPatternResponse* next) mutable {
      if (head.has_value()) {
        *next = *std::exchange(head, std::nullopt);
        return true;
      }
      next->set_data(bytes.substr(sent, limits::kMaxChunkBytes));
      sent += next->data().size();
      return !next->data().empty();
    };
  }

  absl::Status List(const pattern::v1::ListPatternsRequest& request,
                    pattern::v1::ListPatternsResponse* response) {
    ASSIGN_OR_RETURN(const storage::PatternFilter filter, ReadPatternFilter(request.filter()));
    std::string from;
    if (!request.page_token().empty()) {
      ASSIGN_OR_RETURN(from, ReadPageToken(request.page_token()));
    }
    const auto page =
        node_.patterns->List(PatternPageSize(request, node_.patterns->dimension()), from, filter);
    if (absl::IsInvalidArgument(page.status())) {  // the filter was read, so it is about the token
      return StalePageToken(request.page_token());
    }
    RETURN_IF_ERROR(page.status());
    for (const storage::Pattern& pattern : page->patterns) {
      auto* out = response->add_patterns();
      WritePattern(pattern, out);
      if (request.with_embedding()) {
        WriteEmbedding(pattern, out);
      }
    }
    if (!page->next_page_token.empty()) {
      response->set_next_page_token(PageToken(page->next_page_token));
    }
    return absl::OkStatus();
  }

  absl::Status Search(const std::vector<float>& query, const storage::PatternSearchOptions& options,
                      pattern::v1::SearchPatternsResponse* response) {
    ASSIGN_OR_RETURN(const auto hits, node_.patterns->Search(query, options));
    for (const auto& hit : hits) {
      auto* out = response->add_hits();
      WritePattern(hit.pattern, out->mutable_pattern());
      out->set_similarity(hit.similarity);
    }
    return absl::OkStatus();
  }

  const ServiceDependencies node_;
  QueryLane lane_;
  SyncedAnswers synced_;
  PatternUpsert upsert_;
  std::atomic<size_t> uploads_{0};
  std::atomic<size_t> downloads_{0};
};

}  // namespace

std::unique_ptr<grpc::Service> MakePatternService(const ServiceDependencies& dependencies) {
  return std::make_unique<PatternServiceImpl>(dependencies);
}

}  // namespace ruvd::api
