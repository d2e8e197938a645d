// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What GetStatus says of the node itself.

#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "base/bytes.h"
#include "node/api/message_times.h"
#include "node/process/node_impl.h"
#include "node/process/node_limits.h"
#include "node/process/node_metrics.h"
#include "node/version.h"

namespace ruvd::node {
namespace {

void WritePort(const char* name, const transport::ConnectionAcceptor* acceptor,
               node::v1::GetStatusResponse* status) {
  if (acceptor == nullptr) {
    return;
  }
  const transport::ConnectionAcceptor::Counts counts = acceptor->counts();
  node::v1::PortStatus* const message = status->add_ports();
  message->set_name(name);
  message->set_address(acceptor->address());
  message->set_connections(static_cast<uint32_t>(counts.connections));
  message->set_unproven(static_cast<uint32_t>(counts.unproven));
  message->set_most_connections(static_cast<uint32_t>(acceptor->most_connections()));
  message->set_accepted(counts.accepted);
  for (size_t i = 0; i < counts.ended.size(); ++i) {
    if (counts.ended[i] > 0) {
      const auto why = static_cast<transport::ConnectionEnd>(i);
      (*message->mutable_ended())[std::string(transport::ConnectionEndName(why))] = counts.ended[i];
    }
  }
}

node::v1::StorageHealth WireHealth(storage::StoreHealth health) {
  switch (health) {
    case storage::StoreHealth::kOk:
      return node::v1::STORAGE_HEALTH_OK;
    case storage::StoreHealth::kRecoveredWithLoss:
      return node::v1::STORAGE_HEALTH_RECOVERED_WITH_LOSS;
    case storage::StoreHealth::kPatternsStopped:
      return node::v1::STORAGE_HEALTH_PATTERNS_STOPPED;
    case storage::StoreHealth::kReadOnly:
      return node::v1::STORAGE_HEALTH_READ_ONLY;
    case storage::StoreHealth::kFailed:
      return node::v1::STORAGE_HEALTH_FAILED;
  }
  return node::v1::STORAGE_HEALTH_UNSPECIFIED;
}

}  // namespace

void NodeImpl::WriteStores(node::v1::GetStatusResponse* status) const {
  node::v1::StoreStatus* const store = status->mutable_store();
  store->set_health(WireHealth(database_->Health()));
  store->set_trajectories(trajectories_->size());
  store->set_sessions(sessions_->size());
  const storage::PatternStoreStats stats = patterns_->Stats();
  node::v1::PatternStatus* const patterns = status->mutable_patterns();
  patterns->set_stored(stats.patterns);
  patterns->set_capacity(stats.capacity);
  patterns->set_pending(stats.pending);
  patterns->set_problem(stats.checkpoint.problem);
  patterns->set_watches(pattern_feed_->size());
  const storage::WitnessLogCounts counts = witness_->counts();
  node::v1::WitnessStatus* const witness = status->mutable_witness();
  witness->set_stored(counts.stored);
  witness->set_queued(counts.queued);
  witness->set_refused(counts.refused + counts.unfit);
  witness->set_crowded_out(counts.crowded_out);
}

void NodeImpl::WritePorts(node::v1::GetStatusResponse* status) const {
  WritePort("api", api_port_.acceptor.get(), status);
  if (http_ != nullptr) {
    WritePort("http", &http_->acceptor(), status);
    auto& ended = *status->mutable_ports()->rbegin()->mutable_ended();
    const http::Server::Counts counts = http_->counts();
    for (size_t i = 0; i < counts.ended.size(); ++i) {
      if (counts.ended[i] > 0) {
        ended[std::string(http::RequestEndName(static_cast<http::RequestEnd>(i)))] =
            counts.ended[i];
      }
    }
  }
  WritePort("federation", federation_port_.acceptor.get(), status);
  if (link_tls_ != nullptr && federation_port_.acceptor != nullptr) {
    auto& ended = *status->mutable_ports()->rbegin()->mutable_ended();
    for (const auto& [reason, count] : link_tls_->gate().refusals()) {
      ended[absl::AsciiStrToLower(reason)] = count;
    }
  }
  WritePort("socket", socket_.acceptor.get(), status);
}

void NodeImpl::FillStatus(node::v1::GetStatusResponse* status) const {
  bool degraded = false;
  for (const PartHealth& part : Parts()) {
    node::v1::PartStatus* const message = status->add_parts();
    message->set_name(part.name);
    message->set_problem(part.problem);
    degraded = degraded || !part.problem.empty();
  }
  node::v1::NodeStatus* const node = status->mutable_node();
  node->set_id(id());
  node->set_name(config_.node.name);
  node->set_version(kVersion);
  node->set_state(stopping_.load() ? node::v1::NODE_STATE_DRAINING
                  : degraded       ? node::v1::NODE_STATE_DEGRADED
                                   : node::v1::NODE_STATE_SERVING);
  *node->mutable_uptime() = api::ToDuration(clock_.Now() - started_);
  node->set_model(model_->config().name);
  node->set_model_hash(ToHex(model_->hash()));
  node->set_model_package(ToHex(package_.id));
  node->set_embedding_dimension(patterns_->dimension());
  node->set_dead_letters(DeadLetterTotal(*actors_));
  status->mutable_serving()->set_requests_running(inference_->running());
  WriteStores(status);
  WritePorts(status);
  WriteLimits(limits_.Read(), status);
  WriteResources(Resources(), status);
  const learning::MemoryStatus remembered = memory_->status();
  node::v1::MemoryStatus* const memory = status->mutable_memory();
  memory->set_enabled(remembered.enabled);
  memory->set_disabled_because(remembered.disabled_because);
  memory->set_lessons(remembered.memories.lessons);
  memory->set_tokens(remembered.memories.entries);
  memory->set_bytes(remembered.memories.bytes);
  memory->set_users(static_cast<uint32_t>(remembered.memories.users));
  memory->set_waiting(remembered.waiting);
  memory->set_restored(remembered.restored);
}

}  // namespace ruvd::node
