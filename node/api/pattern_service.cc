// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <functional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "node/api/caller.h"
#include "node/api/callers.h"
#include "node/api/messages.h"
#include "node/api/pattern_feed.h"
#include "node/api/pattern_messages.h"
#include "node/api/pattern_upsert.h"
#include "node/api/query_lane.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "node/api/synced_answers.h"
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
          return EndedBefore(call, upsert_.Run(*request, response));
        },
        [this, reactor] { synced_.Finish(reactor); });
    return reactor;
  }

  grpc::ServerUnaryReactor* SearchPatterns(grpc::CallbackServerContext* context,
                                           const pattern::v1::SearchPatternsRequest* request,
                                           pattern::v1::SearchPatternsResponse* response) override {
    if (request->query_case() != pattern::v1::SearchPatternsRequest::kText) {
      return Run(context, [this, request, response]() -> absl::Status {
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
    ASSIGN_OR_RETURN(const storage::Pattern pattern, request.with_adapter()
                                                         ? node_.patterns->Get(id)
                                                         : node_.patterns->GetWithoutPayload(id));
    WritePattern(pattern, response->mutable_pattern());
    if (request.with_embedding()) {
      WriteEmbedding(pattern, response->mutable_pattern());
    }
    if (request.with_adapter() && !pattern.adapter_name.empty()) {
      ASSIGN_OR_RETURN(const serving::PatternPayload payload,
                       serving::DecodePatternPayload(pattern.payload));
      ASSIGN_OR_RETURN(const auto adapter,
                       serving::AdapterOfPattern(pattern, payload, *node_.model, node_.frame));
      if (adapter != nullptr) {
        response->mutable_pattern()->set_adapter(inference::EncodeAdapter(*adapter));
      }
    }
    return absl::OkStatus();
  }

  absl::Status List(const pattern::v1::ListPatternsRequest& request,
                    pattern::v1::ListPatternsResponse* response) {
    ASSIGN_OR_RETURN(const storage::PatternFilter filter, ReadPatternFilter(request.filter()));
    ASSIGN_OR_RETURN(const storage::PatternPage page,
                     node_.patterns->List(PatternPageSize(request, node_.patterns->dimension()),
                                          request.page_token(), filter));
    for (const storage::Pattern& pattern : page.patterns) {
      auto* out = response->add_patterns();
      WritePattern(pattern, out);
      if (request.with_embedding()) {
        WriteEmbedding(pattern, out);
      }
    }
    response->set_next_page_token(page.next_page_token);
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
};

}  // namespace

std::unique_ptr<grpc::Service> MakePatternService(const ServiceDependencies& dependencies) {
  return std::make_unique<PatternServiceImpl>(dependencies);
}

}  // namespace ruvd::api
