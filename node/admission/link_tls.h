// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "federation/link/link_channel.h"
#include "node/admission/link_gate.h"
#include "node/transport/grpc_types.h"
#include "node/transport/tls.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/join_invitation.h"
#include "privacy/identity/node_key.h"

namespace ruvd::admission {

// Makes a TLS key with a certificate that says which member holds it, or which invitation its
// holder has. Both return the errors of MakeSelfSignedCertificate; the latter TOKEN_INVALID, too.
absl::StatusOr<transport::TlsCertificate> MakeMemberTls(const privacy::AdmissionCert& certificate,
                                                        const privacy::NodeKey& key);
absl::StatusOr<transport::TlsCertificate> MakeApplicantTls(
    const privacy::JoinInvitation& invitation);

// Makes the credentials to dial another node: TLS 1.3 with this certificate. The connection opens
// only to a node that `gate` takes for a member. `on_judged` hears on gRPC's threads what it found;
// it may be null.
using OnJudged = std::function<void(const absl::Status&)>;
std::shared_ptr<grpc::ChannelCredentials> LinkCredentials(const transport::TlsCertificate& own,
                                                          std::shared_ptr<LinkGate> gate,
                                                          OnJudged on_judged = nullptr);

// The TLS key of a node's links. It is made at every start and by Rotate; its certificate carries a
// credential of the node (privacy/identity/link_credential.h). Both ends check the other's in the
// TLS handshake; the handshake of the link proves the node's own key as well
// (federation/link/handshake.h). Thread-safe.
class LinkTls {
 public:
  struct Options {
    std::string path;                       // where the key is written
    privacy::AdmissionCert certificate;     // of this node
    const privacy::NodeKey* key = nullptr;  // borrowed
    std::shared_ptr<LinkGate> gate;         // judges the other ends
  };
  // Makes a key and writes it to the path (mode 0600), replacing the file; the server's credentials
  // watch this file for a new key. Returns the errors of RequireTls13, of MakeMemberTls and of
  // writing the file.
  static absl::StatusOr<std::unique_ptr<LinkTls>> Create(Options options);

  // Makes a new key for links that open from now on; open links continue. The server uses the new
  // key within kTlsReloadSeconds. After an error the former key stays.
  absl::Status Rotate();
  // Rotates to a key that carries another certificate of this node. After an error Rotate does so.
  absl::Status SetCertificate(const privacy::AdmissionCert& certificate);

  // Returns the credentials of the listening side, which let in only whom the gate admits.
  std::shared_ptr<grpc::ServerCredentials> server_credentials() const;
  // Returns the credentials of the dialling side, with the present certificate.
  std::shared_ptr<grpc::ChannelCredentials> channel_credentials() const;
  // Returns the hashes of the present certificate and of some earlier ones, the newest last.
  std::vector<Digest> own_certificates() const;
  // Returns the facts of a TLS connection that the handshake of its link needs.
  federation::LinkChannel ChannelOf(const grpc::AuthContext& context) const;
  // Returns whether the other end of a connection showed the credential of a member, not only a
  // token.
  bool IsMember(const grpc::AuthContext& context) const;
  // Returns whether the gates of other nodes let this node in, as far as it knows.
  absl::Status CheckOwnCertificate() const;
  LinkGate& gate() const { return *gate_; }

 private:
  explicit LinkTls(Options options)
      : path_(std::move(options.path)),
        key_(*options.key),
        gate_(std::move(options.gate)),
        certificate_(std::move(options.certificate)) {}
  absl::Status RotateLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const privacy::NodeKey& key_;
  const std::shared_ptr<LinkGate> gate_;
  mutable Mutex mutex_;
  privacy::AdmissionCert certificate_ ABSL_GUARDED_BY(mutex_);
  transport::TlsCertificate present_ ABSL_GUARDED_BY(mutex_);
  std::vector<Digest> hashes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::admission
