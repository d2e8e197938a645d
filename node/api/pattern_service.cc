// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/actors/pattern_payload.h"
#include "node/api/messages.h"
#include "node/api/pattern_feed.h"
#include "node/api/pattern_messages.h"
#include "node/api/pattern_upsert.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"

namespace ruvd {
namespace {

// Reads of the store take microseconds (2.6 us a cached row), so most methods answer on gRPC's
// thread. The embedding of a text goes through the inference actor; storing a pattern, which
// decodes its adapter and waits for the disk, runs on the thread for queries.
class PatternServiceImpl final : public pattern::v1::PatternService::CallbackService {
 public:
  explicit PatternServiceImpl(const ServiceDependencies& dependencies)
      : node_(dependencies),
        upsert_({.clock = dependencies.clock,
                 .model = dependencies.model,
                 .patterns = dependencies.patterns,
                 .package_id = dependencies.package_id,
                 .self = dependencies.self}) {}

  grpc::ServerUnaryReactor* UpsertPattern(grpc::CallbackServerContext* context,
                                          const pattern::v1::UpsertPatternRequest* request,
                                          pattern::v1::UpsertPatternResponse* response) override {
    auto* reactor = context->DefaultReactor();
    node_.queries->Post([this, reactor, request, response] {
      reactor->Finish(ToRpcStatus(upsert_.Run(*request, response)));
    });
    return reactor;
  }

  grpc::ServerUnaryReactor* SearchPatterns(grpc::CallbackServerContext* context,
                                           const pattern::v1::SearchPatternsRequest* request,
                                           pattern::v1::SearchPatternsResponse* response) override {
    auto* reactor = context->DefaultReactor();
    absl::StatusOr<PatternSearchOptions> options = ReadPatternSearch(*request);
    absl::Status status = options.ok() ? CheckRequestBytes(*request) : options.status();
    if (!status.ok()) {
      reactor->Finish(ToRpcStatus(status));
      return reactor;
    }
    if (request->query_case() == pattern::v1::SearchPatternsRequest::kEmbedding) {
      const auto& values = request->embedding().values();
      reactor->Finish(ToRpcStatus(Search({values.begin(), values.end()}, *options, response)));
      return reactor;
    }
    status = node_.inference->Embed(
        request->text(), [this, reactor, response,
                          options = *std::move(options)](absl::StatusOr<EmbedAnswer> answer) {
          reactor->Finish(ToRpcStatus(answer.ok() ? Search(answer->embedding, options, response)
                                                  : answer.status()));
        });
    if (!status.ok()) {
      reactor->Finish(ToRpcStatus(status));
    }
    return reactor;
  }

  grpc::ServerUnaryReactor* ListPatterns(grpc::CallbackServerContext* context,
                                         const pattern::v1::ListPatternsRequest* request,
                                         pattern::v1::ListPatternsResponse* response) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(ToRpcStatus(List(*request, response)));
    return reactor;
  }

  grpc::ServerUnaryReactor* GetPattern(grpc::CallbackServerContext* context,
                                       const pattern::v1::GetPatternRequest* request,
                                       pattern::v1::GetPatternResponse* response) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(ToRpcStatus(Get(*request, response)));
    return reactor;
  }

  grpc::ServerUnaryReactor* DeletePattern(grpc::CallbackServerContext* context,
                                          const pattern::v1::DeletePatternRequest* request,
                                          pattern::v1::DeletePatternResponse*) override {
    auto* reactor = context->DefaultReactor();
    absl::StatusOr<PatternId> id = ReadPatternId(request->id());
    reactor->Finish(ToRpcStatus(id.ok() ? node_.patterns->Delete(*id) : id.status()));
    return reactor;
  }

  grpc::ServerWriteReactor<pattern::v1::WatchPatternsResponse>* WatchPatterns(
      grpc::CallbackServerContext*, const pattern::v1::WatchPatternsRequest* request) override {
    return node_.pattern_feed->Watch(*request);
  }

 private:
  absl::Status Get(const pattern::v1::GetPatternRequest& request,
                   pattern::v1::GetPatternResponse* response) {
    ASSIGN_OR_RETURN(const PatternId id, ReadPatternId(request.id()));
    ASSIGN_OR_RETURN(const Pattern pattern, node_.patterns->Get(id));
    WritePattern(pattern, response->mutable_pattern());
    if (request.with_embedding()) {
      WriteEmbedding(pattern, response->mutable_pattern());
    }
    if (request.with_adapter()) {
      ASSIGN_OR_RETURN(PatternPayload payload, DecodePatternPayload(pattern.payload));
      response->mutable_pattern()->set_adapter(std::move(payload.adapter));
    }
    return absl::OkStatus();
  }

  absl::Status List(const pattern::v1::ListPatternsRequest& request,
                    pattern::v1::ListPatternsResponse* response) {
    ASSIGN_OR_RETURN(const PatternFilter filter, ReadPatternFilter(request.filter()));
    ASSIGN_OR_RETURN(const PatternPage page,
                     node_.patterns->List(PatternPageSize(request, node_.patterns->dimension()),
                                          request.page_token(), filter));
    for (const Pattern& pattern : page.patterns) {
      auto* out = response->add_patterns();
      WritePattern(pattern, out);
      if (request.with_embedding()) {
        WriteEmbedding(pattern, out);
      }
    }
    response->set_next_page_token(page.next_page_token);
    return absl::OkStatus();
  }

  absl::Status Search(const std::vector<float>& query, const PatternSearchOptions& options,
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
  PatternUpsert upsert_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakePatternService(const ServiceDependencies& dependencies) {
  return std::make_unique<PatternServiceImpl>(dependencies);
}

}  // namespace ruvd
