// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "node/actors/federation_actor.h"
#include "node/reasons.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::actors {

// An actor that failed too often and was stopped.
class StoppedFederation final : public sharing::FederationActor {
 public:
  federation::LinkId OpenLink(std::shared_ptr<sharing::LinkSink>, std::string,
                              federation::LinkChannel) override {
    return 1;
  }
  void OnDialFailed(std::string) override {}
  bool OnFrame(federation::LinkId, std::shared_ptr<const federation::v1::WireFrame>) override {
    return false;
  }
  void OnClosed(federation::LinkId) override {}
  void Leave(Duration) override {}
  void SetRevocations(privacy::RevocationList) override {}
  void LearnIssuer(privacy::IssuerCert) override {}
  void SetCertificate(privacy::AdmissionCert) override {}
  void OnPatternStored(const storage::PatternId&) override {}
  void OnLessonsWithdrawn() override {}
  void OnRated(sharing::RatedUse) override {}
  void View(std::function<void(absl::StatusOr<sharing::FederationView>)> done) override {
    done(Stopped());
  }
  void SetConsent(
      privacy::ConsentTier,
      std::function<void(absl::StatusOr<privacy::v1::SetConsentResponse>)> done) override {
    done(Stopped());
  }
  void OnConsentsChanged(std::function<void(absl::StatusOr<sharing::OptOutAnswer>)> done) override {
    done(Stopped());
  }
  void Preview(
      privacy::ConsentTier,
      std::function<void(absl::StatusOr<privacy::v1::PreviewReleaseResponse>)> done) override {
    done(Stopped());
  }

 private:
  static absl::Status Stopped() {
    return Error(absl::StatusCode::kUnavailable, reasons::kActorStopped, "the actor has stopped");
  }
};

}  // namespace ruvd::actors
