// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <functional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "node/api/bad_request.h"
#include "node/api/callers.h"
#include "node/api/message_times.h"
#include "node/api/messages.h"
#include "node/api/pages.h"
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
      return BadField("filter.min_quality",
                      "filter.min_quality is {} and max_quality is {}; both must be from 0 to 1",
                      message.min_quality(), message.max_quality());
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSimilar(const witness::v1::ListEntriesRequest& request) {
  if (request.similar_to().empty() && request.has_min_similarity()) {
    return BadField("min_similarity",
                    "min_similarity is set, but similar_to is not; set both or neither");
  }
  if (!request.similar_to().empty() && request.oldest_first()) {
    return BadField("oldest_first",
                    "oldest_first and similar_to are set, but the most similar come first; set one "
                    "of them");
  }
  return absl::OkStatus();
}

absl::StatusOr<storage::WitnessFilter> ReadFilter(const witness::v1::Filter& message) {
  RETURN_IF_ERROR(CheckNumbers(message));
  storage::WitnessFilter filter{.session_id = message.session_id(),
                                .model = message.model(),
                                .error_reason = message.error_reason()};
  const auto read = [](bool set, auto value, auto* out) {
    if (set) {
      *out = value;
    }
  };
  if (message.has_from()) {
    ASSIGN_OR_RETURN(filter.from_ms, ReadTime("filter.from", message.from()));
  }
  if (message.has_to()) {
    ASSIGN_OR_RETURN(filter.to_ms, ReadTime("filter.to", message.to()));
  }
  if (message.has_min_total()) {
    ASSIGN_OR_RETURN(filter.min_total_ms, ReadDuration("filter.min_total", message.min_total()));
  }
  if (message.has_max_total()) {
    ASSIGN_OR_RETURN(filter.max_total_ms, ReadDuration("filter.max_total", message.max_total()));
  }
  read(message.has_min_quality(), message.min_quality(), &filter.min_quality);
  read(message.has_max_quality(), message.max_quality(), &filter.max_quality);
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
      return BadField("filter.outcome",
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
  *latency->mutable_queue() = MillisToDuration(entry.latency.queue_ms);
  *latency->mutable_embedding() = MillisToDuration(entry.latency.embedding_ms);
  *latency->mutable_retrieval() = MillisToDuration(entry.latency.retrieval_ms);
  *latency->mutable_routing() = MillisToDuration(entry.latency.routing_ms);
  *latency->mutable_attention() = MillisToDuration(entry.latency.attention_ms);
  *latency->mutable_generation() = MillisToDuration(entry.latency.generation_ms);
  *latency->mutable_total() = MillisToDuration(entry.latency.total_ms);
  for (const storage::RetrievedId& id : entry.retrieved_ids) {
    message->add_retrieved_ids(ToHex(id));
  }
  for (const std::string& adapter : entry.adapters) {
    message->add_adapters(adapter);
  }
  *message->mutable_time() = ToTimestamp(entry.timestamp_ms);
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
  *message->mutable_mean() = MillisToDuration(summary.mean_ms);
  *message->mutable_p50() = MillisToDuration(summary.p50_ms);
  *message->mutable_p90() = MillisToDuration(summary.p90_ms);
  *message->mutable_p99() = MillisToDuration(summary.p99_ms);
  *message->mutable_max() = MillisToDuration(summary.max_ms);
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
    *out->mutable_start_time() = ToTimestamp(interval.start_ms);
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
      storage::WitnessStatsQuery query{.cancelled = [context] { return context->IsCancelled(); }};
      ASSIGN_OR_RETURN(query.filter, ReadFilter(request->filter()));
      if (request->has_interval()) {
        ASSIGN_OR_RETURN(query.interval_ms, ReadDuration("interval", request->interval()));
        RETURN_IF_ERROR(CheckNotZero("interval", true, query.interval_ms));
      }
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
        .limit = PageSize(request.page_size(), kDefaultPage, limits::kMaxPageItems),
        .oldest_first = request.oldest_first(),
        .cancelled = [&context] { return context.IsCancelled(); }};
    if (node_.embed_response) {
      query.embed = [this](const storage::WitnessEntry& entry) {
        return node_.embed_response(entry.request_id);
      };
    }
    if (!request.page_token().empty()) {
      ASSIGN_OR_RETURN(query.page_token, ReadPageToken(request.page_token()));
    }
    if (request.has_min_similarity()) {
      query.min_similarity = request.min_similarity();
    }
    ASSIGN_OR_RETURN(query.filter, ReadFilter(request.filter()));
    const absl::StatusOr<storage::WitnessPage> page = node_.witness->Query(query);
    if (absl::IsInvalidArgument(page.status()) && !request.page_token().empty() &&
        similar_to.empty()) {
      return StalePageToken(request.page_token());
    }
    RETURN_IF_ERROR(page.status());
    for (const storage::WitnessHit& hit : page->hits) {
      auto* out = response->add_hits();
      WriteEntry(hit.entry, out->mutable_entry());
      if (hit.similarity) {
        out->set_similarity(*hit.similarity);
      }
    }
    if (!page->next_page_token.empty()) {
      response->set_next_page_token(PageToken(page->next_page_token));
    }
    response->set_truncated(page->truncated);
    response->set_undecodable(page->undecodable);
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
