// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd pattern export` and `import`.

#include "node/cli/pattern_transfer_verbs.h"

#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/cli/pattern_file.h"
#include "node/cli/pattern_flags.h"
#include "node/cli/pattern_import.h"
#include "node/cli/verbs.h"
#include "node/client/busy.h"
#include "node/client/client.h"
#include "node/client/pages.h"
#include "node/client/rpc_error.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "ruvd/pattern/v1/pattern_file.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

using pattern::v1::Pattern;

constexpr char kGroup[] = "Learning";
constexpr char kStandardOutput[] = "-";
constexpr uint32_t kOwnerOnly = 0600;

struct ExportFlags {
  PatternFlags filter;
  std::string file;
  bool without_adapters = false;
};

// Patterns that are left out because the node cannot read them, or because their adapters are in a
// frame that it does not have.
struct LeftOut {
  uint64_t damaged = 0;
  uint64_t of_other_frame = 0;
};

pattern::v1::PatternFileHeader HeaderOf(const node::v1::GetStatusResponse& status,
                                        const ExportFlags& flags) {
  pattern::v1::PatternFileHeader header;
  header.set_model_package(status.node().model_package());
  header.set_model_name(status.node().model());
  header.set_dimension(status.node().embedding_dimension());
  header.set_node_id(status.node().id());
  *header.mutable_export_time() = ToTimestamp(SystemClock().WallMillis());
  header.set_without_adapters(flags.without_adapters);
  return header;
}

// Writes a pattern that the node listed with its embedding, unless it is to be left out.
absl::Status WritePattern(client::NodeClient& client, const ExportFlags& flags,
                          const Pattern& listed, PatternFileWriter* writer, LeftOut* left_out) {
  // What is on trial or was refused is of no use to another node, which would not try it again.
  if (listed.standing() != pattern::v1::PATTERN_STANDING_OWN &&
      listed.standing() != pattern::v1::PATTERN_STANDING_SERVING &&
      listed.standing() != pattern::v1::PATTERN_STANDING_NO_ADAPTER) {
    return absl::OkStatus();
  }
  if (flags.without_adapters || listed.adapter_name().empty()) {
    return writer->Add(listed, "");
  }
  const absl::StatusOr<client::ExportedPattern> exported =
      client::RetryWhileBusy([&] { return client.ExportPattern(listed.id()); });
  if (absl::IsNotFound(exported.status())) {
    return absl::OkStatus();  // deleted since it was listed
  }
  if (client::IsDamaged(exported.status())) {
    ++left_out->damaged;
    return absl::OkStatus();
  }
  if (ReasonOf(exported.status()) == reasons::kFrameMismatch) {
    ++left_out->of_other_frame;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(exported.status());
  return writer->Add(exported->pattern, exported->adapter);
}

absl::Status WriteAll(client::NodeClient& client, const ExportFlags& flags,
                      PatternFileWriter* writer, LeftOut* left_out) {
  pattern::v1::ListPatternsRequest request;
  RETURN_IF_ERROR(flags.filter.Write(request.mutable_filter()));
  request.set_with_embedding(true);
  ASSIGN_OR_RETURN(const auto node,
                   client.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()));
  RETURN_IF_ERROR(writer->Begin(HeaderOf(node, flags)));
  const auto write_page = [&](const pattern::v1::ListPatternsResponse& page) -> absl::Status {
    for (const Pattern& listed : page.patterns()) {
      RETURN_IF_ERROR(WritePattern(client, flags, listed, writer, left_out));
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(
      client::ForEachPage<pattern::v1::ListPatternsResponse>(client, request, write_page));
  return writer->End();
}

absl::Status ExportToFile(client::NodeClient& client, const ExportFlags& flags, uint64_t* patterns,
                          LeftOut* left_out) {
  ASSIGN_OR_RETURN(const auto file, AtomicFile::Create(flags.file, kOwnerOnly));
  PatternFileWriter writer([&](std::string_view bytes) { return file->Append(AsBytes(bytes)); });
  RETURN_IF_ERROR(WriteAll(client, flags, &writer, left_out));
  *patterns = writer.patterns();
  return file->Commit();
}

// Writes to stderr, because the export itself may go to standard output.
void TellLeftOut(CommandContext& context, const LeftOut& left_out) {
  if (left_out.of_other_frame > 0) {
    context.err << fmt::format(
        "{} patterns were left out, because their adapters are in another adapter frame than the "
        "node's; export them with that frame beside the model, or without adapters\n",
        left_out.of_other_frame);
  }
  if (left_out.damaged > 0) {
    context.err << fmt::format(
        "{} patterns are damaged and were left out; `ruvd store verify` names them; remove them "
        "with `ruvd pattern rm` or replace them by importing an earlier export\n",
        left_out.damaged);
  }
}

absl::Status Export(CommandContext& context, const ExportFlags& flags) {
  client::NodeClient client(context.server, context.credentials);
  LeftOut left_out;
  if (flags.file == kStandardOutput) {
    const auto state = [&] {
      return context.out ? absl::OkStatus()
                         : Error(absl::StatusCode::kUnavailable, reasons::kFileUnwritable,
                                 "standard output was closed, or its disk is full, before the "
                                 "export ended; export again");
    };
    PatternFileWriter writer([&](std::string_view bytes) {
      context.out << bytes;
      return state();
    });
    RETURN_IF_ERROR(WriteAll(client, flags, &writer, &left_out));
    TellLeftOut(context, left_out);
    context.out << std::flush;  // the disk may be full when the rest of the buffer is written
    return state();
  }
  uint64_t patterns = 0;
  RETURN_IF_ERROR(ExportToFile(client, flags, &patterns, &left_out));
  TellLeftOut(context, left_out);
  if (context.json) {
    report::v1::PatternFileReport report;
    report.set_file(flags.file);
    report.set_patterns(patterns);
    report.set_damaged(left_out.damaged + left_out.of_other_frame);
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out << fmt::format(
      "{} patterns in {}. The file is not encrypted, and embeddings and adapters reveal much about "
      "the prompts that they were learned from: protect it as you protect the prompts.\n",
      patterns, Printable(flags.file));
  return absl::OkStatus();
}

}  // namespace

void AddPatternTransferVerbs(VerbTable& verbs) {
  auto out = std::make_shared<ExportFlags>();
  Verb save = verbs.Add("pattern export", kGroup, "Write patterns and their adapters to a file",
                        [out](CommandContext& context) { return Export(context, *out); });
  save.Option("file", out->file, "File to write, mode 0600; - is standard output").Required();
  save.Switch("--without-adapters", out->without_adapters,
              "Leave adapters out, for a smaller file");
  out->filter.AddTo(save);

  struct ImportFlags {
    std::string file;
    bool check = false;
  };
  auto in = std::make_shared<ImportFlags>();
  Verb load = verbs.Add(
      "pattern import", kGroup, "Import the patterns of a file; importing it twice does no harm",
      [in](CommandContext& context) { return ImportPatterns(context, in->file, in->check); });
  load.Option("file", in->file, "File of `ruvd pattern export`").Required();
  load.Switch("--check", in->check, "Only check the file against the node's model; store nothing");
}

}  // namespace ruvd::cli
