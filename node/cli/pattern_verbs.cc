// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <memory>

#include "base/status.h"
#include "node/cli/client.h"
#include "node/cli/command.h"
#include "node/cli/output.h"
#include "node/cli/sharing_tier.h"
#include "node/cli/terminal.h"
#include "node/cli/verbs.h"

namespace ruvd {
namespace {

using pattern::v1::Pattern;

constexpr char kGroup[] = "Learning";

std::string ShortId(const std::string& id) {
  return id.substr(0, 12);
}

std::string Adapter(const Pattern& pattern) {
  return pattern.adapter_name().empty()
             ? "-"
             : fmt::format("{}@{}", pattern.adapter_name(), pattern.adapter_version());
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
          Adapter(pattern)};
}

const std::vector<std::string>& Header() {
  static const auto* const header = new std::vector<std::string>{
      "ID", "BANK", "TASK", "QUALITY", "USES", "EXAMPLES", "TIER", "ORIGIN", "ADAPTER"};
  return *header;
}

absl::Status List(CommandContext& context) {
  NodeClient client(context.server);
  ASSIGN_OR_RETURN(const auto patterns, AllPatterns(client));
  if (context.json) {
    pattern::v1::ListPatternsResponse response;
    response.mutable_patterns()->Add(patterns.begin(), patterns.end());
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  rows.reserve(patterns.size());
  for (const Pattern& pattern : patterns) {
    rows.push_back(Row(pattern));
  }
  context.out << FormatTable(Header(), rows);
  return absl::OkStatus();
}

absl::Status Show(CommandContext& context, const std::string& id) {
  NodeClient client(context.server);
  pattern::v1::GetPatternRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(const auto response, client.GetPattern(request));
  const Pattern& pattern = response.pattern();
  if (context.json) {
    context.out << ToJsonLine(pattern);
    return absl::OkStatus();
  }
  const std::time_t created = pattern.created_ms() / 1000;
  context.out << FormatFields({
      {"id", pattern.id()},
      {"task", pattern.task()},
      {"bank", fmt::format("{}", pattern.bank())},
      {"quality", fmt::format("{:.3f}", pattern.quality())},
      {"uses", fmt::format("{}", pattern.uses())},
      {"examples", fmt::format("{}", pattern.examples())},
      {"tier", TierLabel(pattern.tier())},
      {"origin", pattern.origin()},
      {"created", fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(created))},
      {"adapter", Adapter(pattern)},
      {"dimension", fmt::format("{}", pattern.dimension())},
  });
  return absl::OkStatus();
}

absl::Status Search(CommandContext& context, const std::string& text, uint32_t k) {
  NodeClient client(context.server);
  pattern::v1::SearchPatternsRequest request;
  request.set_text(text);
  request.set_k(k);
  ASSIGN_OR_RETURN(const auto response, client.SearchPatterns(request));
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

absl::Status Remove(CommandContext& context, const std::string& id) {
  NodeClient client(context.server);
  pattern::v1::DeletePatternRequest request;
  request.set_id(id);
  RETURN_IF_ERROR(client.DeletePattern(request).status());
  context.out << (context.json ? "{}\n" : fmt::format("deleted {}\n", Printable(id)));
  return absl::OkStatus();
}

}  // namespace

void AddPatternVerbs(VerbTable& verbs) {
  verbs.Add("pattern ls", kGroup, "What the node remembers", List);

  auto id = std::make_shared<std::string>();
  verbs
      .Add("pattern show", kGroup, "One pattern",
           [id](CommandContext& context) { return Show(context, *id); })
      .add_option("id", *id, "32 hexadecimal characters")
      ->required();
  verbs
      .Add("pattern rm", kGroup, "Forget a pattern",
           [id](CommandContext& context) { return Remove(context, *id); })
      .add_option("id", *id, "32 hexadecimal characters")
      ->required();

  struct Flags {
    std::string text;
    uint32_t k = 10;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App& search = verbs.Add(
      "pattern search", kGroup, "Patterns near a text",
      [flags](CommandContext& context) { return Search(context, flags->text, flags->k); });
  search.add_option("text", flags->text, "Text to compare with")->required();
  search.add_option("--k", flags->k, "Hits at most")->capture_default_str();
}

}  // namespace ruvd
