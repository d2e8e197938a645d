// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// TLS certificates of strangers: as they come, and with any statement in a certificate that is
// otherwise well formed.

#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "node/transport/tls.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd;
  std::string base64(4 * (size / 3 + 1) + 1, '\0');
  base64.resize(static_cast<size_t>(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(base64.data()),
                                                    data, static_cast<int>(size))));
  std::string pem = "-----BEGIN CERTIFICATE-----\n";
  for (size_t i = 0; i < base64.size(); i += 64) {
    pem += base64.substr(i, 64) + "\n";
  }
  pem += "-----END CERTIFICATE-----\n";
  (void)transport::StatementIn(pem);
  (void)transport::CertificateHash(pem);

  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto made =
      transport::MakeSelfSignedCertificate("", [&](const Digest&) { return text; }).value();
  const auto read = transport::StatementIn(made.certificate);
  RUVD_CHECK(size > 1000 || (read && read->text == text));
  return 0;
}
