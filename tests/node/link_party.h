// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "node/admission/link_gate.h"
#include "node/admission/link_tls.h"
#include "node/transport/tls.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"

namespace ruvd::test {

// A member of a cluster that is no running node, for the TLS of links.
class Member {
 public:
  // The certificate begins an hour ago and ends `life_ms` from now, which may be in the past.
  explicit Member(const privacy::ClusterAuthority& authority, int64_t life_ms = 3'600'000)
      : certificate_(authority
                         .Issue({.node_key = key_.public_key(),
                                 .name = "member",
                                 .not_before_ms = SystemClock().WallMillis() - 3'600'000,
                                 .not_after_ms = SystemClock().WallMillis() + life_ms,
                                 .serial = 1})
                         .value()) {}

  const privacy::NodeKey& key() const { return key_; }
  const privacy::AdmissionCert& certificate() const { return certificate_; }
  transport::TlsCertificate Tls() const {
    return admission::MakeMemberTls(certificate_, key_).value();
  }
  std::unique_ptr<admission::LinkTls> LinkTlsAt(const std::string& path) const {
    return admission::LinkTls::Create(
               {.path = path, .certificate = certificate_, .key = &key_, .gate = Gate()})
        .value();
  }
  std::shared_ptr<admission::LinkGate> Gate() const {
    return std::make_shared<admission::LinkGate>(certificate_.issuer.root, SystemClock());
  }
  // Returns a channel over a connection of its own to a node of the member's cluster.
  std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) const {
    return ChannelWith(Tls(), address);
  }
  // Does that with another TLS key.
  std::shared_ptr<grpc::Channel> ChannelWith(const transport::TlsCertificate& tls,
                                             const std::string& address) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetSslTargetNameOverride(transport::kSelfSignedName);
    return grpc::CreateCustomChannel(address, admission::LinkCredentials(tls, Gate()), arguments);
  }

 private:
  privacy::NodeKey key_ = privacy::NodeKey::Generate();
  privacy::AdmissionCert certificate_;
};

}  // namespace ruvd::test
