// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/node.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "base/thread_priority.h"
#include "federation/limits.h"
#include "inference/backend/backend.h"
#include "inference/kernels/kernel_table.h"
#include "node/log/log.h"
#include "node/process/descriptor_limit.h"
#include "node/process/limits.h"
#include "node/process/node_frame.h"
#include "node/process/node_impl.h"
#include "node/process/node_metrics.h"

namespace ruvd::node {
namespace {

// If there is more than one core, one stays free for the io and learning threads.
int InferenceThreads(int configured) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return configured > 0 ? configured : std::max(1, cores - 1);
}

}  // namespace

NodeImpl::NodeImpl(config::NodeConfig config, NodeTuning tuning)
    : config_(std::move(config)),
      tuning_(std::move(tuning)),
      runner_(InferenceThreads(config_.inference.threads)),
      started_(clock_.Now()) {}

NodeImpl::~NodeImpl() {
  StopNow();
}

absl::Status NodeImpl::Start() {
  RETURN_IF_ERROR(inference::CheckKernelsVariable());
  ASSIGN_OR_RETURN(descriptors_, RaiseDescriptorLimit());
  ASSIGN_OR_RETURN(metrics_, metrics::Metrics::Create(config_.metrics.listen));
  RETURN_IF_ERROR(LoadModel());
  RETURN_IF_ERROR(OpenStores());
  RETURN_IF_ERROR(StartActors());
  RETURN_IF_ERROR(StartServers());
  ScheduleLookAtPorts();
  AddNodeMetrics({.prefixes = prefixes_.get(),
                  .patterns = patterns_.get(),
                  .inference = inference_.get(),
                  .actors = actors_.get(),
                  .parts = [this] { return Parts(); },
                  .throttle = throttle_.get(),
                  .ledger = ledger_.get(),
                  .delta = double{config_.privacy.delta},
                  .peers = &peer_counters_,
                  .http = http_.get(),
                  .limits = &limits_,
                  .resources = [this] { return Resources(); }},
                 metrics_.get());
  return absl::OkStatus();
}

absl::Status NodeImpl::LoadModel() {
  ASSIGN_OR_RETURN(package_, inference::LoadModelPackage(config_.model.path));
  model_ = package_.model;
  for (const std::string& warning : model_->tokenizer().warnings()) {
    LogWarning("{}: {}", config_.model.path, warning);
  }
  const inference::Precision precision = config_.inference.precision == "exact"
                                             ? inference::Precision::kExact
                                             : inference::Precision::kFast;
  ASSIGN_OR_RETURN(serving_, inference::DefaultBackend().Load(
                                 model_, {.precision = precision, .runner = runner_}));
  // These embed later what requests did not, with the same bits.
  for (auto* transformer : {&querying_, &embedding_, &deep_embedding_, &remembering_}) {
    ASSIGN_OR_RETURN(*transformer, inference::DefaultBackend().Load(
                                       model_, {.precision = precision, .runner = SerialRunner()}));
  }
  ASSIGN_OR_RETURN(scoring_, inference::DefaultBackend().Load(model_, {.runner = runner_}));
  RETURN_IF_ERROR(MakePrefixTree());
  ASSIGN_OR_RETURN(training_, inference::DefaultBackend().Load(model_, {.runner = SerialRunner()}));
  deep_runner_ = LowPriorityRunner(config_.learning.deep_threads);
  ASSIGN_OR_RETURN(deep_training_,
                   inference::DefaultBackend().Load(model_, {.runner = *deep_runner_}));
  return absl::OkStatus();
}

void NodeImpl::LoadFrame() {
  // No request runs yet, so the threads of inference are free. A node without peers computes no
  // frame, but uses the one that its patterns may have been learned in.
  auto frame = OpenNodeFrame(package_, config_.model.path, FrameFileOf(config_),
                             config_.federation.enabled, runner_);
  if (!frame.ok()) {
    LogWarning(
        "this node has no adapter frame; it takes part in no rounds and shares no patterns: {} "
        "[{}]",
        MessageOf(frame.status()), ReasonOf(frame.status()));
    return;
  }
  frame_ = *std::move(frame);
}

absl::Status NodeImpl::MakePrefixTree() {
  ASSIGN_OR_RETURN(const inference::KvFormat format,
                   inference::ParseKvFormat(config_.inference.kv_format));
  ASSIGN_OR_RETURN(auto pool, inference::DefaultBackend().CreateKvPool(model_->config(), format,
                                                                       config_.inference.kv_bytes));
  prefixes_ = std::make_shared<inference::PrefixTree>(std::move(pool));
  return absl::OkStatus();
}

absl::Status NodeImpl::Drain(Duration deadline) {
  if (stopped_) {
    return absl::OkStatus();
  }
  const TimePoint end = clock_.Now() + deadline;
  stopping_.store(true);  // ends a background round between two batches
  pattern_feed_->Close();
  health_->Drain();
  // Time reserved for the last actors and for closing the servers and the store.
  constexpr Duration kClosing = std::chrono::milliseconds(1500);
  constexpr Duration kStopping = std::chrono::seconds(1);
  federation_->Leave(std::clamp<Duration>(end - kClosing - 2 * kStopping - clock_.Now(),
                                          Duration(0), limits::kDrainMax));
  const runtime::DrainReport report = actors_->DrainAndWait(end - kClosing);
  orderly_ = report.complete;
  StopNow();
  if (!report.complete) {
    return Error(
        absl::StatusCode::kDeadlineExceeded, reasons::kNodeDraining,
        "{} accepted message(s) were not finished before the deadline of the stop; allow more time",
        report.messages_lost);
  }
  return absl::OkStatus();
}

void NodeImpl::StopNow() {
  if (std::exchange(stopped_, true)) {
    return;
  }
  stopping_.store(true);
  aborting_.store(true);
  if (metrics_ != nullptr) {
    metrics_->RemoveReaders();
  }
  if (health_ != nullptr) {
    health_->Drain();  // nothing looks at the parts any more
  }
  if (pattern_feed_ != nullptr) {
    pattern_feed_->Close();
  }
  watch_pool_.Shutdown();  // a port that stops is not deaf
  constexpr auto kGrace = std::chrono::milliseconds(400);
  if (http_ != nullptr) {
    http_->Shutdown(kGrace);  // first: calls by Connect end at the server of api.listen
  }
  api_port_.Shutdown(std::chrono::system_clock::now() + kGrace);
  socket_.Shutdown(std::chrono::system_clock::now() + kGrace);
  if (link_tls_ != nullptr) {
    link_tls_->gate().Close();
  }
  dialer_.Shutdown();
  federation_port_.Shutdown(std::chrono::system_clock::now() + kGrace);
  actors_.reset();  // ends what still runs by force; no caller is left
  query_pool_.Shutdown();
  pattern_pool_.Shutdown();
  upkeep_pool_.Shutdown();
  backup_pool_.Shutdown();
  learning_pool_.Shutdown();
  deep_pool_.Shutdown();
  memory_pool_.Shutdown();
  compute_pool_.Shutdown();
  record_pool_.Shutdown();  // stores what the last requests left
  io_pool_.Shutdown();
  if (witness_ != nullptr) {  // after a forced stop the actor has not flushed it
    if (absl::Status flushed = witness_->FlushAll(); !flushed.ok()) {
      LogError("the records of the last requests are lost: {}", MessageOf(flushed));
    }
  }
  if (orderly_) {  // otherwise the former checkpoint stays, and the next start links what is
                   // missing
    if (absl::Status saved = patterns_->Checkpoint(); !saved.ok()) {
      LogWarning(
          "the graph of the patterns could not be saved, and the next start builds it again: {}",
          MessageOf(saved));
    }
  }
  if (database_ != nullptr) {
    if (absl::Status closed = database_->Close(); !closed.ok()) {
      LogError("the store could not be closed properly: {}", MessageOf(closed));
    }
  }
}

absl::StatusOr<std::unique_ptr<Node>> Node::Start(const config::NodeConfig& config) {
  return StartTuned(config, NodeTuning());
}

absl::StatusOr<std::unique_ptr<Node>> Node::StartTuned(const config::NodeConfig& config,
                                                       const NodeTuning& tuning) {
  auto node = std::make_unique<NodeImpl>(config, tuning);
  RETURN_IF_ERROR(node->Start());
  return node;
}

}  // namespace ruvd::node
