// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "federation/link/link_channel.h"
#include "node/transport/grpc_types.h"
#include "node/transport/tls.h"

namespace ruvd::admission {

// Makes the credentials to dial another node: TLS 1.3 with this certificate. The other node's
// certificate is not verified here; the handshake of the link does that
// (federation/link/handshake.h).
std::shared_ptr<grpc::ChannelCredentials> LinkCredentials(const transport::TlsCertificate& own);

// The TLS key of a node's links. It is made at every start and by Rotate, and no authority signs
// it. Thread-safe.
class LinkTls {
 public:
  // Makes a key and writes it to `path` (mode 0600), replacing the file; the server's credentials
  // watch this file for a new key. Returns the errors of RequireTls13, of MakeSelfSignedCertificate
  // and of writing the file.
  static absl::StatusOr<std::unique_ptr<LinkTls>> Create(std::string path);

  // Makes a new key for links that open from now on; open links continue. The server uses the new
  // key within kTlsReloadSeconds. After an error the former key stays.
  absl::Status Rotate();

  // Returns the credentials of the listening side, which ask every client for a certificate.
  std::shared_ptr<grpc::ServerCredentials> server_credentials() const;
  // Returns the credentials of the dialling side, with the present certificate.
  std::shared_ptr<grpc::ChannelCredentials> channel_credentials() const;
  // Returns the hashes of the present certificate and of some earlier ones, the newest last.
  std::vector<Digest> own_certificates() const;
  // Returns the facts of a TLS connection that the handshake of its link needs.
  federation::LinkChannel ChannelOf(const grpc::AuthContext& context) const;

 private:
  explicit LinkTls(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  mutable Mutex mutex_;
  transport::TlsCertificate present_ ABSL_GUARDED_BY(mutex_);
  std::vector<Digest> hashes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::admission
