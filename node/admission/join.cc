// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/join.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/link_gate.h"
#include "node/admission/link_tls.h"
#include "node/client/rpc_error.h"
#include "node/limits.h"
#include "node/reasons.h"
#include "privacy/identity/certificate_renewal.h"
#include "privacy/identity/join_token.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "privacy/sodium.h"
#include "ruvd/admission/v1/admission.grpc.pb.h"

namespace ruvd::admission {
namespace {

using JoinStream = grpc::ClientReaderWriter<v1::JoinRequest, v1::JoinResponse>;

// Most tries to connect. gRPC 1.51 reads errno of a pending connect after other calls that may have
// changed it, and may then report a failure (ENOENT was seen on a busy machine). Later versions are
// correct. A node that strangers flood may end a connection, too. The token is sent only over an
// open connection, so another try does not use it up.
constexpr int kGreetings = 3;

// The largest answer holds a certificate and a revocation list.
constexpr int kMaxAnswerBytes =
    limits::kMaxLinkMessageBytes + static_cast<int>(limits::kMaxRevocationListBytes);

// Who asks: what its TLS key shows, which cluster it expects, and what it means if a member of that
// cluster ends the connection once it has seen the key.
struct Caller {
  transport::TlsCertificate own;
  std::shared_ptr<LinkGate> gate;
  privacy::ClusterId cluster{};
  uint32_t least_issuer = 0;  // earlier ones are no authority for the caller
  const Clock& clock;
  std::string_view reason;
  std::string_view meaning;
};

// What was found in the TLS handshake about the node that was dialled. Thread-safe.
class Answerer {
 public:
  void Judged(const absl::Status& status) {
    const MutexLock lock(mutex_);
    judged_ = status;
  }
  // nullopt: no node has shown a certificate yet
  std::optional<absl::Status> judged() const {
    const MutexLock lock(mutex_);
    return judged_;
  }

 private:
  mutable Mutex mutex_;
  std::optional<absl::Status> judged_ ABSL_GUARDED_BY(mutex_);
};

// One attempt, over one connection.
class JoinAttempt {
 public:
  JoinAttempt(const std::string& address, const Caller& caller,
              std::chrono::system_clock::time_point deadline)
      : address_(address), caller_(caller), stub_(ChannelTo(address, caller, answerer_)) {
    context_.set_deadline(deadline);
    stream_ = stub_.Join(&context_);
  }
  ~JoinAttempt() {
    if (stream_ != nullptr) {
      context_.TryCancel();
      (void)stream_->Finish();
    }
  }
  JoinAttempt(const JoinAttempt&) = delete;
  JoinAttempt& operator=(const JoinAttempt&) = delete;

  // Returns the key of the cluster's root, after the authority proved that the channel ends at it.
  absl::StatusOr<privacy::PublicKey> Greet() {
    stream_->WaitForInitialMetadata();
    const Digest seen = transport::PeerCertificateOf(*context_.auth_context()).value_or(Digest{});
    privacy::SecureRandomBytes(nonce_);
    v1::JoinRequest request;
    request.mutable_greeting()->set_nonce(std::string(AsText(nonce_)));
    request.mutable_greeting()->set_seen_certificate(std::string(AsText(seen)));
    ASSIGN_OR_RETURN(const auto response, Ask(request));
    privacy::JoinWelcome welcome;
    const auto issuer = privacy::IssuerCert::Parse(AsBytes(response.welcome().issuer()));
    if (!issuer.ok() || !Copy(response.welcome().proof(), &welcome.proof)) {
      return Strange();
    }
    welcome.issuer = *issuer;
    RETURN_IF_ERROR(welcome.Verify(caller_.cluster, nonce_, seen, caller_.clock.WallMillis()));
    if (welcome.issuer.number < caller_.least_issuer) {
      return Error(
          absl::StatusCode::kPermissionDenied, reasons::kIssuerEnded,
          "the node at {} is issuer {} of the cluster, and issuer {} is known already; dial "
          "the node of the present authority",
          address_, welcome.issuer.number, caller_.least_issuer);
    }
    greeted_ = true;
    return welcome.issuer.root;
  }

  absl::StatusOr<Membership> Apply(const privacy::JoinRequest& join) {
    v1::JoinRequest request;
    auto* application = request.mutable_application();
    application->set_token(join.token);
    application->set_node_key(std::string(AsText(join.node_key)));
    application->set_name(join.name);
    application->set_rotations(join.rotations);
    application->set_proof(std::string(AsText(join.proof)));
    return AskForMembership(request);
  }

  absl::StatusOr<Membership> Renew(const privacy::AdmissionCert& certificate,
                                   const privacy::NodeKey& key,
                                   const std::optional<privacy::KeyRotation>& rotation,
                                   bool ends_former) {
    const auto renewal =
        privacy::CertificateRenewal::Sign(certificate, nonce_, key, rotation, ends_former);
    v1::JoinRequest request;
    auto* application = request.mutable_application();
    application->set_renewed_cert(certificate.Encode());
    application->set_rotations(rotation ? rotation->Encode() : "");
    application->set_ends_former(ends_former);
    application->set_proof(std::string(AsText(renewal.proof)));
    return AskForMembership(request);
  }

 private:
  static std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address, const Caller& caller,
                                                  const std::shared_ptr<Answerer>& answerer) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetSslTargetNameOverride(transport::kSelfSignedName);
    arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
    // Each attempt has a connection of its own, so that another one may find the node well.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(
        address,
        LinkCredentials(caller.own, caller.gate,
                        [answerer](const absl::Status& status) { answerer->Judged(status); }),
        arguments);
  }
  template <typename Array>
  static bool Copy(const std::string& bytes, Array* array) {
    if (bytes.size() != array->size()) {
      return false;
    }
    std::copy(bytes.begin(), bytes.end(), array->begin());
    return true;
  }
  absl::Status Strange() const {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} sent an answer that is not a step of joining; update the older program",
                 address_);
  }

  // Returns why a connection did not open, or ended before an answer.
  absl::Status Unconnected(const std::string& failure) const {
    const std::optional<absl::Status> judged = answerer_->judged();
    if (!judged || greeted_) {
      return Error(absl::StatusCode::kUnavailable, reasons::kNodeUnreachable,
                   "no node answers at {}: {}; check that it runs, and give the address of its "
                   "link service (federation.listen), not of its API",
                   address_, failure);
    }
    RETURN_IF_ERROR(*judged);
    return Error(absl::StatusCode::kPermissionDenied, caller_.reason,
                 "the node at {} ended the connection: {}", address_, caller_.meaning);
  }

  absl::StatusOr<v1::JoinResponse> Ask(const v1::JoinRequest& request) {
    v1::JoinResponse response;
    if (stream_->Write(request) && stream_->Read(&response)) {
      return response;
    }
    const grpc::Status status = std::exchange(stream_, nullptr)->Finish();
    if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
      return Error(absl::StatusCode::kFailedPrecondition, reasons::kNotFound,
                   "the node at {} does not hold the authority's key; name the node on which `ruvd "
                   "token create` works",
                   address_);
    }
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE && status.error_details().empty()) {
      return Unconnected(status.error_message());
    }
    RETURN_IF_ERROR(client::StatusOfCall(static_cast<int>(status.error_code()),
                                         status.error_message(), status.error_details(), address_));
    return Strange();
  }

  absl::StatusOr<Membership> AskForMembership(const v1::JoinRequest& request) {
    ASSIGN_OR_RETURN(const auto response, Ask(request));
    Membership membership;
    ASSIGN_OR_RETURN(membership.certificate,
                     privacy::AdmissionCert::Parse(AsBytes(response.admission().admission_cert())));
    ASSIGN_OR_RETURN(membership.revocations,
                     privacy::RevocationList::Parse(AsBytes(response.admission().revocations())));
    return membership;
  }

  const std::string address_;
  const Caller& caller_;
  const std::shared_ptr<Answerer> answerer_ = std::make_shared<Answerer>();
  v1::AdmissionService::Stub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<JoinStream> stream_;
  privacy::JoinWelcome::Nonce nonce_{};  // of the greeting
  bool greeted_ = false;
};

// A connection after its greeting, and the root of the cluster whose authority is at its other end.
struct Greeted {
  std::unique_ptr<JoinAttempt> attempt;
  privacy::PublicKey root{};
};

absl::StatusOr<Greeted> GreetAuthority(const std::string& address, const Caller& caller,
                                       std::chrono::milliseconds patience) {
  std::unique_ptr<JoinAttempt> attempt;
  absl::StatusOr<privacy::PublicKey> root;
  // One deadline for all tries together, because a node that stops meanwhile waits for them.
  const auto deadline = std::chrono::system_clock::now() + patience;
  for (int tries = 0; tries < kGreetings; ++tries) {
    attempt = std::make_unique<JoinAttempt>(address, caller, deadline);
    root = attempt->Greet();
    const std::string reason = ReasonOf(root.status());
    if (reason != reasons::kNodeUnreachable && reason != caller.reason) {
      break;
    }
  }
  RETURN_IF_ERROR(root.status());
  return Greeted{.attempt = std::move(attempt), .root = *root};
}

absl::Status CheckMembership(const Membership& membership, const privacy::PublicKey& root,
                             const privacy::PublicKey& key, const std::string& address,
                             const Clock& clock) {
  RETURN_IF_ERROR(membership.certificate.Verify(root, clock.WallMillis()));
  privacy::Revocations revocations(root);
  RETURN_IF_ERROR(revocations.Take(membership.revocations));
  RETURN_IF_ERROR(revocations.Require(membership.certificate));
  if (membership.certificate.node_key != key) {
    return Error(absl::StatusCode::kInternal, reasons::kCertificateInvalid,
                 "the authority at {} certified another key; ask its operator", address);
  }
  return absl::OkStatus();
}

absl::StatusOr<Membership> ReplaceCertificate(const std::string& address,
                                              const privacy::AdmissionCert& certificate,
                                              const privacy::NodeKey& key,
                                              const std::optional<privacy::KeyRotation>& rotation,
                                              bool ends_former, std::chrono::milliseconds patience,
                                              const Clock& clock) {
  RETURN_IF_ERROR(transport::RequireTls13());
  ASSIGN_OR_RETURN(transport::TlsCertificate own, MakeMemberTls(certificate, key));
  const Caller caller{
      .own = std::move(own),
      .gate = std::make_shared<LinkGate>(certificate.issuer.root, clock),
      .cluster = privacy::ClusterIdOf(certificate.issuer.root),
      .least_issuer = certificate.issuer.number,
      .clock = clock,
      .reason = reasons::kCertificateRefused,
      .meaning =
          "it refuses this node's certificate, which is revoked there or has expired; its "
          "log says why. Join again with a token, a revoked node with an empty data folder"};
  ASSIGN_OR_RETURN(const Greeted greeted, GreetAuthority(address, caller, patience));
  ASSIGN_OR_RETURN(Membership renewed,
                   greeted.attempt->Renew(certificate, key, rotation, ends_former));
  RETURN_IF_ERROR(CheckMembership(renewed, greeted.root,
                                  rotation ? rotation->next : key.public_key(), address, clock));
  return renewed;
}

}  // namespace

absl::StatusOr<Membership> JoinCluster(const std::string& address,
                                       const privacy::JoinInvitation& invitation,
                                       const std::string& name, const privacy::NodeKey& key,
                                       const Clock& clock) {
  RETURN_IF_ERROR(transport::RequireTls13());
  ASSIGN_OR_RETURN(transport::TlsCertificate own, MakeApplicantTls(invitation));
  const Caller caller{
      .own = std::move(own),
      .gate = std::make_shared<LinkGate>(invitation.cluster, clock, std::nullopt),
      .cluster = invitation.cluster,
      .least_issuer = invitation.issuer,
      .clock = clock,
      .reason = reasons::kTokenInvalid,
      .meaning =
          "the join token is unknown there, or that node does not hold the authority's key; "
          "ask the cluster's operator for a new token, and name the node on which `ruvd "
          "token create` works"};
  ASSIGN_OR_RETURN(const Greeted greeted, GreetAuthority(address, caller, limits::kJoinPatience));
  ASSIGN_OR_RETURN(Membership membership, greeted.attempt->Apply(privacy::JoinRequest::Sign(
                                              invitation.token, name, invitation.cluster, key)));
  RETURN_IF_ERROR(CheckMembership(membership, greeted.root, key.public_key(), address, clock));
  return membership;
}

absl::StatusOr<Membership> RenewAt(const std::string& address,
                                   const privacy::AdmissionCert& certificate,
                                   const privacy::NodeKey& key, std::chrono::milliseconds patience,
                                   const Clock& clock) {
  return ReplaceCertificate(address, certificate, key, std::nullopt, /*ends_former=*/false,
                            patience, clock);
}

absl::StatusOr<Membership> RotateAt(const std::string& address,
                                    const privacy::AdmissionCert& certificate,
                                    const privacy::NodeKey& key,
                                    const privacy::KeyRotation& rotation, bool ends_former,
                                    std::chrono::milliseconds patience, const Clock& clock) {
  return ReplaceCertificate(address, certificate, key, rotation, ends_former, patience, clock);
}

}  // namespace ruvd::admission
