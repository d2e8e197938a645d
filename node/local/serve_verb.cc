// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdlib>
#include <memory>

#include "base/status.h"
#include "base/thread_pool.h"
#include "node/local/config_flags.h"
#include "node/local/limits.h"
#include "node/local/verbs.h"
#include "node/log/log.h"
#include "node/log/log_setup.h"
#include "node/process/node.h"
#include "node/terminal/command.h"
#include "node/terminal/exit_code.h"
#include "node/terminal/limits.h"
#include "node/version.h"

namespace ruvd::cli {
namespace {

constexpr char kServeGroup[] = "Run a node";

// Returns the signals of `serve`: SIGTERM and SIGINT stop the node, and SIGHUP makes it reload its
// credentials.
sigset_t ServeSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  return signals;
}

// Waits for a signal to stop and returns OK, or the failure because of which the node cannot go on.
absl::Status AwaitStop(const sigset_t& signals, node::Node& node) {
  for (;;) {
    RETURN_IF_ERROR(node.failure());
    const timespec look{.tv_sec = limits::kFailureLook.count(), .tv_nsec = 0};
    const int signal = sigtimedwait(&signals, nullptr, &look);
    if (signal < 0) {
      continue;  // none came, or the process had been stopped
    }
    if (signal != SIGHUP) {
      LogInfo("received {}, draining for at most {} s", signal == SIGTERM ? "SIGTERM" : "SIGINT",
              limits::kDrainSeconds.count());
      return absl::OkStatus();
    }
    if (const absl::Status status = node.ReloadCredentials(); status.ok()) {
      LogInfo("received SIGHUP: new links use a new TLS key, and clients' tokens were read again");
    } else {
      LogError("received SIGHUP, but the credentials could not be reloaded and are unchanged: {}",
               MessageOf(status));
    }
  }
}

// An empty field becomes "-", so that a parser can tell the fields of the ready line apart.
std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

absl::Status Serve(CommandContext& context, const ConfigFlags& flags, const StartNode& start_node) {
  ASSIGN_OR_RETURN(const config::NodeConfig config, flags.Load(context, nullptr));
  RETURN_IF_ERROR(config::CheckConfig(config));
  // The signals are blocked before any thread starts: every thread inherits this, so only sigwait
  // gets them.
  const sigset_t signals = ServeSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  SetUpLogging(config.log, config.node.name);
  ThreadPool guard({.name = "stop"});  // outlives the node
  auto started = start_node(config);
  if (!started.ok()) {
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    return started.status();
  }
  const std::unique_ptr<node::Node> node = *std::move(started);
  context.out << fmt::format("ready api={} http={} federation={} metrics={} id={}",
                             node->api_address(), OrDash(node->http_address()),
                             OrDash(node->federation_address()), OrDash(node->metrics_address()),
                             node->id())
              << "\n"
              << std::flush;
  const absl::Status failure = AwaitStop(signals, *node);
  // A second signal ends the process at once.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  if (!failure.ok()) {
    LogError("{}; the node ends now, draining for at most {} s", MessageOf(failure),
             limits::kDrainSeconds.count());
  }
  guard.PostAt(guard.clock().Now() + context.stop_limit, [] {
    Log(LogLevel::kCritical,
        "the node did not stop in time and is ended now; its store is intact, as after a crash");
    spdlog::shutdown();
    std::_Exit(static_cast<int>(ExitCode::kError));
  });
  const absl::Status drained = node->Drain(limits::kDrainSeconds);
  return failure.ok() ? drained : failure;
}

absl::Status Version(CommandContext& context) {
  context.out << (context.json ? fmt::format("{{\"version\":\"{}\"}}\n", kVersion)
                               : fmt::format("ruvd {}\n", kVersion));
  return absl::OkStatus();
}

}  // namespace

void AddServeVerbs(VerbTable& verbs, const StartNode& start_node) {
  auto flags = std::make_shared<ConfigFlags>();
  Verb serve = verbs.Add(
      "serve", kServeGroup, "Run a node until SIGTERM or Ctrl-C",
      [flags, start_node](CommandContext& context) { return Serve(context, *flags, start_node); });
  flags->AddTo(serve);
  verbs.Add("version", kServeGroup, "Print the version of this program", Version);
}

}  // namespace ruvd::cli
