// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/api/messages.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "node/limits.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"

namespace ruvd {
namespace {

constexpr uint32_t kDefaultResults = 10;
constexpr uint32_t kDefaultPage = 100;

absl::StatusOr<PatternSearchOptions> ReadSearch(const pattern::v1::SearchPatternsRequest& request) {
  PatternSearchOptions options;
  const uint32_t k = request.k() == 0 ? kDefaultResults : request.k();
  if (k > static_cast<uint32_t>(limits::kMaxSearchResults) ||
      request.ef() > static_cast<uint32_t>(limits::kMaxSearchResults)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "k is {} and ef is {}; use at most {} for each", k, request.ef(),
                 limits::kMaxSearchResults);
  }
  options.k = k;
  options.ef = request.ef();
  if (request.has_bank() && request.bank() >= 0) {
    options.filter.bank = static_cast<uint32_t>(request.bank());
  }
  return options;
}

// Reads and writes of the store take microseconds (2.6 us a cached row), so these methods answer on
// gRPC's thread; only the embedding of a text goes through the inference actor.
class PatternServiceImpl final : public pattern::v1::PatternService::CallbackService {
 public:
  explicit PatternServiceImpl(const ServiceDependencies& dependencies) : node_(dependencies) {}

  grpc::ServerUnaryReactor* SearchPatterns(grpc::CallbackServerContext* context,
                                           const pattern::v1::SearchPatternsRequest* request,
                                           pattern::v1::SearchPatternsResponse* response) override {
    auto* reactor = context->DefaultReactor();
    absl::StatusOr<PatternSearchOptions> options = ReadSearch(*request);
    if (!options.ok()) {
      reactor->Finish(ToRpcStatus(options.status()));
      return reactor;
    }
    if (request->query_case() == pattern::v1::SearchPatternsRequest::kEmbedding) {
      const auto& values = request->embedding().values();
      reactor->Finish(ToRpcStatus(Search({values.begin(), values.end()}, *options, response)));
      return reactor;
    }
    const absl::Status status = node_.inference->Embed(
        request->text(),
        [this, reactor, response, options = *options](absl::StatusOr<EmbedAnswer> answer) {
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
    const uint32_t size = std::min(request->page_size() == 0 ? kDefaultPage : request->page_size(),
                                   static_cast<uint32_t>(limits::kMaxSearchResults));
    auto page = node_.patterns->List(size, request->page_token());
    if (page.ok()) {
      for (const Pattern& pattern : page->patterns) {
        WritePattern(pattern, response->add_patterns());
      }
      response->set_next_page_token(page->next_page_token);
    }
    reactor->Finish(ToRpcStatus(page.status()));
    return reactor;
  }

  grpc::ServerUnaryReactor* GetPattern(grpc::CallbackServerContext* context,
                                       const pattern::v1::GetPatternRequest* request,
                                       pattern::v1::GetPatternResponse* response) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(ToRpcStatus(Get(request->id(), response)));
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

 private:
  absl::Status Get(const std::string& text, pattern::v1::GetPatternResponse* response) {
    ASSIGN_OR_RETURN(const PatternId id, ReadPatternId(text));
    ASSIGN_OR_RETURN(const Pattern pattern, node_.patterns->Get(id));
    WritePattern(pattern, response->mutable_pattern());
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
};

}  // namespace

std::unique_ptr<grpc::Service> MakePatternService(const ServiceDependencies& dependencies) {
  return std::make_unique<PatternServiceImpl>(dependencies);
}

}  // namespace ruvd
