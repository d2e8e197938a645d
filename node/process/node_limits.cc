// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The limits that protect a node, as operators see them. SECURITY.md explains each.

#include "node/process/node_limits.h"

#include <chrono>
#include <string>

#include "base/limit_registry.h"
#include "node/api/connection_limits.h"
#include "node/limits.h"
#include "node/log/log_limit.h"
#include "node/process/node_impl.h"
#include "node/sharing/limits.h"
#include "node/transport/header_guard.h"
#include "ruvd/node/v1/node.pb.h"

namespace ruvd::node {
namespace {

using transport::ConnectionEnd;

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

node::v1::LimitScope WireScope(LimitScope scope) {
  switch (scope) {
    case LimitScope::kSystem:
      return node::v1::LIMIT_SCOPE_SYSTEM;
    case LimitScope::kUnauthenticated:
      return node::v1::LIMIT_SCOPE_UNAUTHENTICATED;
    case LimitScope::kSource:
      return node::v1::LIMIT_SCOPE_SOURCE;
    case LimitScope::kOrigin:
      return node::v1::LIMIT_SCOPE_ORIGIN;
    case LimitScope::kLink:
      return node::v1::LIMIT_SCOPE_LINK;
  }
  return node::v1::LIMIT_SCOPE_UNSPECIFIED;
}

LimitUse Counted(std::string_view name, LimitScope scope, std::string_view unit, double limit,
                 const LimitCounter& counter) {
  return {name, scope, unit, limit, counter.used(), counter.refused()};
}

}  // namespace

std::vector<LimitUse> LimitsOfPort(const PortLimitNames& names,
                                   const transport::ConnectionAcceptor& port) {
  const transport::ConnectionLimits& limits = port.limits();
  const transport::ConnectionAcceptor::Counts counts = port.counts();
  const auto ended = [&counts](ConnectionEnd why) {
    return counts.ended[static_cast<size_t>(why)];
  };
  std::vector<LimitUse> all = {
      {names.connections, LimitScope::kSystem, "connections",
       static_cast<double>(limits.connections), counts.connections,
       ended(ConnectionEnd::kPortFull)},
      {names.unproven, LimitScope::kUnauthenticated, "connections",
       static_cast<double>(limits.unproven), counts.unproven, ended(ConnectionEnd::kStrangersFull)},
      {names.unproven_of_source, LimitScope::kSource, "connections",
       static_cast<double>(limits.unproven_of_source), counts.unproven,
       ended(ConnectionEnd::kSourceFull)},
      {names.unproven_time, LimitScope::kUnauthenticated, "seconds", Seconds(limits.unproven_life),
       0, ended(ConnectionEnd::kUnprovenTooLong)},
      {names.unproven_bytes, LimitScope::kUnauthenticated, "bytes of a connection",
       static_cast<double>(limits.unproven_bytes), 0, ended(ConnectionEnd::kUnprovenBytes)},
      {names.opened, LimitScope::kSource, "connections a second", limits.opened_per_second, 0,
       ended(ConnectionEnd::kTooOften)},
      {names.hand_over, LimitScope::kLink, "seconds", Seconds(limits.hand_over), 0,
       ended(ConnectionEnd::kHeldPort)},
  };
  std::erase_if(all, [](const LimitUse& one) { return one.name.empty(); });
  return all;
}

std::vector<LimitUse> LimitsOfHttp(const http::Server::Counts& counts) {
  const auto ended = [&counts](http::RequestEnd why) {
    return counts.ended[static_cast<size_t>(why)];
  };
  return {{"http_bodies", LimitScope::kSystem, "bytes", limits::kMaxHttpBodiesBytes, 0,
           ended(http::RequestEnd::kBodiesTooBig)},
          {"http_request_time", LimitScope::kLink, "seconds",
           std::chrono::duration<double>(limits::kHttpHeadTime).count(), 0,
           ended(http::RequestEnd::kTooLate)},
          {"http_unsent_bytes", LimitScope::kLink, "bytes", limits::kMaxHttpUnsentBytes, 0,
           ended(http::RequestEnd::kCallerSlow)}};
}

void WriteLimits(const std::vector<LimitUse>& limits, node::v1::GetStatusResponse* status) {
  for (const LimitUse& limit : limits) {
    node::v1::LimitStatus* const message = status->add_limits();
    message->set_name(std::string(limit.name));
    message->set_scope(WireScope(limit.scope));
    message->set_unit(std::string(limit.unit));
    message->set_limit(limit.limit);
    message->set_used(limit.used);
    message->set_refused(limit.refused);
  }
}

void WriteResources(const ResourceUse& use, node::v1::GetStatusResponse* status) {
  node::v1::ResourceStatus* const message = status->mutable_resources();
  message->set_descriptors(use.descriptors);
  message->set_most_descriptors(use.most_descriptors);
  message->set_threads(use.threads);
  message->set_link_bytes_in(use.link_bytes_in);
  message->set_link_bytes_out(use.link_bytes_out);
  message->set_payload_bytes_out(use.payload_bytes_out);
  message->set_peer_commits(use.peer_commits);
}

ResourceUse NodeImpl::Resources() const {
  return {.descriptors = CountDescriptors(),
          .most_descriptors = descriptors_,
          .threads = CountThreads(),
          .link_bytes_in = link_counts_.bytes_in.load(),
          .link_bytes_out = link_counts_.bytes_out.load(),
          .payload_bytes_out = peer_counters_.Get().payload_bytes_sent,
          .peer_commits = peer_commits_.commits.load()};
}

void NodeImpl::RegisterLimits() {
  std::vector<const transport::ConnectionAcceptor*> ports;
  const auto add_port = [&](const PortLimitNames& names,
                            const transport::ConnectionAcceptor* port) {
    if (port != nullptr) {
      ports.push_back(port);
      limits_.Add([&names, port] { return LimitsOfPort(names, *port); });
    }
  };
  add_port(kClientLimits, api_port_.acceptor.get());
  add_port(kSocketLimits, socket_.acceptor.get());
  add_port(kPeerLimits, federation_port_.acceptor.get());
  if (http_ != nullptr) {
    add_port(kHttpLimits, &http_->acceptor());
    limits_.Add([this] { return LimitsOfHttp(http_->counts()); });
  }
  limits_.Add([this, ports]() -> std::vector<LimitUse> {
    uint64_t none_left = 0;
    uint64_t foreign = 0;
    for (const transport::ConnectionAcceptor* port : ports) {
      const auto ended = port->counts().ended;
      none_left += ended[static_cast<size_t>(ConnectionEnd::kNoDescriptor)];
      foreign += ended[static_cast<size_t>(ConnectionEnd::kForeignUser)];
    }
    const transport::HeaderBlocks& headers = transport::ProcessHeaderBlocks();
    return {{"descriptors", LimitScope::kSystem, "descriptors", static_cast<double>(descriptors_),
             CountDescriptors(), none_left},
            {"socket_users", LimitScope::kSource, "users", 2, 0, foreign},
            {"header_block", LimitScope::kLink, "bytes", transport::kMaxHeaderBlockBytes,
             headers.open_bytes(), headers.refused()},
            {"log_lines", LimitScope::kSystem, "lines a minute", limits::kLinkLogLines, 0,
             LogLimit::left_out_of_all()}};
  });
  if (!federates_) {
    return;
  }
  limits_.Add([this] { return peer_counters_.Get().limits; });
  limits_.Add([this]() -> std::vector<LimitUse> {
    return {
        Counted("joins_silent", LimitScope::kUnauthenticated, "joins", limits::kMaxJoinsUnderWay,
                join_counts_.silent),
        Counted("joins_applying", LimitScope::kSystem, "joins", limits::kMaxJoinsUnderWay,
                join_counts_.applying),
        Counted("joins_of_connection", LimitScope::kLink, "joins", 1, join_counts_.of_connection),
        Counted("links_of_connection", LimitScope::kLink, "links", 1, link_counts_.of_connection),
        Counted("frames_waiting", LimitScope::kLink, "frames", limits::kMaxLinkFramesWaiting,
                link_counts_.waiting_frames),
        Counted("frames_to_send", LimitScope::kLink, "frames", limits::kMaxLinkQueue,
                link_counts_.queue),
        {"peer_commits", LimitScope::kSystem, "commits a second", 1, 0,
         peer_commits_.put_off.load()}};
  });
}

}  // namespace ruvd::node
