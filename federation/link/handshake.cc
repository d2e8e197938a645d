// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/link/handshake.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/host_port.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/events/outbox.h"
#include "federation/limits.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

absl::Status Unexpected(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
               "link opening {}; update the other node", what);
}

absl::Status OtherChannel(std::string_view how) {
  return MakeError(absl::StatusCode::kPermissionDenied, reasons::kChannelBinding, how);
}

// Returns the versions that the sender of a Hello speaks, for messages.
std::string VersionsOf(const v1::Hello& hello) {
  if (hello.version_max() == 0) {
    return "the version of ruvd 0.1";
  }
  return hello.version_min() == hello.version_max()
             ? fmt::format("version {}", hello.version_max())
             : fmt::format("versions {} to {}", hello.version_min(), hello.version_max());
}

absl::Status OtherVersion(std::string_view what) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kProtocolVersion,
               "peer {} of the gossip protocol, this node speaks version {} only; update ruvd on "
               "the older of both nodes",
               what, limits::kProtocolVersion);
}

// Returns the first digits of an id that a peer sent, for messages. It may have any length.
std::string StartOf(const std::string& id) {
  return ToHex(AsBytes(std::string_view(id).substr(0, 8)));
}

absl::Status OtherFrame(const std::string& own, const std::string& peers) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
               "this node uses adapter frame {}, the peer frame {}; use the same model package "
               "(with the same .frame.gguf beside the model, or without one) on "
               "every node of a cluster",
               StartOf(own), StartOf(peers));
}

// The hashed bytes are unambiguous: every part has a fixed length or is preceded by its length.
Digest HashOf(const v1::Introduction& introduction) {
  ByteWriter writer;
  for (const std::string* part :
       {&introduction.admission_cert(), &introduction.nonce(), &introduction.model_hash(),
        &introduction.frame_id(), &introduction.listen_address()}) {
    writer.Write(static_cast<uint32_t>(part->size())).WriteText(*part);
  }
  const v1::RevocationNotice& revocations = introduction.revocations();
  writer.Write(revocations.number()).Write(revocations.bytes());
  writer.Write(static_cast<uint32_t>(revocations.hash().size())).WriteText(revocations.hash());
  return Sha256(writer.str());
}

}  // namespace

bool IsValidAddress(std::string_view address) {
  return address.size() <= limits::kMaxAddressBytes &&
         (address.empty() || ParseHostPort(address).has_value());
}

Handshake::Handshake(const LocalNode& local, bool dialed, const Nonce& nonce, LinkChannel channel)
    : local_(&local), dialed_(dialed), channel_(std::move(channel)) {
  own_.set_admission_cert(local.certificate.Encode());
  own_.set_nonce(std::string(AsText(nonce)));
  own_.set_model_hash(std::string(AsText(local.model_hash)));
  own_.set_frame_id(std::string(AsText(local.frame_id)));
  own_.set_listen_address(local.listen_address);
  if (channel_.peer_certificate) {
    own_.set_seen_certificate(std::string(AsText(*channel_.peer_certificate)));
  }
  own_.set_relays(local.relays);
  if (local.plan_id != Digest{}) {
    own_.set_plan_id(std::string(AsText(local.plan_id)));
  }
}

bool Handshake::LeadsToItself() const {
  return !channel_.peer_certificate ||
         std::ranges::find(channel_.own_certificates, *channel_.peer_certificate) !=
             channel_.own_certificates.end();
}

Handshake::WireFrame Handshake::Hello() const {
  WireFrame frame;
  auto* hello = frame.mutable_hello();
  hello->set_version_min(version_min_);
  hello->set_version_max(version_max_);
  hello->set_cluster_id(std::string(AsText(local_->cluster_id)));
  *hello->mutable_introduction() = own_;
  return frame;
}

std::string Handshake::Transcript(bool by_dialer) const {
  constexpr std::string_view kDomain("RUVDLLM-HELLO-v1\0", 17);
  const Digest own = HashOf(own_);
  ByteWriter writer;
  writer.WriteText(kDomain).Write(static_cast<uint8_t>(by_dialer ? 1 : 2));
  writer.Write(version_min_).Write(version_max_).Write(limits::kProtocolVersion);
  writer.WriteBytes(local_->cluster_id);
  writer.WriteBytes(dialed_ ? own : peer_introduction_hash_);
  writer.WriteBytes(dialed_ ? peer_introduction_hash_ : own);
  writer.WriteBytes(binding_);
  return writer.Take();
}

std::string Handshake::MakeProof() const {
  return std::string(AsText(local_->key->Sign(AsBytes(Transcript(dialed_)))));
}

absl::Status Handshake::CheckProof(bool by_dialer, std::string_view proof) const {
  privacy::Signature signature;
  if (proof.size() != signature.size()) {
    return Unexpected("proof has the wrong length");
  }
  std::memcpy(signature.data(), proof.data(), signature.size());
  if (!privacy::VerifySignature(peer_certificate_.node_key, AsBytes(Transcript(by_dialer)),
                                signature)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "peer does not hold the key of the certificate of {}; check its key file",
                 peer_certificate_.name);
  }
  return absl::OkStatus();
}

absl::Status Handshake::BindChannel(const Introduction& introduction) {
  constexpr std::string_view kDomain("RUVDLLM-TLS-v1\0", 15);
  const std::string& seen = introduction.seen_certificate();
  if (channel_.peer_certificate.has_value() == seen.empty()) {
    return OtherChannel(
        "one end of the link sees TLS and the other does not: something between the nodes "
        "terminates TLS, "
        "or federation.tls differs; let nodes reach each other directly, with equal settings");
  }
  if (channel_.relayed) {
    constexpr std::string_view kRelayed("RUVDLLM-RELAYED-v1\0", 19);
    binding_ = Sha256(kRelayed);
    return absl::OkStatus();
  }
  if (seen.empty()) {
    return absl::OkStatus();
  }
  const bool ours = std::ranges::any_of(channel_.own_certificates, [&](const Digest& certificate) {
    return seen == AsText(certificate);
  });
  if (!ours) {
    return OtherChannel(
        "the peer sees a TLS certificate that is not this node's: something between the nodes "
        "reads their link; let them reach each other directly, without a proxy that ends TLS");
  }
  const std::string& own_seen = own_.seen_certificate();
  binding_ = Sha256(
      {AsBytes(kDomain), AsBytes(dialed_ ? seen : own_seen), AsBytes(dialed_ ? own_seen : seen)});
  return absl::OkStatus();
}

absl::Status Handshake::AcceptIntroduction(const Introduction& introduction,
                                           CertificateStore& certificates, int64_t now_ms) {
  ASSIGN_OR_RETURN(const privacy::AdmissionCert* cert,
                   certificates.Admit(AsBytes(introduction.admission_cert()), now_ms));
  peer_certificate_ = *cert;
  if (introduction.nonce().size() != sizeof(Nonce)) {
    return Unexpected("nonce has the wrong length");
  }
  if (!IsValidAddress(introduction.listen_address())) {
    return Unexpected("address is no host:port");
  }
  RETURN_IF_ERROR(BindChannel(introduction));
  if (peer_certificate_.node_id == local_->key->id()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kDuplicateLink,
                 "node {} dialled itself; remove its own address from its seeds",
                 peer_certificate_.name);
  }
  if (introduction.model_hash() != AsText(local_->model_hash)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kModelMismatch,
                 "this node serves model {}, the peer another one; serve the same model file on "
                 "every node of a cluster",
                 ToHex(local_->model_hash).substr(0, 16));
  }
  if (introduction.frame_id() != AsText(local_->frame_id)) {
    return OtherFrame(own_.frame_id(), introduction.frame_id());
  }
  peer_introduction_hash_ = HashOf(introduction);
  ASSIGN_OR_RETURN(peer_revocations_, NoticeFrom(introduction.revocations()));
  std::memcpy(peer_nonce_.data(), introduction.nonce().data(), peer_nonce_.size());
  peer_relays_ = introduction.relays();
  peer_plan_ = DigestFrom(introduction.plan_id()).value_or(Digest{});
  introduced_ = true;
  return absl::OkStatus();
}

absl::StatusOr<Handshake::WireFrame> Handshake::OnHello(const v1::Hello& hello,
                                                        CertificateStore& certificates,
                                                        int64_t now_ms) {
  if (hello.version_max() < limits::kProtocolVersion ||
      hello.version_min() > limits::kProtocolVersion) {
    return OtherVersion("speaks " + VersionsOf(hello));
  }
  RETURN_IF_ERROR(AcceptIntroduction(hello.introduction(), certificates, now_ms));
  if (hello.cluster_id() != AsText(local_->cluster_id)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kWrongCluster,
                 "peer wants to join another cluster; check the addresses of its seeds");
  }
  version_min_ = hello.version_min();
  version_max_ = hello.version_max();
  WireFrame frame;
  auto* ack = frame.mutable_hello_ack();
  ack->set_version(limits::kProtocolVersion);
  *ack->mutable_introduction() = own_;
  ack->set_proof(MakeProof());
  return frame;
}

absl::StatusOr<Handshake::WireFrame> Handshake::OnHelloAck(const v1::HelloAck& ack,
                                                           CertificateStore& certificates,
                                                           int64_t now_ms) {
  if (ack.version() != limits::kProtocolVersion) {
    return OtherVersion(fmt::format("chose version {}", ack.version()));
  }
  RETURN_IF_ERROR(AcceptIntroduction(ack.introduction(), certificates, now_ms));
  RETURN_IF_ERROR(CheckProof(/*by_dialer=*/false, ack.proof()));
  done_ = true;
  WireFrame frame;
  frame.mutable_hello_proof()->set_proof(MakeProof());
  return frame;
}

absl::Status Handshake::OnHelloProof(const v1::HelloProof& proof) {
  RETURN_IF_ERROR(CheckProof(/*by_dialer=*/true, proof.proof()));
  done_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Handshake::WireFrame>> Handshake::OnFrame(
    const WireFrame& frame, CertificateStore& certificates, int64_t now_ms) {
  if (!dialed_ && !introduced_ && frame.has_hello()) {
    ASSIGN_OR_RETURN(WireFrame answer, OnHello(frame.hello(), certificates, now_ms));
    return std::optional<WireFrame>(std::move(answer));
  }
  if (dialed_ && !introduced_ && frame.has_hello_ack()) {
    ASSIGN_OR_RETURN(WireFrame answer, OnHelloAck(frame.hello_ack(), certificates, now_ms));
    return std::optional<WireFrame>(std::move(answer));
  }
  if (!dialed_ && introduced_ && frame.has_hello() &&
      HashOf(frame.hello().introduction()) == peer_introduction_hash_) {
    return std::optional<WireFrame>();  // a copy; the answer in progress is for it, too
  }
  if (!dialed_ && introduced_ && frame.has_hello_proof()) {
    RETURN_IF_ERROR(OnHelloProof(frame.hello_proof()));
    return std::optional<WireFrame>();
  }
  return Unexpected("sent a frame out of order");
}

}  // namespace ruvd::federation
