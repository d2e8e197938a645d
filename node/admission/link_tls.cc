// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/link_tls.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "node/limits.h"

namespace ruvd::admission {
namespace {

namespace tls = grpc::experimental;

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> LinkCredentials(const transport::TlsCertificate& own) {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<tls::StaticDataCertificateProvider>(
      std::vector<tls::IdentityKeyCertPair>{{own.private_key, own.certificate}}));
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::make_shared<tls::NoOpCertificateVerifier>());
  return tls::TlsCredentials(options);
}

absl::StatusOr<std::unique_ptr<LinkTls>> LinkTls::Create(std::string path) {
  RETURN_IF_ERROR(transport::RequireTls13());
  std::unique_ptr<LinkTls> made(new LinkTls(std::move(path)));
  RETURN_IF_ERROR(made->Rotate());
  return made;
}

absl::Status LinkTls::Rotate() {
  ASSIGN_OR_RETURN(transport::TlsCertificate next, transport::MakeSelfSignedCertificate());
  const MutexLock lock(mutex_);
  // The hash must be known before gRPC can send the certificate to a peer.
  hashes_.push_back(next.hash);
  // Key and certificate are in one file, so that a rename replaces both together.
  if (absl::Status written = WriteFileAtomically(path_, next.private_key + next.certificate, 0600);
      !written.ok()) {
    hashes_.pop_back();
    return written;
  }
  if (hashes_.size() > limits::kMaxLinkCertificates) {
    hashes_.erase(hashes_.begin());
  }
  present_ = std::move(next);
  return absl::OkStatus();
}

std::shared_ptr<grpc::ServerCredentials> LinkTls::server_credentials() const {
  tls::TlsServerCredentialsOptions options(transport::WatchCertificate(path_, path_));
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  options.set_certificate_verifier(std::make_shared<tls::NoOpCertificateVerifier>());
  return tls::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> LinkTls::channel_credentials() const {
  const MutexLock lock(mutex_);
  return LinkCredentials(present_);
}

std::vector<Digest> LinkTls::own_certificates() const {
  const MutexLock lock(mutex_);
  return hashes_;
}

federation::LinkChannel LinkTls::ChannelOf(const grpc::AuthContext& context) const {
  // A connection without a certificate is refused earlier. If there were one, the empty hash would
  // match no certificate and the peer would refuse.
  return {.peer_certificate = transport::PeerCertificateOf(context).value_or(Digest{}),
          .own_certificates = own_certificates()};
}

}  // namespace ruvd::admission
