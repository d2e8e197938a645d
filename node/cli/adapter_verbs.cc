// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd adapter`: the adapters of a running node that requests may choose.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "node/cli/adapter_ref.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/client/pages.h"
#include "node/limits.h"
#include "node/terminal/command.h"
#include "node/terminal/enum_name.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "ruvd/adapter/v1/adapter.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

using adapter::v1::Adapter;

constexpr char kGroup[] = "Adapters";
constexpr char kRefHelp[] = "NAME or NAME@VERSION; without a version, the served version is meant";

std::string Label(const Adapter& adapter) {
  return fmt::format("{}@{}", adapter.name(), adapter.version());
}

std::string MiB(uint64_t bytes) {
  return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string Flags(const Adapter& adapter) {
  std::string flags = adapter.hot() ? "hot" : "cold";
  flags += adapter.served() ? " served" : "";
  flags += adapter.pinned() ? " pinned" : "";
  return flags;
}

// Returns the name of a value with hyphens, "micro-lora".
template <typename E>
std::string Hyphenated(E value) {
  std::string name = EnumName(value);
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string KindOf(const Adapter& adapter) {
  const std::string kind = Hyphenated(adapter.kind());
  return adapter.has_banks()
             ? fmt::format("{} x {} banks", kind, adapter.banks().boundaries_size() + 1)
             : kind;
}

// Returns the weight in requests that choose nothing, and whether words decide there.
std::string Weight(const Adapter& adapter) {
  return fmt::format("{:g}{}", adapter.weight(), adapter.by_words() ? " by words" : "");
}

// Prints an adapter after a change: one line, or the message as JSON.
absl::Status Say(CommandContext& context, const char* what, const Adapter& adapter) {
  context.out << (context.json ? ToJsonLine(adapter)
                               : fmt::format("{} {}: {}, {}\n", what, PrintableLine(Label(adapter)),
                                             Flags(adapter), MiB(adapter.bytes())));
  return absl::OkStatus();
}

absl::Status List(CommandContext& context, const std::string& name) {
  client::NodeClient client(context.server, context.credentials);
  adapter::v1::ListAdaptersRequest request;
  request.set_name(name);
  ASSIGN_OR_RETURN(const auto response,
                   client::AllPages<adapter::v1::ListAdaptersResponse>(client, request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  for (const Adapter& adapter : response.adapters()) {
    rows.push_back({Label(adapter), KindOf(adapter), Weight(adapter), Flags(adapter),
                    MiB(adapter.bytes()), fmt::format("{}", adapter.uses()),
                    EnumName(adapter.source())});
  }
  context.out << FormatTable({"ADAPTER", "KIND", "WEIGHT", "STATE", "SIZE", "USES", "SOURCE"}, rows)
              << fmt::format("in memory: {} of {}\n", MiB(response.hot_bytes()),
                             MiB(response.budget_bytes()));
  return absl::OkStatus();
}

absl::Status Show(CommandContext& context, const std::string& text) {
  adapter::v1::GetAdapterRequest request;
  RETURN_IF_ERROR(ReadAdapterRef(text, request.mutable_adapter()));
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.Call<adapter::v1::GetAdapterResponse>(request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  const Adapter& adapter = response.adapter();
  std::vector<std::pair<std::string, std::string>> fields = {
      {"adapter", Label(adapter)},
      {"id", adapter.id()},
      {"kind", Hyphenated(adapter.kind())},
      {"rank", fmt::format("{}", adapter.rank())},
      {"targets", fmt::format("{}", adapter.targets())},
      {"size", MiB(adapter.bytes())},
      {"state", Flags(adapter)},
      {"weight", Weight(adapter)},
      {"uses", fmt::format("{}", adapter.uses())},
      {"source", EnumName(adapter.source())},
      {"file", adapter.path()}};
  if (!adapter.frame_id().empty()) {
    fields.emplace_back("frame", adapter.frame_id());
  }
  if (adapter.has_banks()) {
    fields.emplace_back("strategy", Hyphenated(adapter.banks().strategy()));
    fields.emplace_back("boundaries",
                        fmt::format("{:g}", fmt::join(adapter.banks().boundaries(), " ")));
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& target : response.targets()) {
    rows.push_back({target.part().empty() ? "-" : target.part(), target.tensor(),
                    fmt::format("{}", target.rank()),
                    fmt::format("{} x {}", target.out(), target.in()),
                    fmt::format("{:.4g}", target.norm())});
  }
  context.out << FormatFields(fields) << "\n"
              << FormatTable({"PART", "TENSOR", "RANK", "SHAPE", "NORM"}, rows);
  return absl::OkStatus();
}

absl::Status Diff(CommandContext& context, const std::string& a, const std::string& b) {
  adapter::v1::DiffAdaptersRequest request;
  RETURN_IF_ERROR(ReadAdapterRef(a, request.mutable_a()));
  RETURN_IF_ERROR(ReadAdapterRef(b, request.mutable_b()));
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.Call<adapter::v1::DiffAdaptersResponse>(request));
  if (context.json) {
    context.out << ToJsonLine(response);
    return absl::OkStatus();
  }
  if (response.equal()) {
    context.out << "equal\n";
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& target : response.targets()) {
    rows.push_back({target.part().empty() ? "-" : target.part(), target.tensor(),
                    fmt::format("{:.4g}", target.norm_a()), fmt::format("{:.4g}", target.norm_b()),
                    fmt::format("{:.4g}", target.distance()),
                    fmt::format("{:.3f}", target.cosine())});
  }
  context.out << FormatTable({"PART", "TENSOR", "NORM A", "NORM B", "DISTANCE", "COSINE"}, rows);
  return absl::OkStatus();
}

struct FileFlags {
  std::string file;
  std::optional<float> weight;
};

absl::Status Load(CommandContext& context, const FileFlags& flags) {
  adapter::v1::LoadAdapterRequest request;
  request.set_path(flags.file);
  if (flags.weight) {
    request.set_weight(*flags.weight);
  }
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.Call<adapter::v1::LoadAdapterResponse>(request));
  return Say(context, "loaded", response.adapter());
}

absl::Status Import(CommandContext& context, const FileFlags& flags) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(flags.file, limits::kMaxCatalogFileBytes));
  adapter::v1::AdapterFile file;
  file.set_bytes(bytes.size());
  if (flags.weight) {
    file.set_weight(*flags.weight);
  }
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.ImportAdapter(file, bytes));
  return Say(context, "imported", response.adapter());
}

absl::Status Unload(CommandContext& context, const std::string& text) {
  adapter::v1::UnloadAdapterRequest request;
  RETURN_IF_ERROR(ReadAdapterRef(text, request.mutable_adapter()));
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.Call<adapter::v1::UnloadAdapterResponse>(request));
  context.out << (context.json
                      ? ToJsonLine(response)
                      : fmt::format("unloaded {}@{}\n", PrintableLine(request.adapter().name()),
                                    response.version()));
  return absl::OkStatus();
}

absl::Status Pin(CommandContext& context, const std::string& text, bool off) {
  adapter::v1::PinAdapterRequest request;
  RETURN_IF_ERROR(ReadAdapterRef(text, request.mutable_adapter()));
  request.set_pinned(!off);
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.Call<adapter::v1::PinAdapterResponse>(request));
  return Say(context, off ? "unpinned" : "pinned", response.adapter());
}

absl::Status Rollback(CommandContext& context, const std::string& text) {
  adapter::v1::RollbackAdapterRequest request;
  RETURN_IF_ERROR(ReadAdapterRef(text, request.mutable_adapter()));
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.Call<adapter::v1::RollbackAdapterResponse>(request));
  return Say(context, "serving", response.adapter());
}

struct ExportFlags {
  std::string ref;
  std::string out;
  std::optional<uint32_t> bank;
  bool trunk = false;
};

absl::Status Export(CommandContext& context, const ExportFlags& flags) {
  adapter::v1::ExportAdapterRequest request;
  RETURN_IF_ERROR(ReadAdapterRef(flags.ref, request.mutable_adapter()));
  if (flags.bank) {
    request.set_bank(*flags.bank);
  } else if (flags.trunk) {
    request.set_trunk(true);
  }
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const std::string bytes, client.ExportAdapter(request));
  RETURN_IF_ERROR(WriteFileAtomically(flags.out, bytes));
  report::v1::FileReport report;
  report.set_out(flags.out);
  report.set_bytes(bytes.size());
  context.out << (context.json
                      ? ToJsonLine(report)
                      : fmt::format("{}: {} bytes\n", PrintableLine(flags.out), bytes.size()));
  return absl::OkStatus();
}

void AddFileVerbs(VerbTable& verbs) {
  auto loaded = std::make_shared<FileFlags>();
  Verb load =
      verbs.Add("adapter load", kGroup, "Load a file from the node's machine, until the node stops",
                [loaded](CommandContext& context) { return Load(context, *loaded); });
  load.Option("file", loaded->file, "GGUF file of the adapter: plain LoRA, or with timestep banks")
      .Required();
  auto imported = std::make_shared<FileFlags>();
  Verb import =
      verbs.Add("adapter import", kGroup, "Send a file to the node, which stores it",
                [imported](CommandContext& context) { return Import(context, *imported); });
  import
      .Option("file", imported->file,
              "GGUF file of the adapter: plain LoRA, or with timestep banks")
      .Required();
  constexpr char kWeightHelp[] =
      "Weight for requests that choose no adapter; default: the weight of the version served so "
      "far, or 0";
  load.Option("--weight", loaded->weight, kWeightHelp);
  import.Option("--weight", imported->weight, kWeightHelp);

  auto exported = std::make_shared<ExportFlags>();
  Verb to_file =
      verbs.Add("adapter export", kGroup, "Write an adapter of the node to a GGUF file",
                [exported](CommandContext& context) { return Export(context, *exported); });
  to_file.Option("adapter", exported->ref, kRefHelp).Required();
  to_file.Option("--out", exported->out, "File to write").Required();
  const Flag bank =
      to_file.Option("--bank", exported->bank,
                     "For an adapter with banks: write the adapter of this bank as a plain file");
  to_file
      .Switch("--trunk", exported->trunk,
              "For an adapter with banks: write the trunk as a plain file")
      .Excludes(bank);
}

// A verb whose only argument names an adapter.
void AddRefVerb(VerbTable& verbs, const char* path, const char* help,
                const std::function<absl::Status(CommandContext&, const std::string&)>& action) {
  auto ref = std::make_shared<std::string>();
  verbs
      .Add(path, kGroup, help,
           [ref, action](CommandContext& context) { return action(context, *ref); })
      .Option("adapter", *ref, kRefHelp)
      .Required();
}

}  // namespace

void AddAdapterVerbs(VerbTable& verbs) {
  auto name = std::make_shared<std::string>();
  verbs
      .Add("adapter ls", kGroup, "List the adapters that requests may choose",
           [name](CommandContext& context) { return List(context, *name); })
      .Option("--name", *name, "List all versions of this adapter");
  AddRefVerb(verbs, "adapter show", "Show one adapter and the matrices that it changes", Show);
  auto pair = std::make_shared<std::pair<std::string, std::string>>();
  Verb diff = verbs.Add(
      "adapter diff", kGroup, "Compare two adapters",
      [pair](CommandContext& context) { return Diff(context, pair->first, pair->second); });
  diff.Option("a", pair->first, kRefHelp).Required();
  diff.Option("b", pair->second, kRefHelp).Required();
  AddFileVerbs(verbs);
  AddRefVerb(verbs, "adapter unload", "Unload a version; later requests cannot use it", Unload);
  AddRefVerb(
      verbs, "adapter rollback",
      "Serve NAME@VERSION by default; for a NAME alone, serve the version before the served one",
      Rollback);
  struct PinFlags {
    std::string ref;
    bool off = false;
  };
  auto pinned = std::make_shared<PinFlags>();
  Verb pin = verbs.Add(
      "adapter pin", kGroup, "Keep a version in memory",
      [pinned](CommandContext& context) { return Pin(context, pinned->ref, pinned->off); });
  pin.Option("adapter", pinned->ref, kRefHelp).Required();
  pin.Switch("--off", pinned->off, "Unpin: allow the node to drop it when memory is needed");
}

}  // namespace ruvd::cli
