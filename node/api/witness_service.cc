// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <functional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/api/callers.h"
#include "node/api/messages.h"
#include "node/api/query_lane.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "node/limits.h"
#include "node/serving/inference.h"
#include "ruvd/witness/v1/witness.grpc.pb.h"
#include "storage/witness/witness_log.h"

namespace ruvd::api {
namespace {

constexpr uint32_t kDefaultPage = 100;

// NaN meets no condition, so a caller who sends it would get no entries and no explanation.
absl::Status CheckNumbers(const witness::v1::Filter& message) {
  for (const float quality : {message.min_quality(), message.max_quality()}) {
    if (!(quality >= 0 && quality <= 1)) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "filter.min_quality is {} and max_quality is {}; both must be from 0 to 1",
                   message.min_quality(), message.max_quality());
    }
  }
  for (const float total_ms : {message.min_total_ms(), message.max_total_ms()}) {
    if (!(total_ms >= 0)) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "filter.min_total_ms is {} and max_total_ms is {}; both must be 0 or more",
                   message.min_total_ms(), message.max_total_ms());
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSimilar(const witness::v1::ListEntriesRequest& request) {
  if (request.similar_to().empty() && request.has_min_similarity()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "min_similarity is set, but similar_to is not; set both or neither");
  }
  if (!request.similar_to().empty() && request.oldest_first()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "oldest_first and similar_to are set, but the most similar come first; set one of "
                 "them");
  }
  return absl::OkStatus();
}

absl::StatusOr<storage::WitnessFilter> ReadFilter(const witness::v1::Filter& message) {
  RETURN_IF_ERROR(CheckNumbers(message));
  storage::WitnessFilter filter{.from_ms = message.from_ms(),
                                .session_id = message.session_id(),
                                .model = message.model(),
                                .error_reason = message.error_reason()};
  const auto read = [](bool set, auto value, auto* out) {
    if (set) {
      *out = value;
    }
  };
  read(message.has_to_ms(), message.to_ms(), &filter.to_ms);
  read(message.has_min_quality(), message.min_quality(), &filter.min_quality);
  read(message.has_max_quality(), message.max_quality(), &filter.max_quality);
  read(message.has_min_total_ms(), message.min_total_ms(), &filter.min_total_ms);
  read(message.has_max_total_ms(), message.max_total_ms(), &filter.max_total_ms);
  switch (message.outcome()) {
    case witness::v1::OUTCOME_UNSPECIFIED:
      return filter;
    case witness::v1::OUTCOME_OK:
      filter.outcome = storage::WitnessOutcome::kOk;
      return filter;
    case witness::v1::OUTCOME_FAILED:
      filter.outcome = storage::WitnessOutcome::kFailed;
      return filter;
    default:
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "outcome {} is unknown; use OUTCOME_OK or OUTCOME_FAILED, or leave it unset",
                   static_cast<int>(message.outcome()));
  }
}

void WriteEntry(const storage::WitnessEntry& entry, witness::v1::Entry* message) {
  message->set_request_id(entry.request_id);
  message->set_session_id(entry.session_id);
  message->set_model(entry.model_used);
  if (entry.quality) {
    message->set_quality(*entry.quality);
  }
  auto* latency = message->mutable_latency();
  latency->set_queue_ms(entry.latency.queue_ms);
  latency->set_embedding_ms(entry.latency.embedding_ms);
  latency->set_retrieval_ms(entry.latency.retrieval_ms);
  latency->set_routing_ms(entry.latency.routing_ms);
  latency->set_attention_ms(entry.latency.attention_ms);
  latency->set_generation_ms(entry.latency.generation_ms);
  latency->set_total_ms(entry.latency.total_ms);
  for (const storage::RetrievedId& id : entry.retrieved_ids) {
    message->add_retrieved_ids(ToHex(id));
  }
  for (const std::string& adapter : entry.adapters) {
    message->add_adapters(adapter);
  }
  message->set_timestamp_ms(entry.timestamp_ms);
  if (entry.error) {
    message->set_error_reason(entry.error->reason);
    message->set_error_message(entry.error->message);
  }
  message->set_prompt_tokens(entry.prompt_tokens);
  message->set_completion_tokens(entry.completion_tokens);
  message->set_temperature(entry.routing.temperature);
  message->set_top_p(entry.routing.top_p);
  message->set_context_size(entry.routing.context_size);
  message->set_route(entry.routing.route);
  message->set_memory_tokens(entry.memory_entries);
  message->set_memory_share(entry.memory_share);
}

void WriteSummary(const storage::LatencySummary& summary, witness::v1::LatencySummary* message) {
  message->set_mean_ms(summary.mean_ms);
  message->set_p50_ms(summary.p50_ms);
  message->set_p90_ms(summary.p90_ms);
  message->set_p99_ms(summary.p99_ms);
  message->set_max_ms(summary.max_ms);
}

void WriteStats(const storage::WitnessStats& stats, witness::v1::GetStatsResponse* message) {
  message->set_entries(stats.entries);
  message->set_failed(stats.failed);
  message->set_rated(stats.rated);
  message->set_mean_quality(stats.mean_quality);
  WriteSummary(stats.total, message->mutable_total());
  WriteSummary(stats.generation, message->mutable_generation());
  message->mutable_by_model()->insert(stats.by_model.begin(), stats.by_model.end());
  message->mutable_by_error()->insert(stats.by_error.begin(), stats.by_error.end());
  for (const storage::WitnessInterval& interval : stats.intervals) {
    auto* out = message->add_intervals();
    out->set_start_ms(interval.start_ms);
    out->set_entries(interval.entries);
    out->set_failed(interval.failed);
    out->set_rated(interval.rated);
    out->set_mean_quality(interval.mean_quality);
  }
  message->set_truncated(stats.truncated);
  message->set_undecodable(stats.undecodable);
}

// A query may look at many entries, so it runs on the thread for queries, not on gRPC's.
class WitnessServiceImpl final : public witness::v1::WitnessService::CallbackService {
 public:
  explicit WitnessServiceImpl(const ServiceDependencies& dependencies)
      : node_(dependencies), lane_(dependencies.queries, limits::kMaxWaitingQueries) {}

  grpc::ServerUnaryReactor* ListEntries(grpc::CallbackServerContext* context,
                                        const witness::v1::ListEntriesRequest* request,
                                        witness::v1::ListEntriesResponse* response) override {
    auto* reactor = context->DefaultReactor();
    absl::Status asked = CheckSimilar(*request);
    if (asked.ok() && request->similar_to().empty()) {
      lane_.Run(context, reactor, [this, context, request, response] {
        return List(*context, *request, {}, response);
      });
      return reactor;
    }
    const auto call = AdmitCall(node_.callers, *context);
    asked.Update(call.status());
    asked.Update(CheckRequestBytes(*request));
    if (asked.ok()) {
      asked = node_.inference->Embed(
          EmbedJobOf(request->similar_to(), **call, *context, *node_.clock),
          [this, context, reactor, request, response,
           call = *call](absl::StatusOr<serving::EmbedAnswer> answer) {
            if (!answer.ok()) {
              reactor->Finish(ToRpcStatus(answer.status()));
              return;
            }
            lane_.Run(context, reactor,
                      [this, context, request, response, embedding = std::move(answer->embedding)] {
                        return List(*context, *request, embedding, response);
                      });
          });
    }
    if (!asked.ok()) {
      reactor->Finish(ToRpcStatus(asked));
    }
    return reactor;
  }

  grpc::ServerUnaryReactor* GetEntry(grpc::CallbackServerContext* context,
                                     const witness::v1::GetEntryRequest* request,
                                     witness::v1::GetEntryResponse* response) override {
    auto* reactor = context->DefaultReactor();
    lane_.Run(context, reactor, [this, request, response]() -> absl::Status {
      ASSIGN_OR_RETURN(const storage::WitnessEntry entry,
                       node_.witness->Get(request->request_id()));
      WriteEntry(entry, response->mutable_entry());
      return absl::OkStatus();
    });
    return reactor;
  }

  grpc::ServerUnaryReactor* GetStats(grpc::CallbackServerContext* context,
                                     const witness::v1::GetStatsRequest* request,
                                     witness::v1::GetStatsResponse* response) override {
    auto* reactor = context->DefaultReactor();
    lane_.Run(context, reactor, [this, context, request, response]() -> absl::Status {
      storage::WitnessStatsQuery query{.interval_ms = request->interval_ms(),
                                       .cancelled = [context] { return context->IsCancelled(); }};
      ASSIGN_OR_RETURN(query.filter, ReadFilter(request->filter()));
      ASSIGN_OR_RETURN(const storage::WitnessStats stats, node_.witness->Stats(query));
      WriteStats(stats, response);
      return absl::OkStatus();
    });
    return reactor;
  }

 private:
  absl::Status List(const grpc::CallbackServerContext& context,
                    const witness::v1::ListEntriesRequest& request,
                    const std::vector<float>& similar_to,
                    witness::v1::ListEntriesResponse* response) {
    storage::WitnessQuery query{
        .similar_to = similar_to,
        .embedded_by = std::string(AsText(node_.package_id)),
        .limit = request.page_size() == 0 ? kDefaultPage : request.page_size(),
        .oldest_first = request.oldest_first(),
        .page_token = request.page_token(),
        .cancelled = [&context] { return context.IsCancelled(); }};
    if (node_.embed_response) {
      query.embed = [this](const storage::WitnessEntry& entry) {
        return node_.embed_response(entry.request_id);
      };
    }
    if (request.has_min_similarity()) {
      query.min_similarity = request.min_similarity();
    }
    ASSIGN_OR_RETURN(query.filter, ReadFilter(request.filter()));
    ASSIGN_OR_RETURN(const storage::WitnessPage page, node_.witness->Query(query));
    for (const storage::WitnessHit& hit : page.hits) {
      auto* out = response->add_hits();
      WriteEntry(hit.entry, out->mutable_entry());
      if (hit.similarity) {
        out->set_similarity(*hit.similarity);
      }
    }
    response->set_next_page_token(page.next_page_token);
    response->set_truncated(page.truncated);
    response->set_undecodable(page.undecodable);
    return absl::OkStatus();
  }

  const ServiceDependencies node_;
  QueryLane lane_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeWitnessService(const ServiceDependencies& dependencies) {
  return std::make_unique<WitnessServiceImpl>(dependencies);
}

}  // namespace ruvd::api
