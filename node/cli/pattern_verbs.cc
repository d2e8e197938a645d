// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/status.h"
#include "node/cli/pattern_flags.h"
#include "node/cli/pattern_transfer_verbs.h"
#include "node/cli/sharing_tier.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/client/pages.h"
#include "node/terminal/command.h"
#include "node/terminal/enum_name.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

using pattern::v1::ListPatternsResponse;
using pattern::v1::Pattern;
using pattern::v1::WatchPatternsResponse;

constexpr char kPatternGroup[] = "Learning";

std::string ShortId(const std::string& id) {
  return id.substr(0, 12);
}

std::string Adapter(const Pattern& pattern) {
  return pattern.adapter_name().empty()
             ? "-"
             : fmt::format("{}@{}", pattern.adapter_name(), pattern.adapter_version());
}

const char* StandingLabel(pattern::v1::PatternStanding standing) {
  switch (standing) {
    case pattern::v1::PATTERN_STANDING_TRIAL:
      return "on trial";
    case pattern::v1::PATTERN_STANDING_LESSONS_WORSE:
      return "refused: own lessons got worse";
    case pattern::v1::PATTERN_STANDING_GENERAL_TEXT_WORSE:
      return "refused: general text got worse";
    case pattern::v1::PATTERN_STANDING_UNUSABLE:
      return "refused: its adapter does not fit";
    case pattern::v1::PATTERN_STANDING_RATED_BADLY:
      return "dropped: rated badly";
    case pattern::v1::PATTERN_STANDING_NO_ADAPTER:
      return "has no adapter";
    default:
      return "serves";
  }
}

std::vector<std::string> Row(const Pattern& pattern) {
  return {pattern.id(),
          fmt::format("{}", pattern.bank()),
          pattern.task().empty() ? "-" : pattern.task(),
          fmt::format("{:.2f}", pattern.quality()),
          fmt::format("{}", pattern.uses()),
          fmt::format("{}", pattern.examples()),
          TierLabel(pattern.tier()),
          ShortId(pattern.origin()),
          StandingLabel(pattern.standing()),
          Adapter(pattern)};
}

const std::vector<std::string>& Header() {
  static const auto* const header = new std::vector<std::string>{
      "ID", "BANK", "TASK", "QUALITY", "USES", "EXAMPLES", "TIER", "ORIGIN", "STANDING", "ADAPTER"};
  return *header;
}

struct ListFlags {
  PatternFlags filter;
  uint32_t limit = 0;  // 0: all
  std::string page;
};

// Returns at most `limit` patterns, and the page token of the patterns after them.
absl::StatusOr<ListPatternsResponse> Collect(client::NodeClient& client, const ListFlags& flags) {
  pattern::v1::ListPatternsRequest request;
  RETURN_IF_ERROR(flags.filter.Write(request.mutable_filter()));
  request.set_page_token(flags.page);
  if (flags.limit == 0) {
    return client::AllPages<ListPatternsResponse>(client, request);
  }
  return client::FirstItems<ListPatternsResponse>(client, request, flags.limit,
                                                  &ListPatternsResponse::patterns_size);
}

absl::Status List(CommandContext& context, const ListFlags& flags) {
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, Collect(client, flags));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  rows.reserve(static_cast<size_t>(response.patterns_size()));
  for (const Pattern& pattern : response.patterns()) {
    rows.push_back(Row(pattern));
  }
  context.out << FormatTable(Header(), rows);
  if (!response.next_page_token().empty()) {
    context.out << fmt::format("more: --page {}\n", PrintableLine(response.next_page_token()));
  }
  return absl::OkStatus();
}

absl::Status Show(CommandContext& context, const std::string& id, bool embedding) {
  client::NodeClient client(context.server, context.credentials);
  pattern::v1::GetPatternRequest request;
  request.set_id(id);
  request.set_with_embedding(embedding);
  ASSIGN_OR_RETURN(const auto response, client.Call<pattern::v1::GetPatternResponse>(request));
  const Pattern& pattern = response.pattern();
  if (context.json) {
    context.out << ToJsonLine(pattern);
    return absl::OkStatus();
  }
  context.out << FormatFields({
      {"id", pattern.id()},
      {"task", pattern.task()},
      {"bank", fmt::format("{}", pattern.bank())},
      {"quality", fmt::format("{:.3f}", pattern.quality())},
      {"uses", fmt::format("{}", pattern.uses())},
      {"last used", TimeLabel(pattern.last_use_time(), "never")},
      {"examples", fmt::format("{}", pattern.examples())},
      {"tier", TierLabel(pattern.tier())},
      {"origin", pattern.origin()},
      {"standing", StandingLabel(pattern.standing())},
      {"created", TimeLabel(pattern.create_time(), "-")},
      {"updated", TimeLabel(pattern.update_time(), "-")},
      {"expires", TimeLabel(pattern.expire_time(), "never")},
      {"adapter", Adapter(pattern)},
      {"dimension", fmt::format("{}", pattern.dimension())},
  });
  if (embedding) {
    context.out << fmt::format("embedding  {:.6g}\n", fmt::join(pattern.embedding().values(), " "));
  }
  return absl::OkStatus();
}

struct SearchFlags {
  PatternFlags filter;
  std::string text;
  uint32_t k = 10;
  std::optional<uint32_t> ef;
  std::optional<float> min_similarity;
};

absl::Status Search(CommandContext& context, const SearchFlags& flags) {
  pattern::v1::SearchPatternsRequest request;
  request.set_text(flags.text);
  request.set_k(flags.k);
  if (flags.ef) {
    request.set_ef(*flags.ef);
  }
  RETURN_IF_ERROR(flags.filter.Write(request.mutable_filter()));
  if (flags.min_similarity) {
    request.set_min_similarity(*flags.min_similarity);
  }
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.Call<pattern::v1::SearchPatternsResponse>(request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  std::vector<std::string> header = {"SIMILARITY"};
  header.insert(header.end(), Header().begin(), Header().end());
  std::vector<std::vector<std::string>> rows;
  rows.reserve(static_cast<size_t>(response.hits_size()));
  for (const auto& hit : response.hits()) {
    std::vector<std::string> row = {fmt::format("{:.4f}", hit.similarity())};
    for (std::string& cell : Row(hit.pattern())) {
      row.push_back(std::move(cell));
    }
    rows.push_back(std::move(row));
  }
  context.out << FormatTable(header, rows);
  return absl::OkStatus();
}

// A missing pattern does not stop the others from being deleted. Every deletion is printed; the
// first error is returned.
absl::Status Remove(CommandContext& context, const std::vector<std::string>& ids) {
  client::NodeClient client(context.server, context.credentials);
  absl::Status first;
  report::v1::DeleteReport report;
  for (const std::string& id : ids) {
    pattern::v1::DeletePatternRequest request;
    request.set_id(id);
    if (const absl::Status status =
            client.Call<pattern::v1::DeletePatternResponse>(request).status();
        status.ok()) {
      report.add_deleted(id);
      context.out << (context.json ? "" : fmt::format("deleted {}\n", PrintableLine(id)));
    } else if (absl::IsUnavailable(status)) {
      first = status;
      break;
    } else {
      first.Update(status);
    }
  }
  if (context.json) {
    context.out << ToJsonLine(report);
  }
  return first;
}

struct WatchFlags {
  std::optional<uint64_t> after;
  std::optional<std::string> log;
  uint64_t count = 0;
};

std::string LineOf(const WatchPatternsResponse& event) {
  if (event.has_started()) {
    return fmt::format("watching behind change {} of log {}\n", event.started().sequence(),
                       PrintableLine(event.started().log_id()));
  }
  const WatchPatternsResponse::Change& change = event.change();
  std::string about;
  if (change.has_pattern()) {
    const Pattern& pattern = change.pattern();
    about =
        fmt::format("  task {}  quality {:.2f}  tier {}  adapter {}",
                    pattern.task().empty() ? "-" : PrintableLine(pattern.task()), pattern.quality(),
                    TierLabel(pattern.tier()), PrintableLine(Adapter(pattern)));
  }
  return fmt::format("{}  {}  {:<6}  {}{}\n", change.sequence(), FormatTime(change.time()),
                     EnumName(change.kind()), PrintableLine(change.id()), about);
}

// Prints one line for each change and flushes it, because the reader follows live.
absl::Status Watch(CommandContext& context, const WatchFlags& flags) {
  pattern::v1::WatchPatternsRequest request;
  if (flags.after) {
    request.set_after_sequence(*flags.after);
  }
  request.set_log_id(flags.log.value_or(""));
  const uint64_t count = flags.count;
  uint64_t seen = 0;
  client::NodeClient client(context.server, context.credentials);
  return client.WatchPatterns(request, [&](const WatchPatternsResponse& event) {
    context.out << (context.json ? ToJsonLine(event) : LineOf(event)) << std::flush;
    seen += event.has_change() ? 1 : 0;
    return count == 0 || seen < count;
  });
}

void AddListVerb(VerbTable& verbs) {
  auto flags = std::make_shared<ListFlags>();
  Verb list = verbs.Add("pattern ls", kPatternGroup, "List the patterns of the node",
                        [flags](CommandContext& context) { return List(context, *flags); });
  flags->filter.AddTo(list);
  list.Option("--limit", flags->limit, "Most patterns to list; 0 lists all").ShowDefault();
  list.Option("--page", flags->page, "Page token of an earlier list, to continue it");
}

void AddSearchVerb(VerbTable& verbs) {
  auto flags = std::make_shared<SearchFlags>();
  Verb search = verbs.Add("pattern search", kPatternGroup, "Find the patterns nearest to a text",
                          [flags](CommandContext& context) { return Search(context, *flags); });
  search.Option("text", flags->text, "Text to compare with").Required();
  search.Option("--k", flags->k, "Most hits").ShowDefault();
  search.Option(
      "--ef", flags->ef,
      "Breadth of the HNSW search; a larger value misses fewer patterns; default: the index's");
  search.Option("--min-similarity", flags->min_similarity, "Lowest cosine similarity of a hit");
  flags->filter.AddTo(search);
}

void AddWatchVerb(VerbTable& verbs) {
  auto flags = std::make_shared<WatchFlags>();
  Verb watch = verbs.Add("pattern watch", kPatternGroup, "Follow changes of patterns, until Ctrl-C",
                         [flags](CommandContext& context) { return Watch(context, *flags); });
  const Flag after =
      watch.Option("--after", flags->after,
                   "Start after this change number; 0 starts at the beginning of the log");
  watch
      .Option("--log", flags->log,
              "Log id that --after belongs to; the call fails if the node has another log, as "
              "after a restore")
      .Needs(after);
  watch.Option("--count", flags->count, "Stop after this many changes");
}

}  // namespace

void AddPatternVerbs(VerbTable& verbs) {
  AddListVerb(verbs);
  struct ShowFlags {
    std::string id;
    bool embedding = false;
  };
  auto shown = std::make_shared<ShowFlags>();
  Verb show = verbs.Add(
      "pattern show", kPatternGroup, "Show one pattern",
      [shown](CommandContext& context) { return Show(context, shown->id, shown->embedding); });
  show.Option("id", shown->id, "Id of the pattern, 32 hexadecimal characters").Required();
  show.Switch("--embedding", shown->embedding, "Show the values of its embedding");

  auto ids = std::make_shared<std::vector<std::string>>();
  verbs
      .Add("pattern rm", kPatternGroup, "Delete patterns",
           [ids](CommandContext& context) { return Remove(context, *ids); })
      .Option("id", *ids, "Ids of the patterns, 32 hexadecimal characters each")
      .Required();
  AddSearchVerb(verbs);
  AddWatchVerb(verbs);
  AddPatternTransferVerbs(verbs);
}

}  // namespace ruvd::cli
