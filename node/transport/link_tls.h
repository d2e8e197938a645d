// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "federation/link/link_channel.h"
#include "node/transport/tls.h"

namespace ruvd::transport {

// To dial another node: TLS 1.3 with this certificate, and no opinion on the other's. Who is there
// is what the handshake of the link finds out (federation/link/handshake.h).
std::shared_ptr<grpc::ChannelCredentials> LinkCredentials(const TlsCertificate& own);

// TLS of a node's links: a key of its own, made at every start and whenever asked, that no
// authority knows. Thread-safe.
class LinkTls {
 public:
  // Keeps the key in `path` (mode 0600), where the server's credentials look for a new one; what
  // was there is replaced. Errors of RequireTls13, MakeSelfSignedCertificate and writing the file.
  static absl::StatusOr<std::unique_ptr<LinkTls>> Create(std::string path);

  // Takes a new key for the links that open from now on; those that are open stay. The server's
  // follow within kTlsReloadSeconds. On an error the former key stays.
  absl::Status Rotate();

  // Of the listening side: asks every client for a certificate.
  std::shared_ptr<grpc::ServerCredentials> server_credentials() const;
  // Of the dialling side, with the present certificate.
  std::shared_ptr<grpc::ChannelCredentials> channel_credentials() const;
  // Hashes of the present certificate and of some before it, the newest last.
  std::vector<Digest> own_certificates() const;
  // What the handshake of a link over a connection with this context has to know.
  federation::LinkChannel ChannelOf(const grpc::AuthContext& context) const;

 private:
  explicit LinkTls(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  mutable Mutex mutex_;
  TlsCertificate present_ ABSL_GUARDED_BY(mutex_);
  std::vector<Digest> hashes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::transport
