// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>

#include "base/executor.h"
#include "base/limit_counter.h"
#include "node/admission/admission_controller.h"
#include "node/admission/link_tls.h"
#include "node/transport/grpc_types.h"

namespace ruvd::api {

// What became of the limits of joins. Thread-safe.
struct JoinCounts {
  LimitCounter silent;         // joins without an application: kMaxJoinsUnderWay
  LimitCounter applying;       // joins with one: as many
  LimitCounter of_connection;  // joins over one connection: one at a time
};

// The objects that the services of the cluster authority's node call. All are borrowed and must
// outlive the server.
struct AdmissionDependencies {
  admission::AdmissionController* office = nullptr;
  const admission::LinkTls* tls = nullptr;  // of the port for peers
  Executor* files = nullptr;                // runs work that waits for the disk
  privacy::NodeId self{};                   // the node itself, which cannot be revoked
  // Is called with the newest revocation list, which may name a node or a key more.
  std::function<void(const privacy::RevocationList&)> on_revoked;
  JoinCounts* joins = nullptr;  // for MakeAdmissionService
};

// Makes the service on the port for peers: it admits nodes that have a token, and gives members new
// certificates. At most kMaxJoinsUnderWay calls apply at a time, and as many have not applied yet;
// a newcomer displaces the oldest of these. Each lasts at most kJoinPatience.
std::unique_ptr<grpc::Service> MakeAdmissionService(const AdmissionDependencies& dependencies);

// Makes the service on the port for clients: it makes tokens and revokes nodes.
std::unique_ptr<grpc::Service> MakeAuthorityService(const AdmissionDependencies& dependencies);

}  // namespace ruvd::api
