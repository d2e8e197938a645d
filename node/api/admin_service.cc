// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/chrono.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/folder.h"
#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/api/query_lane.h"
#include "node/api/release_messages.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "node/learning/deep.h"
#include "node/learning/memory.h"
#include "node/limits.h"
#include "node/reasons.h"
#include "node/serving/erasure_fence.h"
#include "node/serving/extensions/instant_loop.h"
#include "node/sharing/federation.h"
#include "ruvd/admin/v1/admin.grpc.pb.h"
#include "storage/changes/change_store.h"
#include "storage/consent/consent_book.h"
#include "storage/db/database.h"
#include "storage/erasure/user_erasure.h"
#include "storage/sessions/session_index.h"
#include "storage/trajectories/trajectory_store.h"
#include "storage/witness/witness_log.h"

namespace ruvd::api {
namespace {

double Seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

std::string StateOf(const federation::Member& member) {
  if (member.self) {
    return "self";
  }
  switch (member.standing) {
    case federation::MemberStanding::kRevoked:
      return "revoked";
    case federation::MemberStanding::kEquivocated:
      return "excluded";
    case federation::MemberStanding::kGood:
      break;
  }
  return std::string(federation::MemberStateName(member.state));
}

void WriteMember(const federation::Member& member, TimePoint now, admin::v1::Member* message) {
  message->set_node_id(ToHex(member.id));
  message->set_name(member.name);
  message->set_address(member.address);
  message->set_state(StateOf(member));
  message->set_last_heard_seconds(member.self ? 0 : Seconds(now - member.last_heard));
  message->set_rtt_ms(member.rtt.has_value() ? Seconds(*member.rtt) * 1e3 : 0);
  message->set_linked(member.linked);
  if (member.linked) {
    message->set_rounds(std::string(StateAgreementName(member.rounds)));
  }
}

void CountAgreement(const std::vector<federation::Member>& members,
                    admin::v1::RoundsStatus* rounds) {
  const auto count = [&](federation::StateAgreement agreement) {
    return static_cast<uint32_t>(
        std::ranges::count(members, agreement, &federation::Member::rounds));
  };
  rounds->set_peers_agreeing(count(federation::StateAgreement::kEqual));
  rounds->set_peers_differing(count(federation::StateAgreement::kDiffers));
}

void WriteFederation(const sharing::FederationView& view, admin::v1::GetStatusResponse* message) {
  if (view.release) {
    *message->mutable_release() = *view.release;
  }
  if (view.rounds) {
    *message->mutable_rounds() = *view.rounds;
    CountAgreement(view.members, message->mutable_rounds());
  }
  message->set_certificate_expires_ms(view.certificate.not_after_ms);
  message->set_issuer_expires_ms(view.certificate.issuer.not_after_ms);
  message->set_issuer_number(view.certificate.issuer.number);
  message->set_key_epoch(view.certificate.key_epoch);
  uint32_t alive = 0;
  for (const federation::Member& member : view.members) {
    alive += member.counts() ? 1 : 0;
  }
  message->set_members_alive(alive);
  message->mutable_refused_envelopes()->insert(view.refused.begin(), view.refused.end());
  message->mutable_accepted_items()->insert(view.accepted.begin(), view.accepted.end());
}

bool IsTier(pattern::v1::SharingTier tier) {
  return tier >= pattern::v1::SHARING_TIER_PRIVATE && tier <= pattern::v1::SHARING_TIER_PUBLIC;
}

absl::Status UnknownTier(pattern::v1::SharingTier tier) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "tier {} is not known; use private, masked, dp or public", static_cast<int>(tier));
}

bool IsBackupName(std::string_view name) {
  return !name.empty() && name.size() <= limits::kMaxBackupNameBytes && name.front() != '.' &&
         std::ranges::all_of(name, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
                  c == '-';
         });
}

// Returns the path of a new folder below `parent`, and creates `parent` if it is missing. A client
// chooses a name and never a path, because the operator decides where the node writes.
absl::StatusOr<std::string> NewBackupFolder(const std::string& parent, std::string name,
                                            int64_t now_ms) {
  if (name.empty()) {
    name = fmt::format("{:%Y-%m-%dT%H-%M-%S}-{:03}",
                       fmt::gmtime(static_cast<std::time_t>(now_ms / 1000)), now_ms % 1000);
  }
  if (!IsBackupName(name)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the name of a backup must have 1 to {} letters, digits, '.', '_' and '-' and "
                 "must not begin with '.'; it becomes a folder in {}",
                 limits::kMaxBackupNameBytes, parent);
  }
  RETURN_IF_ERROR(MakeDataFolder(parent));
  return parent + "/" + name;
}

void WriteManifest(const storage::BackupManifest& manifest,
                   admin::v1::BackUpStoreResponse* message) {
  message->set_store_id(ToHex(AsBytes(manifest.store_id)));
  message->set_schema(manifest.schema);
  message->set_created_ms(manifest.created_ms);
  message->set_sequence(manifest.sequence);
  message->set_boot_counter(manifest.boot_counter);
  message->set_files(manifest.files.size());
  uint64_t bytes = 0;
  for (const storage::BackupManifest::File& file : manifest.files) {
    bytes += file.size;
  }
  message->set_bytes(bytes);
}

class AdminServiceImpl final : public admin::v1::AdminService::CallbackService {
 public:
  explicit AdminServiceImpl(const ServiceDependencies& dependencies)
      : node_(dependencies),
        lane_(dependencies.upkeep, limits::kMaxWaitingUpkeep),
        // One backup runs at a time; the capacity is 2 because the next one may arrive before the
        // former has left the lane.
        backups_(dependencies.backups, /*capacity=*/2) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const admin::v1::GetStatusRequest*,
                                      admin::v1::GetStatusResponse* response) override {
    auto* reactor = context->DefaultReactor();
    node_.federation->View(
        [this, reactor, response](const absl::StatusOr<sharing::FederationView>& view) {
          node_.fill_status(response);
          if (view.ok()) {  // without it the rest of the status is still useful
            WriteFederation(*view, response);
          }
          reactor->Finish(grpc::Status::OK);
        });
    return reactor;
  }

  grpc::ServerUnaryReactor* ListMembers(grpc::CallbackServerContext* context,
                                        const admin::v1::ListMembersRequest*,
                                        admin::v1::ListMembersResponse* response) override {
    auto* reactor = context->DefaultReactor();
    node_.federation->View(
        [reactor, response](const absl::StatusOr<sharing::FederationView>& view) {
          if (view.ok()) {
            for (const federation::Member& member : view->members) {
              admin::v1::Member* const message = response->add_members();
              WriteMember(member, view->now, message);
              if (const auto own = view->patterns.find(member.id); own != view->patterns.end()) {
                *message->mutable_patterns() = own->second;
              }
              if (const auto own = view->experts.find(member.id); own != view->experts.end()) {
                *message->mutable_expert() = own->second;
              }
            }
          }
          reactor->Finish(ToRpcStatus(view.status()));
        });
    return reactor;
  }

  grpc::ServerUnaryReactor* SetConsent(grpc::CallbackServerContext* context,
                                       const admin::v1::SetConsentRequest* request,
                                       admin::v1::SetConsentResponse* response) override {
    auto* reactor = context->DefaultReactor();
    if (!IsTier(request->tier())) {
      reactor->Finish(ToRpcStatus(UnknownTier(request->tier())));
      return reactor;
    }
    node_.federation->SetConsent(
        static_cast<privacy::ConsentTier>(request->tier()),
        [this, reactor, response](const absl::StatusOr<admin::v1::SetConsentResponse>& answer) {
          if (answer.ok()) {
            *response = *answer;
          }
          if (!answer.ok() || answer->tier() != pattern::v1::SHARING_TIER_PRIVATE) {
            reactor->Finish(ToRpcStatus(answer.status()));
            return;
          }
          node_.federation->View(
              [reactor, response](const absl::StatusOr<sharing::FederationView>& view) {
                if (view.ok() && view->release) {
                  response->set_residual(ResidualText(*view));
                }
                reactor->Finish(grpc::Status::OK);
              });
        });
    return reactor;
  }

  grpc::ServerUnaryReactor* GetConsent(grpc::CallbackServerContext* context,
                                       const admin::v1::GetConsentRequest*,
                                       admin::v1::GetConsentResponse* response) override {
    auto* reactor = context->DefaultReactor();
    node_.federation->View(
        [reactor, response](const absl::StatusOr<sharing::FederationView>& view) {
          if (view.ok()) {
            response->set_tier(static_cast<pattern::v1::SharingTier>(view->tier));
            response->set_since_ms(view->consent_since_ms);
            response->set_bytes_shared(view->bytes_shared);
            if (view->release) {
              *response->mutable_release() = *view->release;
            }
          }
          reactor->Finish(ToRpcStatus(view.status()));
        });
    return reactor;
  }

  grpc::ServerUnaryReactor* PreviewRelease(grpc::CallbackServerContext* context,
                                           const admin::v1::PreviewReleaseRequest* request,
                                           admin::v1::PreviewReleaseResponse* response) override {
    auto* reactor = context->DefaultReactor();
    const auto preview = [this, reactor, response](privacy::ConsentTier tier) {
      node_.federation->Preview(
          tier, [reactor, response](const absl::StatusOr<admin::v1::PreviewReleaseResponse>& next) {
            if (next.ok()) {
              *response = *next;
            }
            reactor->Finish(ToRpcStatus(next.status()));
          });
    };
    if (request->tier() != pattern::v1::SHARING_TIER_UNSPECIFIED) {
      if (IsTier(request->tier())) {
        preview(static_cast<privacy::ConsentTier>(request->tier()));
      } else {
        reactor->Finish(ToRpcStatus(UnknownTier(request->tier())));
      }
      return reactor;
    }
    node_.federation->View([reactor, preview](const absl::StatusOr<sharing::FederationView>& view) {
      if (view.ok()) {
        preview(view->tier);
      } else {
        reactor->Finish(ToRpcStatus(view.status()));
      }
    });
    return reactor;
  }

  grpc::ServerUnaryReactor* SetUserConsent(grpc::CallbackServerContext* context,
                                           const admin::v1::SetUserConsentRequest* request,
                                           admin::v1::SetUserConsentResponse* response) override {
    auto* reactor = context->DefaultReactor();
    const auto stored = std::make_shared<absl::Status>();
    // Stores the consent on a thread that may wait for the disk, then tells the actor. A withdrawal
    // that could not be stored reaches the actor too, and holds until the node ends.
    lane_.Run(
        context, reactor,
        [this, request, response, stored] {
          *stored = NoteUserConsent(*request, response);
          const bool withdrawn = !request->training() && !request->sharing();
          return withdrawn && !absl::IsInvalidArgument(*stored) ? absl::OkStatus() : *stored;
        },
        [this, reactor, stored, response] { TakeBack(reactor, stored, response); });
    return reactor;
  }

  grpc::ServerUnaryReactor* ListUserConsents(
      grpc::CallbackServerContext* context, const admin::v1::ListUserConsentsRequest*,
      admin::v1::ListUserConsentsResponse* response) override {
    for (const privacy::UserConsent& record : node_.consents->All()) {
      WriteUserConsent(record, response->add_consents());
    }
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* BackUpStore(grpc::CallbackServerContext* context,
                                        const admin::v1::BackUpStoreRequest* request,
                                        admin::v1::BackUpStoreResponse* response) override {
    auto* reactor = context->DefaultReactor();
    absl::StatusOr<std::shared_ptr<BackupTurn>> turn = TakeTurn(request->name());
    if (!turn.ok()) {
      reactor->Finish(ToRpcStatus(turn.status()));
      return reactor;
    }
    backups_.Run(context, reactor, [this, request, response, turn = *std::move(turn)] {
      const absl::Status status = BackUp(*request, response);
      turn->End();  // before the caller gets the answer
      return status;
    });
    return reactor;
  }

  grpc::ServerUnaryReactor* EraseUser(grpc::CallbackServerContext* context,
                                      const admin::v1::EraseUserRequest* request,
                                      admin::v1::EraseUserResponse* response) override {
    auto* reactor = context->DefaultReactor();
    const auto erased = std::make_shared<absl::Status>();
    // What was learned from the user is withdrawn even if the erasure fails.
    lane_.Run(
        context, reactor,
        [this, request, response, erased] {
          *erased = Erase(request->user_id(), response);
          return absl::OkStatus();
        },
        [this, reactor, erased] {
          node_.federation->OnConsentsChanged(
              [this, reactor, erased](const absl::StatusOr<sharing::OptOutAnswer>& taken) {
                erased->Update(taken.status());
                lane_.Leave();
                reactor->Finish(ToRpcStatus(*erased));
              });
        });
    return reactor;
  }

 private:
  // The turn of the one backup that runs or waits. It begins with the call, and ends with the
  // backup, or with the call if no backup was started.
  class BackupTurn {
   public:
    explicit BackupTurn(AdminServiceImpl& service) : service_(service) {}
    ~BackupTurn() { End(); }
    BackupTurn(const BackupTurn&) = delete;
    BackupTurn& operator=(const BackupTurn&) = delete;
    void End() {
      if (!std::exchange(ended_, true)) {
        const MutexLock lock(service_.mutex_);
        service_.running_backup_.clear();
      }
    }

   private:
    AdminServiceImpl& service_;
    bool ended_ = false;
  };

  // A backup continues after its caller has left; a second one would only add load.
  absl::StatusOr<std::shared_ptr<BackupTurn>> TakeTurn(const std::string& name) {
    const MutexLock lock(mutex_);
    if (!running_backup_.empty()) {
      return Error(absl::StatusCode::kFailedPrecondition, reasons::kBackupRunning,
                   "a backup ({}) is already running, and continues even if its caller left; wait "
                   "for its folder in {}",
                   running_backup_, node_.backup_dir);
    }
    running_backup_ = name.empty() ? "without a name" : name;
    return std::make_shared<BackupTurn>(*this);
  }

  absl::Status BackUp(const admin::v1::BackUpStoreRequest& request,
                      admin::v1::BackUpStoreResponse* response) {
    ASSIGN_OR_RETURN(const std::string folder,
                     NewBackupFolder(node_.backup_dir, request.name(), node_.clock->WallMillis()));
    ASSIGN_OR_RETURN(const storage::BackupManifest manifest,
                     node_.database->Backup(folder, node_.stopping));
    response->set_folder(folder);
    WriteManifest(manifest, response);
    return absl::OkStatus();
  }

  absl::Status NoteUserConsent(const admin::v1::SetUserConsentRequest& request,
                               admin::v1::SetUserConsentResponse* response) {
    ASSIGN_OR_RETURN(privacy::UserConsent fields, ReadUserConsent(request));
    ASSIGN_OR_RETURN(const privacy::UserConsent record,
                     node_.consents->Record(std::move(fields), node_.clock->WallMillis()));
    WriteUserConsent(record, response->mutable_consent());
    return absl::OkStatus();
  }

  // Withdraws what may no longer leave, and tells a caller who withdrew a consent what cannot be
  // taken back.
  void TakeBack(grpc::ServerUnaryReactor* reactor, std::shared_ptr<const absl::Status> stored,
                admin::v1::SetUserConsentResponse* response) {
    const auto finish = [this, reactor, stored,
                         response](const absl::StatusOr<sharing::FederationView>& view) {
      if (view.ok() && view->release && !response->consent().sharing()) {
        response->set_residual(ResidualText(*view));
      }
      lane_.Leave();
      reactor->Finish(ToRpcStatus(*stored));
    };
    node_.federation->OnConsentsChanged([this, reactor, response, finish](
                                            const absl::StatusOr<sharing::OptOutAnswer>& taken) {
      if (!taken.ok()) {
        lane_.Leave();
        reactor->Finish(ToRpcStatus(Annotate(
            taken.status(),
            "the consent is stored, but shared items could not be withdrawn; repeat the call")));
        return;
      }
      response->set_items_taken_back(taken->updates + taken->patterns);
      response->set_patterns_taken_back(taken->patterns);
      response->set_peers_told(taken->peers);
      node_.federation->View(finish);
    });
  }

  void ForgetInMemory(const std::string& user_id) {
    if (node_.fence != nullptr) {
      node_.fence->FenceUser(user_id);
    }
    if (node_.instant != nullptr) {
      node_.instant->ForgetUser(user_id);
    }
    if (node_.memory != nullptr) {
      node_.memory->ForgetUser(user_id);
    }
  }

  absl::Status Erase(const std::string& user_id, admin::v1::EraseUserResponse* response) {
    if (user_id.empty() || user_id.size() > limits::kMaxUserIdBytes) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "user_id has {} bytes, but must have 1 to {}", user_id.size(),
                   limits::kMaxUserIdBytes);
    }
    // This is read before the data is erased; an interrupted erasure is requested again.
    const bool had_consent = node_.consents->Knows(user_id);
    const absl::Status withdrawn =
        node_.consents->Withdraw(user_id, node_.clock->WallMillis()).status();
    // This runs even if the erasure fails, and again after it for completions that ended meanwhile.
    ForgetInMemory(user_id);
    const absl::StatusOr<storage::UserErasure> erasure =
        ruvd::storage::EraseUser({.database = node_.database,
                                  .sessions = node_.sessions,
                                  .trajectories = node_.trajectories,
                                  .witness = node_.witness,
                                  .changes = node_.changes,
                                  .lessons = node_.lessons,
                                  .observed = node_.observed},
                                 user_id);
    ForgetInMemory(user_id);
    if (!had_consent || !absl::IsNotFound(erasure.status())) {
      RETURN_IF_ERROR(erasure.status());
      response->set_sessions_forgotten(erasure->sessions);
    }
    if (node_.deep != nullptr) {
      node_.deep->OnLessonsWithdrawn();
    }
    node_.federation->OnLessonsWithdrawn();
    return withdrawn;
  }

  const ServiceDependencies node_;
  QueryLane lane_;
  QueryLane backups_;
  Mutex mutex_;
  std::string running_backup_ ABSL_GUARDED_BY(mutex_);  // empty: no backup runs or waits
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(const ServiceDependencies& dependencies) {
  return std::make_unique<AdminServiceImpl>(dependencies);
}

}  // namespace ruvd::api
