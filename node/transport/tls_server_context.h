// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/clock.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace ruvd::transport {

// What a TLS server other than gRPC's shows its callers: the key pair of two PEM files, which are
// read again after they change, TLS 1.3 only, and no request for a client's certificate. gRPC's
// servers do the same by ServerCredentials. One thread calls its methods.
class TlsServerContext {
 public:
  // Reads the pair. Returns the errors of CheckServerCertificate. `clock` is borrowed.
  static absl::StatusOr<std::unique_ptr<TlsServerContext>> Load(const std::string& certificate_path,
                                                                const std::string& key_path,
                                                                const Clock& clock);

  // Returns the context for a new connection. At most once in kTlsReloadSeconds it looks whether a
  // file has changed. While the new pair cannot be used, the former one stays.
  std::shared_ptr<ssl_ctx_st> Current();
  // Returns why the changed pair cannot be used, once for each such reason in a row; OK if nothing
  // is new.
  absl::Status TakeProblem() { return std::exchange(news_, absl::OkStatus()); }

 private:
  // Tells one state of a file from another.
  struct FileState {
    int64_t modified_ns = 0;
    uint64_t inode = 0;
    int64_t bytes = 0;
    bool operator==(const FileState&) const = default;
  };
  static FileState StateOf(const std::string& path);

  TlsServerContext(std::string certificate_path, std::string key_path, const Clock& clock)
      : certificate_path_(std::move(certificate_path)),
        key_path_(std::move(key_path)),
        clock_(clock) {}
  absl::Status Read();

  const std::string certificate_path_;
  const std::string key_path_;
  const Clock& clock_;
  std::shared_ptr<ssl_ctx_st> context_;
  FileState certificate_state_;
  FileState key_state_;
  TimePoint next_look_{};
  absl::Status problem_;  // of the last look at a changed pair
  absl::Status news_;     // the same, until it is taken
};

}  // namespace ruvd::transport
