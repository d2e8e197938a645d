// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/demo/cluster.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/identity.h"
#include "node/admission/node_key_files.h"
#include "node/admission/revocation_file.h"
#include "node/config/config.h"
#include "node/local/limits.h"
#include "node/terminal/limits.h"
#include "privacy/sodium.h"

namespace ruvd::cli {
namespace {

constexpr uint16_t kUsualApiPort = 7420;
constexpr uint16_t kUsualMetricsPort = 9420;
constexpr uint16_t kPortStep = 10;
constexpr std::streamoff kLogTailBytes = 2000;

// A demo must run even on a small disk; the default reserve is for permanent nodes.
constexpr uint64_t kDemoReserve = 128ULL << 20;
// A user watches the demo, so its rounds are much shorter than those of a real cluster.
constexpr int kDemoRoundSeconds = 10;

absl::StatusOr<std::string> MakeThrowAwayFolder() {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error) / "ruvd-demo-XXXXXX";
  if (error || ::mkdtemp(path.data()) == nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
                 "cannot create a folder like {}; set TMPDIR to a folder on a disk with free space",
                 path);
  }
  return path;
}

// Returns the environment of a child: the environment of this process without configuration
// variables, which would override the child's file, and without misspelt ones, which the child
// would refuse.
std::vector<std::string> ChildEnvironment(
    const std::vector<std::pair<std::string, std::string>>& environment) {
  std::vector<std::string> kept;
  for (const auto& [name, value] : environment) {
    if (!(name.starts_with("RUVD_") && (name.find("__") != std::string::npos ||
                                        !config::LoadConfig("", {{name, ""}}, {}, nullptr).ok()))) {
      kept.push_back(fmt::format("{}={}", name, value));
    }
  }
  return kept;
}

// Returns the value after " key=" in the ready line, or "" if it is missing.
std::string Field(const std::string& line, std::string_view key) {
  const std::string mark = fmt::format(" {}=", key);
  const size_t at = line.find(mark);
  if (at == std::string::npos) {
    return "";
  }
  const size_t begin = at + mark.size();
  return line.substr(begin, line.find(' ', begin) - begin);
}

std::string Loopback(uint16_t port) {
  return fmt::format("127.0.0.1:{}", port);
}

}  // namespace

std::string LogTail(const DemoNode& node) {
  std::ifstream file(node.log_file, std::ios::ate);
  if (!file) {
    return "";
  }
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kLogTailBytes));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::StatusOr<std::unique_ptr<DemoCluster>> DemoCluster::Start(const Options& options) {
  privacy::InitSodium();
  ASSIGN_OR_RETURN(std::string folder, MakeThrowAwayFolder());
  std::unique_ptr<DemoCluster> cluster(
      new DemoCluster(options, std::move(folder), privacy::ClusterAuthority::Generate()));
  for (int i = 0; i < options.nodes; ++i) {
    RETURN_IF_ERROR(cluster->AddNode(i));
  }
  return cluster;
}

std::string DemoCluster::program() const {
  std::error_code error;
  return options_.program.empty() ? std::filesystem::read_symlink("/proc/self/exe", error).string()
                                  : options_.program;
}

absl::Status DemoCluster::AddNode(int index) {
  DemoNode node;
  node.name = options_.nodes <= 26 ? std::string(1, static_cast<char>('a' + index))
                                   : fmt::format("n{}", index);
  const auto base = std::filesystem::path(folder_);
  node.data_dir = base / node.name;
  node.config_file = base / (node.name + ".toml");
  node.log_file = base / (node.name + ".log");
  RETURN_IF_ERROR(MakeDataFolder(node.data_dir));
  const auto data = std::filesystem::path(node.data_dir);
  ASSIGN_OR_RETURN(const privacy::NodeKey key, admission::LoadNodeKey(data, SystemClock()));
  RETURN_IF_ERROR(
      admission::IssueCertificate(authority_, {.node_key = key.public_key(), .name = node.name},
                                  SystemClock(), data / admission::kNodeCertificateFile));
  // No node of a demo holds the authority's key, so each gets its revocation list now.
  RETURN_IF_ERROR(admission::RevocationFile(node.data_dir)
                      .Refresh(/*age_ms=*/0, SystemClock().WallMillis(), authority_)
                      .status());
  const auto step = static_cast<uint16_t>(index * kPortStep);
  const auto wanted = [&](uint16_t usual) -> uint16_t {
    return options_.usual_ports ? static_cast<uint16_t>(usual + step) : 0;
  };
  config::NodeConfig config;
  config.node.name = node.name;
  config.node.data_dir = node.data_dir;
  config.model.path = options_.model;
  // Ports are chosen before the start, so that a node has the same addresses after a restart.
  ASSIGN_OR_RETURN(const uint16_t api, ports_.Take(wanted(kUsualApiPort)));
  ASSIGN_OR_RETURN(const uint16_t link, ports_.Take(wanted(kUsualApiPort + 1)));
  ASSIGN_OR_RETURN(const uint16_t http, ports_.Take(wanted(kUsualApiPort + 2)));
  ASSIGN_OR_RETURN(const uint16_t metrics, ports_.Take(wanted(kUsualMetricsPort)));
  config.api.listen = Loopback(api);
  config.api.http_listen = Loopback(http);
  config.federation.listen = Loopback(link);
  config.metrics.listen = Loopback(metrics);
  config.federation.enabled = true;
  config.federation.authority = ToHex(authority_.public_key());
  config.federation.round_seconds = kDemoRoundSeconds;
  config.federation.seeds.reserve(nodes_.size());
  for (const DemoNode& earlier : nodes_) {
    config.federation.seeds.push_back(earlier.federation);
  }
  config.storage.reserve_bytes = kDemoReserve;
  RETURN_IF_ERROR(WriteFileAtomically(node.config_file, config::ConfigToToml(config), 0600));
  nodes_.push_back(std::move(node));
  return StartNode(nodes_.back());
}

absl::Status DemoCluster::StartNode(DemoNode& node) {
  std::vector<std::string> arguments = {program(), "serve", "--config", node.config_file};
  for (const auto& [key, value] : options_.settings) {
    arguments.push_back("--" + key);
    arguments.push_back(value);
  }
  ASSIGN_OR_RETURN(node.process,
                   ChildProcess::Start({.arguments = std::move(arguments),
                                        .environment = ChildEnvironment(options_.environment),
                                        .log_file = node.log_file}));
  const auto line = node.process->ReadLine(limits::kStartSeconds);
  if (!line.ok()) {
    return Error(absl::StatusCode::kInternal, reasons::kProcessFailed,
                 "node {} did not start: {}; the end of its log: {}", node.name,
                 MessageOf(line.status()), LogTail(node));
  }
  node.api = Field(*line, "api");
  node.federation = Field(*line, "federation");
  node.metrics = Field(*line, "metrics");
  node.id = Field(*line, "id");
  if (!line->starts_with("ready ") || node.api.empty() || node.id.empty()) {
    return Error(absl::StatusCode::kInternal, reasons::kProcessFailed,
                 "node {} printed \"{}\" instead of its ready line", node.name, *line);
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitReport> DemoCluster::StopNode(DemoNode& node, int signal,
                                                 std::chrono::seconds timeout) {
  if (node.process == nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kProcessFailed,
                 "node {} is not running", node.name);
  }
  node.process->Signal(signal);
  return AwaitEnd(node, timeout);
}

absl::StatusOr<ExitReport> DemoCluster::AwaitEnd(DemoNode& node, std::chrono::seconds timeout) {
  const auto report = node.process->Wait(timeout);
  node.process.reset();
  if (!report) {
    return Error(absl::StatusCode::kDeadlineExceeded, reasons::kProcessFailed,
                 "node {} did not stop within {} s; the end of its log: {}", node.name,
                 timeout.count(), LogTail(node));
  }
  return *report;
}

absl::Status DemoCluster::StopAll() {
  for (const DemoNode& node : nodes_) {
    if (node.process != nullptr) {
      node.process->Signal(SIGTERM);
    }
  }
  absl::Status result;
  for (DemoNode& node : nodes_) {
    if (node.process == nullptr) {
      continue;
    }
    const auto report = AwaitEnd(node, limits::kStopSeconds);
    if (!result.ok()) {
      continue;
    }
    if (!report.ok()) {
      result = report.status();
    } else if (report->code != 0 || report->signal != 0) {
      result = Error(absl::StatusCode::kInternal, reasons::kProcessFailed,
                     "node {} ended with {}; the end of its log: {}", node.name, report->Describe(),
                     LogTail(node));
    }
  }
  return result;
}

DemoCluster::~DemoCluster() {
  (void)StopAll();
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

}  // namespace ruvd::cli
