// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>

#include "base/executor.h"
#include "node/admission/admission_office.h"
#include "node/transport/link_tls.h"

namespace ruvd::api {

// What the services of the cluster authority's node call. All borrowed; they outlive the server.
struct AdmissionDependencies {
  admission::AdmissionOffice* office = nullptr;
  const transport::LinkTls* tls = nullptr;  // of the port of peers
  Executor* files = nullptr;                // of what waits for the disk
  privacy::NodeId self{};                   // is not revoked
  // Hears of a longer revocation list.
  std::function<void(const privacy::RevocationList&)> on_revoked;
};

// On the port of peers: admits who has a token, and gives members new certificates. At most
// kMaxJoinsUnderWay at a time, each for at most kJoinPatience.
std::unique_ptr<grpc::Service> MakeAdmissionService(const AdmissionDependencies& dependencies);

// On the port of clients: makes tokens, revokes nodes.
std::unique_ptr<grpc::Service> MakeAuthorityService(const AdmissionDependencies& dependencies);

}  // namespace ruvd::api
