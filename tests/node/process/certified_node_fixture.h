// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>

#include "base/bytes.h"
#include "base/file.h"
#include "node/admission/identity.h"
#include "node/admission/revocation_file.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {

// Federation needs a certificate of the right cluster that is valid now.
class CertifiedNodeTest : public NodeTest {
 protected:
  static constexpr int64_t kLife = 600'000;

  void Certify(const privacy::ClusterAuthority& issuer, const privacy::ClusterAuthority& trusted,
               int64_t not_after_ms) {
    config_.federation.enabled = true;
    config_.federation.listen = "127.0.0.1:0";
    config_.federation.authority = ToHex(trusted.public_key());
    EXPECT_TRUE(MakeDataFolder(config_.node.data_dir).ok());
    auto key =
        privacy::NodeKey::LoadOrCreate(fs::path(config_.node.data_dir) / admission::kNodeKeyFile);
    EXPECT_TRUE(key.ok());
    EXPECT_TRUE(admission::RevocationFile(config_.node.data_dir)
                    .Refresh(/*age_ms=*/0, SystemClock().WallMillis(), trusted)
                    .ok());
    privacy::ClusterAuthority::Request request;
    request.node_key = key->public_key();
    request.name = "a";
    request.not_after_ms = not_after_ms;
    request.not_before_ms = not_after_ms - kLife;
    request.serial = 1;
    auto certificate = issuer.Issue(request);
    EXPECT_TRUE(certificate.ok()) << certificate.status();
    EXPECT_TRUE(
        WriteFileAtomically(fs::path(config_.node.data_dir) / admission::kNodeCertificateFile,
                            certificate->Encode())
            .ok());
  }
};

}  // namespace ruvd::node
