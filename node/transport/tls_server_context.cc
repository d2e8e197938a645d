// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/tls_server_context.h"

#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <chrono>
#include <utility>

#include "base/file.h"
#include "base/limits.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "node/transport/tls.h"
#include "privacy/seal/secret_file.h"

namespace ruvd::transport {
namespace {

using BioPtr = std::unique_ptr<BIO, decltype(&BIO_free_all)>;
using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;

BioPtr Reader(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free_all};
}

X509Ptr NextCertificate(BIO& bio) {
  return {PEM_read_bio_X509(&bio, nullptr, nullptr, nullptr), &X509_free};
}

// Gives the context the server's certificate and those of its issuers behind it.
bool UseChain(SSL_CTX& context, const std::string& chain) {
  const BioPtr bio = Reader(chain);
  const X509Ptr own = bio == nullptr ? X509Ptr(nullptr, &X509_free) : NextCertificate(*bio);
  if (own == nullptr || SSL_CTX_use_certificate(&context, own.get()) != 1) {
    return false;
  }
  for (X509Ptr issuer = NextCertificate(*bio); issuer != nullptr; issuer = NextCertificate(*bio)) {
    if (SSL_CTX_add1_chain_cert(&context, issuer.get()) != 1) {
      return false;
    }
  }
  return true;
}

bool UseKey(SSL_CTX& context, const std::string& pem) {
  const BioPtr bio = Reader(pem);
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
  return key != nullptr && SSL_CTX_use_PrivateKey(&context, key.get()) == 1 &&
         SSL_CTX_check_private_key(&context) == 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsServerContext>> TlsServerContext::Load(
    const std::string& certificate_path, const std::string& key_path, const Clock& clock) {
  std::unique_ptr<TlsServerContext> loaded(new TlsServerContext(certificate_path, key_path, clock));
  RETURN_IF_ERROR(loaded->Read());
  return loaded;
}

absl::Status TlsServerContext::Read() {
  certificate_state_ = StateOf(certificate_path_);
  key_state_ = StateOf(key_path_);
  next_look_ = clock_.Now() + std::chrono::seconds(limits::kTlsReloadSeconds);
  RETURN_IF_ERROR(CheckServerCertificate(certificate_path_, key_path_, clock_.WallMillis()));
  ASSIGN_OR_RETURN(const std::string chain, ReadFile(certificate_path_, limits::kMaxConfigBytes));
  ASSIGN_OR_RETURN(std::string secret, privacy::ReadSecretFile(key_path_, "TLS key"));
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const bool usable = context != nullptr &&
                      SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) == 1 &&
                      UseChain(*context, chain) && UseKey(*context, secret);
  OPENSSL_cleanse(secret.data(), secret.size());
  if (!usable) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "OpenSSL cannot use {} with {}; name a certificate, with its issuers behind it, "
                 "and its own key",
                 certificate_path_, key_path_);
  }
  context_ = std::move(context);
  return absl::OkStatus();
}

std::shared_ptr<ssl_ctx_st> TlsServerContext::Current() {
  if (clock_.Now() < next_look_) {
    return context_;
  }
  next_look_ = clock_.Now() + std::chrono::seconds(limits::kTlsReloadSeconds);
  if (StateOf(certificate_path_) != certificate_state_ || StateOf(key_path_) != key_state_) {
    // Two files cannot change at once, so what does not fit together may fit at the next look.
    absl::Status read = Read();
    if (!read.ok()) {
      certificate_state_ = FileState();
    }
    if (read != problem_) {
      problem_ = std::move(read);
      news_ = problem_;
    }
  }
  return context_;
}

TlsServerContext::FileState TlsServerContext::StateOf(const std::string& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) {
    return {};
  }
  return {.modified_ns = int64_t{file.st_mtim.tv_sec} * 1'000'000'000 + file.st_mtim.tv_nsec,
          .inode = file.st_ino,
          .bytes = file.st_size};
}

}  // namespace ruvd::transport
