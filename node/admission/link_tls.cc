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
#include <variant>

#include "base/file.h"
#include "base/status.h"
#include "node/limits.h"
#include "privacy/identity/join_token.h"
#include "privacy/identity/link_credential.h"

namespace ruvd::admission {
namespace {

namespace tls = grpc::experimental;

// Judges the certificate of the other end, at the end of the TLS handshake. Nothing that comes
// after it is read before.
class Verifier final : public tls::ExternalCertificateVerifier {
 public:
  using Judge = std::function<absl::Status(std::string_view pem)>;
  explicit Verifier(Judge judge) : judge_(std::move(judge)) {}
  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* sync_status) override {
    const grpc::string_ref pem = request->peer_cert();
    const absl::Status judged = judge_({pem.data(), pem.size()});
    *sync_status = judged.ok() ? grpc::Status::OK
                               : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, MessageOf(judged));
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  const Judge judge_;
};

std::shared_ptr<tls::CertificateVerifier> VerifierOf(Verifier::Judge judge) {
  return tls::ExternalCertificateVerifier::Create<Verifier>(std::move(judge));
}

}  // namespace

absl::StatusOr<transport::TlsCertificate> MakeMemberTls(const privacy::AdmissionCert& certificate,
                                                        const privacy::NodeKey& key) {
  return transport::MakeSelfSignedCertificate("", [&](const Digest& tls_key) {
    return privacy::EncodeLinkCredential(
        privacy::MemberCredential::Sign(certificate, tls_key, key));
  });
}

absl::StatusOr<transport::TlsCertificate> MakeApplicantTls(
    const privacy::JoinInvitation& invitation) {
  absl::Status usable;
  absl::StatusOr<transport::TlsCertificate> made =
      transport::MakeSelfSignedCertificate("", [&](const Digest& tls_key) {
        const auto credential = privacy::MakeApplicantCredential(invitation, tls_key);
        usable = credential.status();
        return credential.ok() ? privacy::EncodeLinkCredential(*credential) : std::string();
      });
  RETURN_IF_ERROR(usable);
  return made;
}

std::shared_ptr<grpc::ChannelCredentials> LinkCredentials(const transport::TlsCertificate& own,
                                                          std::shared_ptr<LinkGate> gate,
                                                          OnJudged on_judged) {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<tls::StaticDataCertificateProvider>(
      std::vector<tls::IdentityKeyCertPair>{{own.private_key, own.certificate}}));
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(
      VerifierOf([gate = std::move(gate), on_judged = std::move(on_judged)](std::string_view pem) {
        absl::Status judged = gate->RequireMember(pem);
        if (on_judged) {
          on_judged(judged);
        }
        return judged;
      }));
  return tls::TlsCredentials(options);
}

absl::StatusOr<std::unique_ptr<LinkTls>> LinkTls::Create(Options options) {
  RETURN_IF_ERROR(transport::RequireTls13());
  std::unique_ptr<LinkTls> made(new LinkTls(std::move(options)));
  RETURN_IF_ERROR(made->Rotate());
  return made;
}

absl::Status LinkTls::Rotate() {
  const MutexLock lock(mutex_);
  return RotateLocked();
}

absl::Status LinkTls::SetCertificate(const privacy::AdmissionCert& certificate) {
  const MutexLock lock(mutex_);
  certificate_ = certificate;
  return RotateLocked();
}

absl::Status LinkTls::CheckOwnCertificate() const {
  const MutexLock lock(mutex_);
  return gate_->Require(certificate_);
}

absl::Status LinkTls::RotateLocked() {
  ASSIGN_OR_RETURN(transport::TlsCertificate next, MakeMemberTls(certificate_, key_));
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
  options.set_certificate_verifier(
      VerifierOf([gate = gate_](std::string_view pem) { return gate->Admit(pem); }));
  return tls::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> LinkTls::channel_credentials() const {
  const MutexLock lock(mutex_);
  return LinkCredentials(present_, gate_);
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

bool LinkTls::IsMember(const grpc::AuthContext& context) const {
  // The gate has checked the credential, but lets some in who may only renew it.
  const auto statement = transport::StatementIn(transport::PeerPemOf(context));
  const auto credential = statement ? privacy::ParseLinkCredential(AsBytes(statement->text))
                                    : absl::StatusOr<privacy::LinkCredential>();
  const auto* const member =
      credential.ok() ? std::get_if<privacy::MemberCredential>(&*credential) : nullptr;
  return member != nullptr && gate_->Require(member->certificate).ok();
}

}  // namespace ruvd::admission
