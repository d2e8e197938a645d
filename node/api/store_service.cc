// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/chrono.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <memory>
#include <optional>
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
#include "node/api/bad_request.h"
#include "node/api/message_times.h"
#include "node/api/progress_stream-inl.h"
#include "node/api/query_lane.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "node/learning/deep.h"
#include "node/learning/memory.h"
#include "node/limits.h"
#include "node/reasons.h"
#include "node/serving/erasure_fence.h"
#include "node/serving/extensions/instant_loop.h"
#include "node/sharing/federation.h"
#include "ruvd/node/v1/node.grpc.pb.h"
#include "storage/changes/change_store.h"
#include "storage/consent/consent_book.h"
#include "storage/db/database.h"
#include "storage/erasure/user_erasure.h"
#include "storage/sessions/session_index.h"
#include "storage/trajectories/trajectory_store.h"
#include "storage/witness/witness_log.h"

namespace ruvd::api {
namespace {

using BackupStream = ProgressStream<node::v1::BackUpStoreResponse>;

bool IsBackupName(std::string_view name) {
  return !name.empty() && name.size() <= limits::kMaxBackupNameBytes && name.front() != '.' &&
         std::ranges::all_of(name, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
                  c == '-';
         });
}

// Returns the name of the folder. A client chooses a name and never a path, because the operator
// decides where the node writes.
absl::StatusOr<std::string> BackupName(const std::string& asked, const ServiceDependencies& node) {
  if (asked.empty()) {
    const int64_t now_ms = node.clock->WallMillis();
    return fmt::format("{:%Y-%m-%dT%H-%M-%S}-{:03}",
                       fmt::gmtime(static_cast<std::time_t>(now_ms / 1000)), now_ms % 1000);
  }
  if (!IsBackupName(asked)) {
    return BadField("name",
                    "the name of a backup must have 1 to {} letters, digits, '.', '_' and '-' and "
                    "must not begin with '.'; it becomes a folder in {}",
                    limits::kMaxBackupNameBytes, node.backup_dir);
  }
  return asked;
}

void WriteManifest(const storage::BackupManifest& manifest, node::v1::BackUpResult* message) {
  message->set_store_id(ToHex(AsBytes(manifest.store_id)));
  message->set_schema(manifest.schema);
  SetTime(manifest.created_ms, [&] { return message->mutable_create_time(); });
  message->set_sequence(manifest.sequence);
  message->set_boot_counter(manifest.boot_counter);
  message->set_files(manifest.files.size());
  uint64_t bytes = 0;
  for (const storage::BackupManifest::File& file : manifest.files) {
    bytes += file.size;
  }
  message->set_bytes(bytes);
}

// The one backup that runs or waits, and the calls that follow it.
struct RunningBackup {
  std::string name;
  node::v1::BackUpProgress progress;
  std::vector<std::shared_ptr<BackupStream>> calls;
};

class StoreServiceImpl final : public node::v1::StoreService::CallbackService {
 public:
  explicit StoreServiceImpl(const ServiceDependencies& dependencies)
      : node_(dependencies), lane_(dependencies.upkeep, limits::kMaxWaitingUpkeep) {}

  grpc::ServerWriteReactor<node::v1::BackUpStoreResponse>* BackUpStore(
      grpc::CallbackServerContext*, const node::v1::BackUpStoreRequest* request) override {
    std::shared_ptr<BackupStream> call = BackupStream::Start(
        *node_.queries, [this](BackupStream::Answer answer) { answer(Progress()); });
    if (const absl::Status joined = Join(request->name(), call); !joined.ok()) {
      call->End(joined);
    }
    return call.get();
  }

  grpc::ServerUnaryReactor* EraseUser(grpc::CallbackServerContext* context,
                                      const node::v1::EraseUserRequest* request,
                                      node::v1::EraseUserResponse* response) override {
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
  // Attaches a call to the backup of its name, or begins one.
  absl::Status Join(const std::string& asked, std::shared_ptr<BackupStream> call) {
    ASSIGN_OR_RETURN(std::string name, BackupName(asked, node_));
    {
      const MutexLock lock(mutex_);
      if (running_) {
        std::erase_if(running_->calls, [](const auto& other) { return other->has_ended(); });
      }
      if (running_ && running_->name == asked && running_->calls.size() < limits::kMaxDownloads) {
        running_->calls.push_back(std::move(call));
        return absl::OkStatus();
      }
      if (running_) {
        return Error(absl::StatusCode::kFailedPrecondition, reasons::kBackupRunning,
                     "the backup {} is already running, and continues even if its caller left; "
                     "wait for its folder in {}, or call with its name",
                     running_->name, node_.backup_dir);
      }
      running_ = std::make_unique<RunningBackup>();
      running_->name = name;
      running_->progress.set_name(name);
      running_->calls.push_back(std::move(call));
    }
    node_.backups->Post([this, name = std::move(name)] { BackUp(name); });
    return absl::OkStatus();
  }

  std::optional<node::v1::BackUpStoreResponse> Progress() {
    const MutexLock lock(mutex_);
    if (!running_) {
      return std::nullopt;
    }
    node::v1::BackUpStoreResponse response;
    *response.mutable_progress() = running_->progress;
    return response;
  }

  // Ends the calls after its own end, because a stopping server waits for them and this object may
  // be destroyed then.
  void BackUp(const std::string& name) {
    const absl::StatusOr<node::v1::BackUpStoreResponse> result = Copy(name);
    std::unique_ptr<RunningBackup> ended;
    {
      const MutexLock lock(mutex_);
      ended = std::move(running_);
    }
    for (const std::shared_ptr<BackupStream>& call : ended->calls) {
      call->End(result);
    }
  }

  absl::StatusOr<node::v1::BackUpStoreResponse> Copy(const std::string& name) {
    RETURN_IF_ERROR(MakeDataFolder(node_.backup_dir));
    const std::string folder = node_.backup_dir + "/" + name;
    ASSIGN_OR_RETURN(
        const storage::BackupManifest manifest,
        node_.database->Backup(folder, node_.stopping, [this](size_t done, size_t total) {
          const MutexLock lock(mutex_);
          running_->progress.set_files(done);
          running_->progress.set_total_files(total);
        }));
    node::v1::BackUpStoreResponse response;
    response.mutable_result()->set_folder(folder);
    WriteManifest(manifest, response.mutable_result());
    return response;
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

  absl::Status Erase(const std::string& user_id, node::v1::EraseUserResponse* response) {
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
  Mutex mutex_;
  std::unique_ptr<RunningBackup> running_ ABSL_GUARDED_BY(mutex_);  // null: none runs or waits
};

}  // namespace

std::unique_ptr<grpc::Service> MakeStoreService(const ServiceDependencies& dependencies) {
  return std::make_unique<StoreServiceImpl>(dependencies);
}

}  // namespace ruvd::api
