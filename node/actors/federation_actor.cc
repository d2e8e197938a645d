// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/federation_actor.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/actors/gossip_actor.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/runtime/reasons.h"
#include "privacy/sodium.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::actors {
namespace {

using Message = GossipMessage;

constexpr char kFederationActor[] = "federation";
// Answers to the operator come from memory, so this limit only guards against a stopped actor.
constexpr Duration kPatience = std::chrono::seconds(30);
// A preview trains a contribution, behind what the learning thread does already.
constexpr Duration kPreviewPatience = std::chrono::minutes(3);
// The core ends its links at the first tick after its patience.
constexpr Duration kLastTick = std::chrono::seconds(1);

class FederationActorImpl final : public sharing::FederationActor {
 public:
  FederationActorImpl(const FederationActorOptions& options, runtime::ActorSystem& system)
      : clock_(*options.clock), withdrawal_(*options.withdrawal), pool_(options.pool) {
    runtime::SpawnOptions<Message> spawn;
    spawn.name = kFederationActor;
    spawn.mailbox.capacity = limits::kFederationMailbox;
    spawn.mailbox.control_capacity = limits::kFederationMailbox;
    ref_ = system.Spawn<Message>(spawn, [options] { return MakeGossipActor(options); });
  }

  federation::LinkId OpenLink(std::shared_ptr<sharing::LinkSink> sink, std::string address,
                              federation::LinkChannel channel) override {
    const federation::LinkId link = next_link_.fetch_add(1);
    // The control lane makes the message arrive before the link's frames, which take the normal
    // lane.
    if (!ref_.TryTell(LinkOpened{link, sink, std::move(address), std::move(channel)},
                      Priority::kControl)
             .ok()) {
      sink->Close();
    }
    return link;
  }
  void OnDialFailed(std::string address) override { Control(DialFailed{std::move(address)}); }
  bool OnFrame(federation::LinkId link,
               std::shared_ptr<const federation::v1::WireFrame> frame) override {
    // While actors drain, only the control lane is open.
    const Priority lane = leaving_.load() ? Priority::kControl : Priority::kNormal;
    return ref_.TryTell(FrameReceived{link, std::move(frame)}, lane).ok();
  }
  void OnClosed(federation::LinkId link) override {
    // The normal lane keeps the message behind the link's frames, if there is room.
    if (!ref_.TryTell(LinkClosed{link}).ok()) {
      Control(LinkClosed{link});
    }
  }
  void Leave(Duration patience) override {
    leaving_.store(true);
    ref_.Ask<LeaveDone>(
        [patience](runtime::ReplyTo<LeaveDone> reply) {
          return LeaveRequest{patience, std::move(reply)};
        },
        clock_.Now() + patience + kLastTick, [](const absl::StatusOr<LeaveDone>&) {},
        Priority::kControl);
  }
  void SetRevocations(privacy::RevocationList list) override {
    Control(NodesRevoked{std::move(list)});
  }
  void LearnIssuer(privacy::IssuerCert issuer) override {
    Control(NodesRevoked{.list = {}, .issuer = std::move(issuer)});
  }
  void SetCertificate(privacy::AdmissionCert certificate) override {
    Control(CertificateRenewed{std::move(certificate)});
  }
  void OnPatternStored(const storage::PatternId& id) override { Control(PatternStored{id}); }

  void OnLessonsWithdrawn() override { Control(LessonsWithdrawn{}); }
  void OnRated(sharing::RatedUse use) override { Control(CompletionRated{std::move(use)}); }

  void View(std::function<void(absl::StatusOr<sharing::FederationView>)> done) override {
    ref_.Ask<sharing::FederationView>(
        [](runtime::ReplyTo<sharing::FederationView> reply) {
          return ViewRequest{std::move(reply)};
        },
        clock_.Now() + kPatience, std::move(done), Priority::kControl);
  }
  void SetConsent(
      privacy::ConsentTier tier,
      std::function<void(absl::StatusOr<privacy::v1::SetConsentResponse>)> done) override {
    ref_.Ask<privacy::v1::SetConsentResponse>(
        [tier](runtime::ReplyTo<privacy::v1::SetConsentResponse> reply) {
          return ConsentRequest{tier, std::move(reply)};
        },
        clock_.Now() + kPatience,
        [this, tier,
         done = std::move(done)](const absl::StatusOr<privacy::v1::SetConsentResponse>& answer) {
          // A withdrawal does not wait until the actor works again.
          if (tier == privacy::ConsentTier::kPrivate && IsUnheard(answer.status())) {
            pool_->Post([this, done] {
              auto stored = withdrawal_.Store();
              withdrawal_.Request();  // it may work, with the former consent, and be busy only
              done(std::move(stored));
            });
          } else {
            done(answer);
          }
        },
        Priority::kControl);
  }
  void OnConsentsChanged(std::function<void(absl::StatusOr<sharing::OptOutAnswer>)> done) override {
    ref_.Ask<sharing::OptOutAnswer>(
        [](runtime::ReplyTo<sharing::OptOutAnswer> reply) {
          return ConsentsChanged{std::move(reply)};
        },
        clock_.Now() + kPatience, std::move(done), Priority::kControl);
  }
  void Preview(
      privacy::ConsentTier tier,
      std::function<void(absl::StatusOr<privacy::v1::PreviewReleaseResponse>)> done) override {
    ref_.Ask<privacy::v1::PreviewReleaseResponse>(
        [tier](runtime::ReplyTo<privacy::v1::PreviewReleaseResponse> reply) {
          return PreviewRequest{tier, std::move(reply)};
        },
        clock_.Now() + kPreviewPatience, std::move(done), Priority::kControl);
  }

 private:
  // Sends a message that must not be lost to a flood of frames. A full control lane means that the
  // actor is stuck, which its supervisor and the dead letter count report. An actor that fails
  // reads at its next start what the message would have told it.
  void Control(Message message) {
    if (!ref_.TryTell(std::move(message), Priority::kControl).ok()) {
      LogDebug("the federation actor does not take messages");
    }
  }

  // Returns whether the actor may not have heard a question.
  static bool IsUnheard(const absl::Status& status) {
    const std::string reason = ReasonOf(status);
    return reason == reasons::kActorFailing || reason == reasons::kActorStopped ||
           reason == reasons::kMailboxFull || reason == reasons::kDeadlineExceeded;
  }

  const Clock& clock_;
  sharing::OperatorWithdrawal& withdrawal_;
  Executor* const pool_;
  runtime::Ref<Message> ref_;
  std::atomic<federation::LinkId> next_link_{1};
  std::atomic<bool> leaving_{false};
};

}  // namespace

absl::StatusOr<std::unique_ptr<sharing::FederationActor>> StartFederationActor(
    runtime::ActorSystem& system, const FederationActorOptions& options) {
  // A faulty configuration must show at the start, not in a log. This core sends nothing.
  RETURN_IF_ERROR(federation::GossipCore::Create(options.gossip, *options.key,
                                                 privacy::SecureRandomBytes, 0,
                                                 federation::Instant::Of(*options.clock))
                      .status());
  return std::make_unique<FederationActorImpl>(options, system);
}

}  // namespace ruvd::actors
