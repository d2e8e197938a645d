// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/actors/federation_actor.h"
#include "privacy/consent/consent.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "storage/consent/consent_store.h"

namespace ruvd::actors {
namespace {

class IsolatedFederation final : public sharing::FederationActor {
 public:
  explicit IsolatedFederation(const IsolationOptions& options) : options_(options) {}
  federation::LinkId OpenLink(std::shared_ptr<sharing::LinkSink> sink, std::string,
                              federation::LinkChannel) override {
    sink->Close();
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
    sharing::FederationView view;
    view.now = options_.clock->Now();
    // What was agreed to and what has left before are still true.
    const auto record = options_.consent->Get();
    if (record.ok() && record->has_value() && (*record)->Verify(*options_.key).ok() &&
        !options_.consent->IsSuspended().value_or(true)) {
      view.tier = (*record)->tier;
      view.consent_since_ms = (*record)->since_ms;
    }
    if (const auto left = options_.consent->LoadSharedTotals(); left.ok()) {
      view.bytes_shared = left->bytes_sent;
      view.plain_shared = left->plain;
    }
    done(view);
  }
  void SetConsent(
      privacy::ConsentTier tier,
      std::function<void(absl::StatusOr<privacy::v1::SetConsentResponse>)> done) override {
    if (tier != privacy::ConsentTier::kPrivate) {
      done(Refusal());
      return;
    }
    options_.pool->Post([this, done = std::move(done)] { done(options_.withdrawal->Store()); });
  }
  void OnConsentsChanged(std::function<void(absl::StatusOr<sharing::OptOutAnswer>)> done) override {
    done(sharing::OptOutAnswer());
  }
  void Preview(
      privacy::ConsentTier,
      std::function<void(absl::StatusOr<privacy::v1::PreviewReleaseResponse>)> done) override {
    done(Refusal());
  }

 private:
  absl::Status Refusal() const {
    return options_.why.ok()
               ? Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
                       "this node does not federate, so nothing leaves it; set federation.enabled "
                       "and restart it")
               : Error(absl::StatusCode::kFailedPrecondition, ReasonOf(options_.why),
                       "this node has not federated since its start, so nothing leaves it: {}; "
                       "mend that and restart the node",
                       MessageOf(options_.why));
  }

  const IsolationOptions options_;
};

}  // namespace

std::unique_ptr<sharing::FederationActor> MakeIsolatedFederation(const IsolationOptions& options) {
  return std::make_unique<IsolatedFederation>(options);
}

}  // namespace ruvd::actors
