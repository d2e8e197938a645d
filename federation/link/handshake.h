// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "federation/limits.h"
#include "federation/link/certificates.h"
#include "federation/link/link_channel.h"
#include "federation/link/revocation_fetcher.h"
#include "federation/local_node.h"
#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd::federation {

// One side of the opening of a link: dialler Hello -> listener HelloAck -> dialler HelloProof. Both
// sides prove their key by a signature over the transcript of both introductions, so a certificate
// alone, a recorded link or an altered version range does not pass. Over TLS each side states the
// certificate that it sees at the other end, and the transcript includes both; an attacker between
// two nodes shows at least one of them another certificate, and is refused. The proofs of a link
// through a relay are useless on a direct link, and vice versa. The class does no I/O. Not
// thread-safe.
class Handshake {
 public:
  using WireFrame = v1::WireFrame;
  using Nonce = std::array<uint8_t, 32>;

  // `local` must outlive the handshake.
  Handshake(const LocalNode& local, bool dialed, const Nonce& nonce, LinkChannel channel = {});

  // Tells the peer which revocation list this node has. Must be called before the first frame. The
  // proof covers it, so that a relay cannot hide it.
  void Announce(const RevocationNotice& notice) { *own_.mutable_revocations() = ToProto(notice); }

  // Returns the dialler's first frame.
  WireFrame Hello() const;
  // Takes the peer's next frame and returns the answer, if there is one. An error is the reason to
  // close the link: PROTOCOL_VERSION, CERTIFICATE_*, KEY_INVALID, WRONG_CLUSTER, SIGNATURE_INVALID,
  // MODEL_MISMATCH, FRAME_MISMATCH, DUPLICATE_LINK (to itself), CHANNEL_BINDING, ENVELOPE_MALFORMED
  // (unexpected frame).
  absl::StatusOr<std::optional<WireFrame>> OnFrame(const WireFrame& frame,
                                                   CertificateStore& certificates, int64_t now_ms);

  bool dialed() const { return dialed_; }
  bool done() const { return done_; }
  // Whether both ends of the channel may be this node: over TLS they then have its certificate.
  bool LeadsToItself() const;
  // The nonce of this side
  const std::string& nonce() const { return own_.nonce(); }
  // Data of the peer, known once done()
  const privacy::AdmissionCert& peer_certificate() const { return peer_certificate_; }
  // The nonce that the peer chose, 32 bytes
  const Nonce& peer_nonce() const { return peer_nonce_; }
  // Whether the peer says that it carries circuits
  bool peer_relays() const { return peer_relays_; }
  // The id of the plan by which the peer says that it learns; zeros: it runs no rounds
  const Digest& peer_plan() const { return peer_plan_; }
  // Returns a digest of what both sides signed; it is equal on both sides.
  Digest Session() const { return Sha256(Transcript(/*by_dialer=*/true)); }
  // The revocation list that the peer says it has
  const RevocationNotice& peer_revocations() const { return peer_revocations_; }

 private:
  using Introduction = v1::Introduction;
  absl::Status AcceptIntroduction(const Introduction& introduction, CertificateStore& certificates,
                                  int64_t now_ms);
  // Records the channel binding if both sides see the same channel, otherwise returns how they
  // differ.
  absl::Status BindChannel(const Introduction& introduction);
  absl::StatusOr<WireFrame> OnHello(const v1::Hello& hello, CertificateStore& certificates,
                                    int64_t now_ms);
  absl::StatusOr<WireFrame> OnHelloAck(const v1::HelloAck& ack, CertificateStore& certificates,
                                       int64_t now_ms);
  absl::Status OnHelloProof(const v1::HelloProof& proof);
  // Returns what the named side signs.
  std::string Transcript(bool by_dialer) const;
  absl::Status CheckProof(bool by_dialer, std::string_view proof) const;
  std::string MakeProof() const;

  const LocalNode* local_;
  bool dialed_;
  LinkChannel channel_;
  Digest binding_{};  // binding of the channel; zero on a plain link
  bool done_ = false;
  bool introduced_ = false;
  Introduction own_;
  // From the dialler's Hello
  // The versions of the Hello that opened the link
  uint32_t version_min_ = limits::kProtocolVersion;
  uint32_t version_max_ = limits::kProtocolVersion;
  Digest peer_introduction_hash_{};
  privacy::AdmissionCert peer_certificate_;
  RevocationNotice peer_revocations_;
  Nonce peer_nonce_{};
  bool peer_relays_ = false;
  Digest peer_plan_{};
};

// Returns whether an address may be remembered and dialled: host:port (base/host_port.h), or empty.
bool IsValidAddress(std::string_view address);

}  // namespace ruvd::federation
