// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/local/demo/cluster.h"
#include "node/local/demo/model_file.h"
#include "node/local/limits.h"
#include "node/local/verbs.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

struct DemoFlags {
  int nodes = 3;
  std::string model;
  std::string state_file;
};

std::string Endpoints(const DemoCluster& cluster) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(cluster.nodes().size());
  for (const DemoNode& node : cluster.nodes()) {
    rows.push_back({node.name, node.api, node.federation, node.metrics + "/metrics",
                    fmt::format("{}", node.process->pid()), node.id.substr(0, 12)});
  }
  return FormatTable({"NODE", "API", "LINK", "METRICS", "PID", "ID"}, rows);
}

std::string ProgramFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

std::string WhatToTry(const DemoCluster& cluster) {
  const std::string& first = cluster.nodes().front().api;
  const std::string& last = cluster.nodes().back().api;
  return fmt::format(
      "\n"
      "Try in another terminal:\n"
      "  export PATH={3}:$PATH RUVD_SERVER={0}\n"
      "  ruvd run \"The little boat\"                     # watch it denoise\n"
      "  ruvd rate last --fix \" sailed home at dawn.\"   # teach it\n"
      "  ruvd run \"The little boat\"                     # the adapter is used now\n"
      "  ruvd pattern ls                                # what it remembers\n"
      "  ruvd consent grant --tier public               # nothing left this node before\n"
      "  ruvd pattern ls --server {1}        # and another node has it\n"
      "  ruvd members\n"
      "Data and logs are in {2}. Ctrl-C stops the nodes and deletes it.\n",
      first, last, cluster.folder(), ProgramFolder());
}

absl::Status WriteState(const DemoCluster& cluster, const std::string& path) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  report::v1::DemoState state;
  state.set_folder(cluster.folder());
  for (const DemoNode& node : cluster.nodes()) {
    report::v1::DemoState::Node& message = *state.add_nodes();
    message.set_name(node.name);
    message.set_pid(node.process->pid());
    message.set_api(node.api);
    message.set_federation(node.federation);
    message.set_metrics(node.metrics);
    message.set_id(node.id);
    message.set_data_dir(node.data_dir);
    message.set_config(node.config_file);
    message.set_log(node.log_file);
  }
  return WriteFileAtomically(path, ToJsonLine(state), 0600);
}

// Waits until SIGINT or SIGTERM, which are blocked, arrives. Returns an error if a node ends by
// itself.
absl::Status WaitForEnd(const DemoCluster& cluster, int signal_fd) {
  std::vector<pollfd> entries = {{.fd = signal_fd, .events = POLLIN, .revents = 0}};
  entries.reserve(cluster.nodes().size() + 1);
  for (const DemoNode& node : cluster.nodes()) {
    entries.push_back({.fd = node.process->exit_fd(), .events = POLLIN, .revents = 0});
  }
  while (::poll(entries.data(), entries.size(), -1) < 0 && errno == EINTR) {
  }
  for (size_t i = 0; i < cluster.nodes().size(); ++i) {
    if (entries[i + 1].revents != 0) {
      const DemoNode& node = cluster.nodes()[i];
      const auto report = node.process->Wait(std::chrono::milliseconds(0));
      return Error(absl::StatusCode::kInternal, reasons::kProcessFailed,
                   "node {} stopped by itself with {}; the end of its log: {}", node.name,
                   report ? report->Describe() : "an unknown result", LogTail(node));
    }
  }
  return absl::OkStatus();
}

absl::Status Demo(CommandContext& context, const DemoFlags& flags) {
  ASSIGN_OR_RETURN(const std::string model, FindModel(context, flags.model));
  // The signals are blocked from here on: Ctrl-C during the start takes effect as soon as the nodes
  // have started.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const int signal_fd = ::signalfd(-1, &signals, SFD_CLOEXEC);
  context.err << fmt::format("starting {} nodes with {}\n", flags.nodes, model);
  ASSIGN_OR_RETURN(const auto cluster, DemoCluster::Start({.nodes = flags.nodes,
                                                           .model = model,
                                                           .environment = context.environment,
                                                           .usual_ports = true}));
  RETURN_IF_ERROR(WriteState(*cluster, flags.state_file));
  context.out << Endpoints(*cluster) << WhatToTry(*cluster) << std::flush;
  const absl::Status ended = WaitForEnd(*cluster, signal_fd);
  ::close(signal_fd);
  context.err << "\nstopping the nodes\n";
  const absl::Status stopped = cluster->StopAll();
  if (!flags.state_file.empty()) {
    ::unlink(flags.state_file.c_str());
  }
  return ended.ok() ? stopped : ended;
}

}  // namespace

void AddDemoVerb(VerbTable& verbs) {
  auto flags = std::make_shared<DemoFlags>();
  Verb verb = verbs.Add("demo", "Start here",
                        "Run a cluster on this machine in a temporary folder, until Ctrl-C",
                        [flags](CommandContext& context) { return Demo(context, *flags); });
  verb.Option("--nodes", flags->nodes, "Number of nodes")
      .InRange(1, limits::kMaxDemoNodes)
      .ShowDefault();
  verb.Option("--model", flags->model,
              "GGUF file of the model; default: the model that came with ruvd");
  verb.Option("--state-file", flags->state_file,
              "File to write addresses, process ids and folders to, as JSON");
}

}  // namespace ruvd::cli
