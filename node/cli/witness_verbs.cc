// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/status.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "ruvd/witness/v1/witness.pb.h"

namespace ruvd::cli {
namespace {

using google::protobuf::util::TimeUtil;
using witness::v1::Entry;

constexpr char kGroup[] = "Learning";

struct FilterFlags {
  std::string since;
  std::optional<float> min_quality;
  std::optional<float> max_quality;
  std::optional<float> slower_ms;
  bool failed = false;
  std::string session;
  std::string error;
};

void AddFilterFlags(Verb verb, FilterFlags* flags) {
  verb.Option("--since", flags->since, "Only requests of the last 90s, 15m, 2h or 7d");
  verb.Option("--min-quality", flags->min_quality, "Only requests rated at least this, 0 to 1");
  verb.Option("--max-quality", flags->max_quality, "Only requests rated at most this, 0 to 1");
  verb.Option("--slower", flags->slower_ms,
              "Only requests that took at least this many milliseconds");
  verb.Switch("--failed", flags->failed, "Only requests that failed");
  verb.Option("--session", flags->session, "Only requests of this session");
  verb.Option("--error", flags->error,
              "Only requests that failed for this reason, for example CONTEXT_TOO_LONG");
}

absl::StatusOr<google::protobuf::Duration> DurationOf(float ms) {
  constexpr float kMostMs = 1e12F;  // thirty years
  if (!(ms >= 0 && ms <= kMostMs)) {
    return UsageError(fmt::format("--slower is {}; give milliseconds from 0 to {:g}", ms, kMostMs));
  }
  return TimeUtil::MicrosecondsToDuration(static_cast<int64_t>(1e3 * double{ms}));
}

absl::Status WriteFilter(const FilterFlags& flags, witness::v1::Filter* filter) {
  if (!flags.since.empty()) {
    ASSIGN_OR_RETURN(const int64_t period, ParsePeriod(flags.since));
    *filter->mutable_from() = ToTimestamp(SystemClock().WallMillis() - period);
  }
  if (flags.min_quality) {
    filter->set_min_quality(*flags.min_quality);
  }
  if (flags.max_quality) {
    filter->set_max_quality(*flags.max_quality);
  }
  if (flags.slower_ms) {
    ASSIGN_OR_RETURN(*filter->mutable_min_total(), DurationOf(*flags.slower_ms));
  }
  if (flags.failed) {
    filter->set_outcome(witness::v1::OUTCOME_FAILED);
  }
  filter->set_session_id(flags.session);
  filter->set_error_reason(flags.error);
  return absl::OkStatus();
}

// Returns how much the memory of lessons took part, "12 % from 20101 tokens".
std::string MemoryShare(const Entry& entry) {
  return entry.memory_tokens() == 0
             ? "-"
             : fmt::format("{:.0f} % from {} tokens", 100 * entry.memory_share(),
                           entry.memory_tokens());
}

std::string Quality(const Entry& entry) {
  return entry.has_quality() ? fmt::format("{:.2f}", entry.quality()) : "-";
}

std::string Outcome(const Entry& entry) {
  return entry.error_reason().empty() ? "ok" : entry.error_reason();
}

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

absl::Status List(CommandContext& context, const FilterFlags& flags,
                  witness::v1::ListEntriesRequest request) {
  RETURN_IF_ERROR(WriteFilter(flags, request.mutable_filter()));
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.Call<witness::v1::ListEntriesResponse>(request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  const bool similar = !request.similar_to().empty();
  std::vector<std::string> header = {"TIME (UTC)", "REQUEST", "SESSION", "MS",
                                     "TOKENS",     "QUALITY", "OUTCOME", "ADAPTERS"};
  if (similar) {
    header.insert(header.begin(), "SIMILARITY");
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& hit : response.hits()) {
    const Entry& entry = hit.entry();
    std::vector<std::string> row = {
        FormatTime(entry.time()),
        entry.request_id(),
        OrDash(entry.session_id()),
        fmt::format("{:.0f}", MillisOf(entry.latency().total())),
        fmt::format("{}", entry.completion_tokens()),
        Quality(entry),
        Outcome(entry),
        OrDash(fmt::format("{}", fmt::join(entry.adapters(), ","))),
    };
    if (similar) {
      row.insert(row.begin(), fmt::format("{:.4f}", hit.similarity()));
    }
    rows.push_back(std::move(row));
  }
  context.out << FormatTable(header, rows);
  if (!response.next_page_token().empty()) {
    context.out << fmt::format("more: --page {}\n", PrintableLine(response.next_page_token()));
  }
  return absl::OkStatus();
}

absl::Status Show(CommandContext& context, const std::string& id) {
  client::NodeClient client(context.server, context.credentials);
  witness::v1::GetEntryRequest request;
  request.set_request_id(id);
  ASSIGN_OR_RETURN(const auto response, client.Call<witness::v1::GetEntryResponse>(request));
  const Entry& entry = response.entry();
  if (context.json) {
    context.out << ToJsonLine(entry);
    return absl::OkStatus();
  }
  const auto& latency = entry.latency();
  context.out << FormatFields({
      {"request", entry.request_id()},
      {"time", FormatTime(entry.time()) + " UTC"},
      {"session", OrDash(entry.session_id())},
      {"model", entry.model()},
      {"outcome", Outcome(entry)},
      {"message", OrDash(entry.error_message())},
      {"quality", Quality(entry)},
      {"tokens", fmt::format("{} in, {} out", entry.prompt_tokens(), entry.completion_tokens())},
      {"sampling", fmt::format("temperature {}, top_p {}", entry.temperature(), entry.top_p())},
      {"route", OrDash(entry.route())},
      {"adapters", OrDash(fmt::format("{}", fmt::join(entry.adapters(), ", ")))},
      {"memory", MemoryShare(entry)},
      {"patterns", OrDash(fmt::format("{}", fmt::join(entry.retrieved_ids(), ", ")))},
      {"total", fmt::format("{:.1f} ms", MillisOf(latency.total()))},
      {"queue", fmt::format("{:.1f} ms", MillisOf(latency.queue()))},
      {"embedding", fmt::format("{:.1f} ms", MillisOf(latency.embedding()))},
      {"retrieval", fmt::format("{:.3f} ms", MillisOf(latency.retrieval()))},
      {"generation", fmt::format("{:.1f} ms", MillisOf(latency.generation()))},
  });
  return absl::OkStatus();
}

std::string Summary(const witness::v1::LatencySummary& summary) {
  return fmt::format("mean {:.0f}, p50 {:.0f}, p90 {:.0f}, p99 {:.0f}, max {:.0f} ms",
                     MillisOf(summary.mean()), MillisOf(summary.p50()), MillisOf(summary.p90()),
                     MillisOf(summary.p99()), MillisOf(summary.max()));
}

// Returns "name 3, name 1", ordered by name, or "none".
template <typename Map>
std::string Counts(const Map& counts) {
  std::string text;
  for (const auto& [name, count] : std::map(counts.begin(), counts.end())) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text.empty() ? "none" : text;
}

absl::Status Stats(CommandContext& context, const FilterFlags& flags, const std::string& interval) {
  witness::v1::GetStatsRequest request;
  RETURN_IF_ERROR(WriteFilter(flags, request.mutable_filter()));
  if (!interval.empty()) {
    ASSIGN_OR_RETURN(const int64_t interval_ms, ParsePeriod(interval));
    *request.mutable_interval() = TimeUtil::MillisecondsToDuration(interval_ms);
  }
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto stats, client.Call<witness::v1::GetStatsResponse>(request));
  if (context.json) {
    context.out << ToJsonLine(stats);
    return absl::OkStatus();
  }
  const double share = stats.entries() == 0 ? 0
                                            : 100.0 * static_cast<double>(stats.failed()) /
                                                  static_cast<double>(stats.entries());
  context.out << FormatFields({
      {"requests",
       fmt::format(
           "{}{}{}", stats.entries(), stats.truncated() ? " and more" : "",
           stats.undecodable() > 0 ? fmt::format("; {} unreadable", stats.undecodable()) : "")},
      {"failed", fmt::format("{} ({:.1f} %): {}", stats.failed(), share, Counts(stats.by_error()))},
      {"rated", stats.rated() == 0
                    ? "none"
                    : fmt::format("{}, mean quality {:.3f}", stats.rated(), stats.mean_quality())},
      {"total", Summary(stats.total())},
      {"generation", Summary(stats.generation())},
      {"models", Counts(stats.by_model())},
  });
  if (stats.intervals().empty()) {
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& part : stats.intervals()) {
    rows.push_back({FormatTime(part.start_time()), fmt::format("{}", part.entries()),
                    fmt::format("{}", part.failed()), fmt::format("{}", part.rated()),
                    part.rated() == 0 ? "-" : fmt::format("{:.3f}", part.mean_quality())});
  }
  context.out << "\n"
              << FormatTable({"FROM (UTC)", "REQUESTS", "FAILED", "RATED", "QUALITY"}, rows);
  return absl::OkStatus();
}

void AddListVerb(VerbTable& verbs) {
  struct Flags {
    FilterFlags filter;
    uint32_t limit = 20;
    std::string page;
    std::string similar;
    bool oldest_first = false;
  };
  auto flags = std::make_shared<Flags>();
  Verb list = verbs.Add("witness ls", kGroup, "List past requests, newest first",
                        [flags](CommandContext& c) {
                          witness::v1::ListEntriesRequest request;
                          request.set_page_size(flags->limit);
                          request.set_page_token(flags->page);
                          request.set_similar_to(flags->similar);
                          request.set_oldest_first(flags->oldest_first);
                          return List(c, flags->filter, request);
                        });
  AddFilterFlags(list, &flags->filter);
  list.Option("--limit", flags->limit, "Most entries to list").ShowDefault();
  list.Option("--page", flags->page, "Page token of an earlier list, to continue it");
  list.Option("--similar", flags->similar,
              "List the requests whose prompts are most similar to this text");
  list.Switch("--oldest-first", flags->oldest_first, "List the oldest requests first");
}

}  // namespace

void AddWitnessVerbs(VerbTable& verbs) {
  AddListVerb(verbs);
  auto id = std::make_shared<std::string>();
  verbs
      .Add("witness show", kGroup, "Show what one request did",
           [id](CommandContext& context) { return Show(context, *id); })
      .Option("id", *id, "Response id")
      .Required();
  struct Flags {
    FilterFlags filter;
    std::string interval;
  };
  auto flags = std::make_shared<Flags>();
  Verb stats = verbs.Add(
      "witness stats", kGroup, "Show counts, latencies and quality of requests",
      [flags](CommandContext& context) { return Stats(context, flags->filter, flags->interval); });
  AddFilterFlags(stats, &flags->filter);
  stats.Option("--interval", flags->interval, "Show the trend too, in steps of 15m, 1h or 1d");
}

}  // namespace ruvd::cli
