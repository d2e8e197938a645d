// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd pattern export` and `import`.

#include "node/cli/pattern_transfer_verbs.h"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/cli/client.h"
#include "node/cli/command.h"
#include "node/cli/output.h"
#include "node/cli/pattern_file.h"
#include "node/cli/pattern_flags.h"
#include "node/cli/terminal.h"
#include "node/cli/verbs.h"

namespace ruvd {
namespace {

using nlohmann::json;
using pattern::v1::Pattern;
using pattern::v1::UpsertPatternResponse;

constexpr char kGroup[] = "Learning";
constexpr char kStandardOutput[] = "-";
constexpr uint32_t kOwnerOnly = 0600;

struct ExportFlags {
  PatternFlags filter;
  std::string file;
  bool without_adapters = false;
};

absl::Status WriteAll(NodeClient& client, const ExportFlags& flags, PatternFileWriter* writer) {
  pattern::v1::ListPatternsRequest request;
  RETURN_IF_ERROR(flags.filter.Write(request.mutable_filter()));
  request.set_with_embedding(true);
  ASSIGN_OR_RETURN(const auto node, client.GetStatus());
  RETURN_IF_ERROR(writer->Begin({.model_package = node.model_package(),
                                 .model_name = node.model_name(),
                                 .dimension = node.embedding_dimension(),
                                 .node_id = node.node_id(),
                                 .exported_ms = SystemClock().WallMillis()}));
  const auto write = [&](Pattern& listed) -> absl::Status {
    if (flags.without_adapters || listed.adapter_name().empty()) {
      return writer->Add(listed);
    }
    pattern::v1::GetPatternRequest get;
    get.set_id(listed.id());
    get.set_with_embedding(true);
    get.set_with_adapter(true);
    const auto response = client.GetPattern(get);
    if (absl::IsNotFound(response.status())) {
      return absl::OkStatus();  // deleted since it was listed
    }
    RETURN_IF_ERROR(response.status());
    return writer->Add(response->pattern());
  };
  RETURN_IF_ERROR(ForEachPattern(client, request, write));
  return writer->End();
}

absl::Status ExportToFile(NodeClient& client, const ExportFlags& flags, uint64_t* patterns) {
  ASSIGN_OR_RETURN(const auto file, AtomicFile::Create(flags.file, kOwnerOnly));
  PatternFileWriter writer([&](std::string_view bytes) { return file->Append(AsBytes(bytes)); });
  RETURN_IF_ERROR(WriteAll(client, flags, &writer));
  *patterns = writer.patterns();
  return file->Commit();
}

absl::Status Export(CommandContext& context, const ExportFlags& flags) {
  NodeClient client(context.server);
  if (flags.file == kStandardOutput) {
    PatternFileWriter writer([&](std::string_view bytes) {
      context.out << bytes;
      return context.out ? absl::OkStatus()
                         : Error(absl::StatusCode::kUnavailable, reasons::kFileUnwritable,
                                 "standard output was closed before the export ended");
    });
    return WriteAll(client, flags, &writer);
  }
  uint64_t patterns = 0;
  RETURN_IF_ERROR(ExportToFile(client, flags, &patterns));
  if (context.json) {
    context.out << ToJsonLine(json{{"file", flags.file}, {"patterns", patterns}});
    return absl::OkStatus();
  }
  context.out << fmt::format(
      "{} patterns in {}. The file is not encrypted: embeddings and adapters tell much of the "
      "prompts they were learned from. Keep it like these.\n",
      patterns, Printable(flags.file));
  return absl::OkStatus();
}

struct ImportCounts {
  uint64_t created = 0;
  uint64_t replaced = 0;
  uint64_t unchanged = 0;
  uint64_t kept = 0;     // the node's is newer
  uint64_t expired = 0;  // passed over
};

absl::Status OpenExport(const std::string& path, std::ifstream* in) {
  in->open(path, std::ios::binary);
  return in->is_open() ? absl::OkStatus()
                       : Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
                               "{} cannot be read; name a file of `ruvd pattern export`", path);
}

absl::Status Count(UpsertPatternResponse::Outcome outcome, ImportCounts* counts) {
  switch (outcome) {
    case UpsertPatternResponse::OUTCOME_CREATED:
      ++counts->created;
      return absl::OkStatus();
    case UpsertPatternResponse::OUTCOME_REPLACED:
      ++counts->replaced;
      return absl::OkStatus();
    case UpsertPatternResponse::OUTCOME_UNCHANGED:
      ++counts->unchanged;
      return absl::OkStatus();
    case UpsertPatternResponse::OUTCOME_KEPT:
      ++counts->kept;
      return absl::OkStatus();
    default:
      return Error(absl::StatusCode::kInternal, reasons::kInternal,
                   "the node answers with outcome {}, which this ruvd does not know; use the same "
                   "version",
                   static_cast<int>(outcome));
  }
}

// Reads the whole file and compares it with the node; nothing is sent. The number of patterns.
absl::StatusOr<uint64_t> CheckExport(NodeClient& client, const std::string& path) {
  std::ifstream in;
  RETURN_IF_ERROR(OpenExport(path, &in));
  ASSIGN_OR_RETURN(PatternFileReader reader, PatternFileReader::Open(in));
  ASSIGN_OR_RETURN(const auto node, client.GetStatus());
  const PatternFileHeader& header = reader.header();
  if (header.model_package != node.model_package() ||
      header.dimension != node.embedding_dimension()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kModelMismatch,
                 "the patterns are of model {} (package {}, {} values), the node at {} serves {} "
                 "(package {}, {} values); embeddings of different models cannot be compared, so "
                 "nothing was imported",
                 header.model_name, header.model_package, header.dimension, client.server(),
                 node.model_name(), node.model_package(), node.embedding_dimension());
  }
  for (uint64_t patterns = 0;; ++patterns) {
    ASSIGN_OR_RETURN(const auto pattern, reader.Next());
    if (!pattern) {
      return patterns;
    }
  }
}

absl::Status ImportAll(NodeClient& client, const std::string& path, ImportCounts* counts) {
  std::ifstream in;
  RETURN_IF_ERROR(OpenExport(path, &in));
  ASSIGN_OR_RETURN(PatternFileReader reader, PatternFileReader::Open(in));
  const int64_t now = SystemClock().WallMillis();
  for (;;) {
    ASSIGN_OR_RETURN(auto pattern, reader.Next());
    if (!pattern) {
      return absl::OkStatus();
    }
    if (pattern->expires_ms() != 0 && pattern->expires_ms() <= now) {
      ++counts->expired;
      continue;
    }
    pattern::v1::UpsertPatternRequest request;
    *request.mutable_pattern() = *std::move(pattern);
    request.set_model_package(reader.header().model_package);
    request.set_only_if_newer(true);
    const auto response = client.UpsertPattern(request);
    if (!response.ok()) {
      return Annotate(response.status(), fmt::format("{}, line {}", path, reader.line()));
    }
    RETURN_IF_ERROR(Count(response->outcome(), counts));
  }
}

absl::Status Import(CommandContext& context, const std::string& path, bool check_only) {
  NodeClient client(context.server);
  const absl::StatusOr<uint64_t> patterns = CheckExport(client, path);
  if (!patterns.ok()) {
    return Annotate(patterns.status(), path);
  }
  if (check_only) {
    context.out << (context.json ? ToJsonLine(json{{"patterns", *patterns}})
                                 : fmt::format("{} patterns, all as they should be\n", *patterns));
    return absl::OkStatus();
  }
  ImportCounts counts;
  const absl::Status status = ImportAll(client, path, &counts);
  if (context.json) {
    context.out << ToJsonLine(json{{"created", counts.created},
                                   {"replaced", counts.replaced},
                                   {"unchanged", counts.unchanged},
                                   {"kept", counts.kept},
                                   {"expired", counts.expired}});
  } else {
    context.out << fmt::format(
        "{} new, {} replaced, {} unchanged, {} left as they are newer here, {} expired\n",
        counts.created, counts.replaced, counts.unchanged, counts.kept, counts.expired);
  }
  return status.ok() ? status
                     : Annotate(status,
                                "not all were imported; once it is mended, import the "
                                "file again, what is there stays as it is");
}

}  // namespace

void AddPatternTransferVerbs(VerbTable& verbs) {
  auto out = std::make_shared<ExportFlags>();
  CLI::App& save =
      verbs.Add("pattern export", kGroup, "Write patterns to a file, with their adapters",
                [out](CommandContext& context) { return Export(context, *out); });
  save.add_option("file", out->file, "File to write, mode 0600; - is standard output")->required();
  save.add_flag("--without-adapters", out->without_adapters, "Embeddings only: a smaller file");
  out->filter.AddTo(save);

  struct ImportFlags {
    std::string file;
    bool check = false;
  };
  auto in = std::make_shared<ImportFlags>();
  CLI::App& load =
      verbs.Add("pattern import", kGroup, "Store the patterns of an export; again does no harm",
                [in](CommandContext& context) { return Import(context, in->file, in->check); });
  load.add_option("file", in->file, "File of `ruvd pattern export`")->required();
  load.add_flag("--check", in->check, "Check the file and the node's model, store nothing");
}

}  // namespace ruvd
