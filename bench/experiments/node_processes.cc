// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/node_processes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/local/demo/cluster.h"
#include "node/local/limits.h"
#include "node/terminal/limits.h"
#include "privacy/ledger/unit_budget.h"
#include "privacy/sodium.h"
#include "ruvd/admission/v1/admission.pb.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::bench {
namespace {

constexpr std::chrono::seconds kVerbPatience(60);
constexpr uint64_t kMaxSmallFile = 1 << 20;
// An experiment must run even on a small disk; the default reserve is for permanent nodes.
constexpr char kReserveBytes[] = "134217728";
constexpr char kLoopback[] = "127.0.0.1:0";

// Variables of RuvDLLM would override the flags of an experiment.
std::vector<std::string> EnvironmentOfChildren() {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("RUVD_")) {
      kept.emplace_back(*variable);
    }
  }
  return kept;
}

std::string TailOf(const std::string& log_file) {
  cli::DemoNode node;
  node.log_file = log_file;
  return cli::LogTail(node);
}

absl::Status Failed(std::string_view what, std::string_view why, const std::string& log_file) {
  return Error(absl::StatusCode::kInternal, reasons::kProcessFailed,
               "{} failed: {}; the end of its log {}: {}", what, why, log_file, TailOf(log_file));
}

// Calls a verb and reads the message that it prints.
template <typename Message>
absl::StatusOr<Message> Ask(const VerbCall& call) {
  ASSIGN_OR_RETURN(const std::string line, RunVerb(call));
  Message message;
  if (!google::protobuf::util::JsonStringToMessage(line, &message).ok()) {
    return Failed(fmt::format("ruvd {}", fmt::join(call.verb, " ")),
                  fmt::format("it printed \"{}\"; name the ruvd of this build with --ruvd", line),
                  call.log_file);
  }
  return message;
}

// Returns the value after " key=" in the ready line of `ruvd serve`; "" if it is missing.
std::string ReadyField(const std::string& line, std::string_view key) {
  const std::string mark = fmt::format(" {}=", key);
  const size_t at = line.find(mark);
  return at == std::string::npos
             ? ""
             : line.substr(at + mark.size(), line.find(' ', at + 1) - at - mark.size());
}

std::string InFolder(const std::string& folder, const std::string& file) {
  return (std::filesystem::path(folder) / file).string();
}

std::string CertificateOf(const NodeProcess& node) {
  return InFolder(node.data_dir, "api.cert.pem");
}

std::string ClientKeyOf(const NodeProcess& node) {
  return InFolder(node.data_dir, "client-key");
}

// Makes the key of the experiment's client, which teaches, scores and administers.
absl::Status WriteKeys(const NodeProcess& node) {
  std::array<uint8_t, 32> random{};
  privacy::SecureRandomBytes(random);
  const std::string key = ToHex(random);
  RETURN_IF_ERROR(WriteFileAtomically(ClientKeyOf(node), key + "\n", 0600));
  return WriteFileAtomically(
      InFolder(node.data_dir, "keys"),
      fmt::format("experiment contributor,admin sha256:{}\n", ToHex(Sha256(key))), 0600);
}

double EpsilonIn(const report::v1::LedgerFileReport& report, privacy::PrivacyUnit unit) {
  for (const report::v1::UnitAccount& account : report.units()) {
    if (account.unit() == privacy::UnitName(unit)) {
      return account.epsilon();
    }
  }
  return 0;
}

}  // namespace

absl::StatusOr<std::string> RunVerb(const VerbCall& call) {
  std::vector<std::string> command = {call.program, "--format", "json"};
  command.insert(command.end(), call.verb.begin(), call.verb.end());
  command.insert(command.end(), call.flags.begin(), call.flags.end());
  const std::string what = fmt::format("ruvd {}", fmt::join(call.verb, " "));
  ASSIGN_OR_RETURN(const std::unique_ptr<cli::ChildProcess> process,
                   cli::ChildProcess::Start({.arguments = std::move(command),
                                             .environment = EnvironmentOfChildren(),
                                             .log_file = call.log_file}));
  const absl::StatusOr<std::string> line = process->ReadLine(kVerbPatience);
  if (!line.ok()) {
    return Failed(what, MessageOf(line.status()), call.log_file);
  }
  const std::optional<cli::ExitReport> report = process->Wait(kVerbPatience);
  if (!report || report->code != 0 || report->signal != 0) {
    return Failed(what, report ? report->Describe() : "it does not end", call.log_file);
  }
  return *line;
}

absl::StatusOr<std::unique_ptr<NodeProcesses>> NodeProcesses::Start(Options options) {
  privacy::InitSodium();
  std::unique_ptr<NodeProcesses> cluster(new NodeProcesses(std::move(options)));
  for (const std::string& name : cluster->options_.names) {
    RETURN_IF_ERROR(Annotate(cluster->AddNode(name), "node " + name));
  }
  return cluster;
}

absl::Status NodeProcesses::AddNode(const std::string& name) {
  NodeProcess node;
  node.name = name;
  node.data_dir = InFolder(options_.folder, name);
  node.config_file = InFolder(node.data_dir, "ruvd.toml");
  node.log_file = InFolder(options_.folder, name + ".log");
  RETURN_IF_ERROR(nodes_.empty() ? Found(node) : Join(node));
  RETURN_IF_ERROR(
      RunVerb({.program = options_.program,
               .verb = {"cert", "tls"},
               .flags = {"--name", "IP:127.0.0.1", "--out", InFolder(node.data_dir, "api")},
               .log_file = node.log_file})
          .status());
  RETURN_IF_ERROR(WriteKeys(node));
  RETURN_IF_ERROR(Serve(node));
  nodes_.push_back(std::move(node));
  return absl::OkStatus();
}

absl::Status NodeProcesses::Found(const NodeProcess& node) const {
  return RunVerb({.program = options_.program,
                  .verb = {"init"},
                  .flags = {"--data-dir", node.data_dir, "--name", node.name, "--authority"},
                  .log_file = node.log_file})
      .status();
}

absl::Status NodeProcesses::Join(const NodeProcess& node) const {
  const NodeProcess& office = nodes_.front();
  ASSIGN_OR_RETURN(const auto created,
                   Ask<cluster::v1::CreateJoinTokenResponse>(
                       {.program = options_.program,
                        .verb = {"token", "create"},
                        .flags = {"--server", office.client->server(), "--tls-ca",
                                  CertificateOf(office), "--key-file", ClientKeyOf(office)},
                        .log_file = node.log_file}));
  return RunVerb({.program = options_.program,
                  .verb = {"join"},
                  .flags = {office.federation, "--token", created.token(), "--data-dir",
                            node.data_dir, "--name", node.name},
                  .log_file = node.log_file})
      .status();
}

absl::Status NodeProcesses::Serve(NodeProcess& node) const {
  const bool lies = !options_.liar.empty() && nodes_.size() + 1 == options_.names.size();
  std::vector<std::string> arguments =
      lies ? options_.liar : std::vector<std::string>{options_.program};
  arguments.insert(arguments.end(), {"serve", "--config", node.config_file});
  NodeSettings settings = {{"model.path", options_.model},
                           {"api.listen", kLoopback},
                           {"api.tls_cert", CertificateOf(node)},
                           {"api.tls_key", InFolder(node.data_dir, "api.key.pem")},
                           {"api.key_file", InFolder(node.data_dir, "keys")},
                           {"federation.listen", kLoopback},
                           {"storage.reserve_bytes", kReserveBytes}};
  settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
  for (const auto& [key, value] : settings) {
    arguments.push_back("--" + key);
    arguments.push_back(value);
  }
  ASSIGN_OR_RETURN(node.process, cli::ChildProcess::Start({.arguments = std::move(arguments),
                                                           .environment = EnvironmentOfChildren(),
                                                           .log_file = node.log_file}));
  const absl::StatusOr<std::string> line = node.process->ReadLine(limits::kStartSeconds);
  if (!line.ok()) {
    return Failed("ruvd serve", MessageOf(line.status()), node.log_file);
  }
  node.federation = ReadyField(*line, "federation");
  node.id = ReadyField(*line, "id");
  client::ClientCredentials credentials{.tls = true};
  ASSIGN_OR_RETURN(credentials.roots, ReadFile(CertificateOf(node), kMaxSmallFile));
  ASSIGN_OR_RETURN(credentials.key, ReadFile(ClientKeyOf(node), kMaxSmallFile));
  credentials.key.pop_back();  // the end of the line
  node.client = std::make_unique<client::NodeClient>(ReadyField(*line, "api"), credentials);
  return absl::OkStatus();
}

absl::Status NodeProcesses::StopAll() {
  for (const NodeProcess& node : nodes_) {
    if (node.process != nullptr) {
      node.process->Signal(SIGTERM);
    }
  }
  absl::Status result;
  for (NodeProcess& node : nodes_) {
    if (node.process == nullptr) {
      continue;
    }
    const std::optional<cli::ExitReport> report = node.process->Wait(limits::kStopSeconds);
    node.process.reset();  // kills a process that hangs
    if (result.ok() && (!report || report->code != 0 || report->signal != 0)) {
      result = Failed(fmt::format("the stop of node {}", node.name),
                      report ? report->Describe() : "it does not end", node.log_file);
    }
  }
  return result;
}

absl::StatusOr<LedgerCheck> NodeProcesses::VerifyLedger(const NodeProcess& node,
                                                        privacy::PrivacyUnit unit,
                                                        double unit_epsilon, double delta) const {
  if (node.process != nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kProcessFailed,
                 "node {} still runs; stop it before its ledger is exported", node.name);
  }
  const std::string file = InFolder(options_.folder, node.name + ".ledger");
  const absl::StatusOr<std::string> exported =
      RunVerb({.program = options_.program,
               .verb = {"privacy", "export"},
               .flags = {"--config", node.config_file, "--out", file},
               .log_file = node.log_file});
  if (!exported.ok()) {
    return LedgerCheck{.problem = MessageOf(exported.status())};
  }
  std::vector<std::string> flags = {file, "--key", node.id, "--delta", fmt::format("{:g}", delta)};
  const std::string counter = InFolder(node.data_dir, "privacy-counter");
  std::error_code error;  // a file that cannot be examined counts as missing
  if (std::filesystem::exists(counter, error)) {
    flags.insert(flags.end(), {"--counter", counter});
  }
  if (unit_epsilon > 0) {
    flags.insert(flags.end(), {fmt::format("--{}-epsilon", privacy::UnitName(unit)),
                               fmt::format("{:g}", unit_epsilon)});
  }
  const auto report = Ask<report::v1::LedgerFileReport>({.program = options_.program,
                                                         .verb = {"privacy", "verify"},
                                                         .flags = std::move(flags),
                                                         .log_file = node.log_file});
  if (!report.ok()) {
    return LedgerCheck{.problem = MessageOf(report.status())};
  }
  return LedgerCheck{.valid = report->ok(),
                     .problem = report->ok() ? "" : "ruvd privacy verify says no",
                     .entries = report->entries(),
                     .unit_epsilon = EpsilonIn(*report, unit)};
}

NodeProcesses::~NodeProcesses() {
  StopAll().IgnoreError();
}

}  // namespace ruvd::bench
