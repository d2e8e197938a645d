// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd store`: works on the store of a stopped node, or asks a running node to do so.

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/identity.h"
#include "node/admission/node_key_files.h"
#include "node/client/client.h"
#include "node/local/config_flags.h"
#include "node/local/stopped_store.h"
#include "node/local/store_checks.h"
#include "node/local/store_rotation.h"
#include "node/local/store_status.h"
#include "node/local/verbs.h"
#include "node/process/node_files.h"
#include "node/process/restore_keys.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/progress_line.h"
#include "node/terminal/terminal.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/report/v1/report.pb.h"
#include "storage/consent/consent_book.h"
#include "storage/db/backup.h"
#include "storage/db/database.h"
#include "storage/erasure/erasure_notes.h"
#include "storage/lessons/lesson_store.h"
#include "storage/patterns/pattern_collections.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::cli {
namespace {

constexpr char kStoreGroup[] = "Look after a node";
constexpr std::chrono::hours kBackupLimit(12);  // the node copies a large store in this time

struct StoreFlags {
  ConfigFlags config;
  std::string folder;  // of a backup
  node::BackupAccess backup;
  bool verify_only = false;
  bool accept_older_ledger = false;
  std::string user;
  std::optional<uint32_t> collection;
  RotationFlags rotation;
  bool running = false;  // ask the node at --server
  std::string name;      // of a running node's backup
};

void PrintFields(CommandContext& context,
                 const std::vector<std::pair<std::string, std::string>>& fields) {
  context.out << FormatFields(fields);
}

absl::Status Status(CommandContext& context, const StoreFlags& flags) {
  ASSIGN_OR_RETURN(const StoppedStore store,
                   OpenStoppedStore(context, flags.config, /*with_reserve=*/true));
  return PrintStoreStatus(context, *store.database);
}

void PrintReport(CommandContext& context, const storage::StoreReport& report,
                 const std::vector<std::string>& facts) {
  if (context.json) {
    report::v1::StoreCheckReport message;
    message.set_ok(report.ok());
    for (const storage::StoreReport::Family& family : report.families) {
      report::v1::StoreCheckReport::Family& counts = *message.add_families();
      counts.set_name(std::string(family.name));
      counts.set_rows(family.rows);
      counts.set_bytes(family.bytes);
      counts.set_erased(family.erased);
      counts.set_broken(family.broken);
    }
    message.mutable_facts()->Add(facts.begin(), facts.end());
    message.set_problem_count(report.problem_count);
    message.mutable_problems()->Add(report.problems.begin(), report.problems.end());
    context.out << ToJsonLine(message);
    return;
  }
  std::vector<std::vector<std::string>> rows;
  for (const storage::StoreReport::Family& family : report.families) {
    rows.push_back({std::string(family.name), std::to_string(family.rows),
                    std::to_string(family.bytes), std::to_string(family.erased),
                    std::to_string(family.broken)});
  }
  context.out << FormatTable({"FAMILY", "ROWS", "BYTES", "ERASED", "BROKEN"}, rows);
  for (const std::string& fact : facts) {
    context.out << PrintableLine(fact) << "\n";
  }
  for (const std::string& problem : report.problems) {
    context.out << PrintableLine(problem) << "\n";
  }
  context.out << (report.ok() ? "no problems were found\n"
                              : fmt::format("{} problem(s)\n", report.problem_count));
}

absl::Status Verify(CommandContext& context, const StoreFlags& flags) {
  ASSIGN_OR_RETURN(const StoppedStore store, OpenStoppedStore(context, flags.config));
  ASSIGN_OR_RETURN(storage::StoreReport report, store.database->Verify());
  std::vector<std::string> facts;
  for (const storage::StoreCheck& check : StoreChecks(&facts)) {
    if (const absl::Status status = check.run(*store.database, &report); !status.ok()) {
      report.AddProblem(fmt::format("{}: {}", check.name, MessageOf(status)));
    }
  }
  PrintReport(context, report, facts);
  if (report.ok()) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "the store has {} problem(s); restore a backup (`ruvd store restore`), or continue "
               "without the data that does not open",
               report.problem_count);
}

// Compaction removes the rows of erased users; after that nothing shows which other rows belonged
// to them.
absl::Status CompactWithoutErased(storage::Database& database) {
  ASSIGN_OR_RETURN(const auto trajectories, storage::TrajectoryStore::Open(database));
  RETURN_IF_ERROR(trajectories->PurgeErased().status());
  ASSIGN_OR_RETURN(const auto lessons, storage::LessonStore::Open(database));
  RETURN_IF_ERROR(lessons->PurgeErased().status());
  return database.Compact();
}

absl::Status Compact(CommandContext& context, const StoreFlags& flags) {
  ASSIGN_OR_RETURN(const StoppedStore store, OpenStoppedStore(context, flags.config));
  const uint64_t before = BytesOfFolder(store.database->path());
  RETURN_IF_ERROR(ResealAll(*store.database));
  RETURN_IF_ERROR(CompactWithoutErased(*store.database));
  const uint64_t after = BytesOfFolder(store.database->path());
  report::v1::CompactReport report;
  report.set_bytes_before(before);
  report.set_bytes_after(after);
  context.out << (context.json ? ToJsonLine(report)
                               : fmt::format("{} bytes before, {} bytes after\n", before, after));
  return absl::OkStatus();
}

uint64_t BytesOf(const storage::BackupManifest& manifest) {
  uint64_t bytes = 0;
  for (const storage::BackupManifest::File& file : manifest.files) {
    bytes += file.size;
  }
  return bytes;
}

report::v1::BackupReport ReportOf(const storage::BackupManifest& manifest) {
  report::v1::BackupReport report;
  report.set_store_id(ToHex(AsBytes(manifest.store_id)));
  report.set_schema(manifest.schema);
  SetTime(manifest.created_ms, [&] { return report.mutable_create_time(); });
  report.set_sequence(manifest.sequence);
  report.set_boot_counter(manifest.boot_counter);
  report.set_files(manifest.files.size());
  report.set_bytes(BytesOf(manifest));
  return report;
}

void PrintManifest(CommandContext& context, const storage::BackupManifest& manifest) {
  if (context.json) {
    context.out << ToJsonLine(ReportOf(manifest));
    return;
  }
  PrintFields(context, {{"store", ToHex(AsBytes(manifest.store_id))},
                        {"files", std::to_string(manifest.files.size())},
                        {"bytes", std::to_string(BytesOf(manifest))},
                        {"sequence", std::to_string(manifest.sequence)}});
}

absl::Status CheckRunning(const StoreFlags& flags) {
  return flags.config.given() ? UsageError(
                                    "--running asks the node at --server, which has its own "
                                    "configuration; leave out --config and configuration keys")
                              : absl::OkStatus();
}

absl::Status BackUpRunning(CommandContext& context, const StoreFlags& flags) {
  RETURN_IF_ERROR(CheckRunning(flags));
  client::NodeClient client(context.server, context.credentials);
  node::v1::BackUpStoreRequest request;
  request.set_name(flags.name);
  client.set_timeout(kBackupLimit);
  ProgressLine line(context);
  ASSIGN_OR_RETURN(
      const node::v1::BackUpResult backup,
      client.BackUpStore(request, [&line](const node::v1::BackUpProgress& progress) {
        line.Show(progress.total_files() == 0
                      ? "copying the store"
                      : fmt::format("{} of {} files", progress.files(), progress.total_files()));
      }));
  line.End();
  if (context.json) {
    context.out << ToJsonLine(backup);
    return absl::OkStatus();
  }
  PrintFields(context, {{"folder", backup.folder()},
                        {"store", backup.store_id()},
                        {"files", std::to_string(backup.files())},
                        {"bytes", std::to_string(backup.bytes())},
                        {"sequence", std::to_string(backup.sequence())}});
  return absl::OkStatus();
}

absl::Status Backup(CommandContext& context, const StoreFlags& flags) {
  if (flags.running == !flags.folder.empty() || (!flags.running && !flags.name.empty())) {
    return UsageError(
        "name the folder of the backup with --out, or use --running (and --name) to let the node "
        "at --server write one in its DATA_DIR/backups");
  }
  if (flags.running) {
    return BackUpRunning(context, flags);
  }
  ASSIGN_OR_RETURN(const StoppedStore store, OpenStoppedStore(context, flags.config));
  ASSIGN_OR_RETURN(const storage::BackupManifest manifest, store.database->Backup(flags.folder));
  PrintManifest(context, manifest);
  return absl::OkStatus();
}

absl::Status Restore(CommandContext& context, const StoreFlags& flags) {
  ASSIGN_OR_RETURN(const config::NodeConfig config, flags.config.Load(context, nullptr));
  ASSIGN_OR_RETURN(const auto source, node::MakeSealKeySource(config));
  ASSIGN_OR_RETURN(const node::RestoreKeys keys, node::FindRestoreKeys(*source, flags.backup));
  if (flags.verify_only) {
    ASSIGN_OR_RETURN(const storage::BackupManifest manifest,
                     storage::VerifyBackup(flags.backup.folder, keys.backup));
    PrintManifest(context, manifest);
    return absl::OkStatus();
  }
  storage::RestoreOptions options{.backup = flags.backup.folder,
                                  .key = keys.backup,
                                  .accept_older_ledger = flags.accept_older_ledger};
  std::error_code error;
  const bool had_folder = std::filesystem::exists(config.node.data_dir, error);
  RETURN_IF_ERROR(node::ChooseRestoreKeys(keys, config, *source, &options));
  ASSIGN_OR_RETURN(options.store, node::StorePathOf(config));
  const absl::StatusOr<storage::RestoreReport> report = storage::RestoreBackup(options);
  if (!report.ok()) {
    if (!had_folder) {
      std::filesystem::remove(config.node.data_dir, error);  // removes it only if it is empty
    }
    return report.status();
  }
  if (context.json) {
    report::v1::BackupReport restored = ReportOf(report->manifest);
    restored.set_node_boot_counter(report->boot_counter);
    restored.set_ledger_rows_carried(report->ledger_rows_carried);
    restored.set_ledger_entries(report->ledger_entries);
    restored.set_consents_carried(report->consents_carried);
    restored.set_erased_again(report->erased_again);
    context.out << ToJsonLine(restored);
    return absl::OkStatus();
  }
  PrintManifest(context, report->manifest);
  context.out << fmt::format(
      "restored into {}; boot counter {}; {} newer entries of the privacy ledger were kept; the "
      "ledger ends at entry {}\n",
      PrintableLine(options.store), report->boot_counter, report->ledger_rows_carried,
      report->ledger_entries);
  context.out << (report->consents_carried
                      ? fmt::format(
                            "the consents are those from before the restore; {} user(s) who "
                            "were erased after the backup are erased in it, too\n",
                            report->erased_again)
                      : std::string(
                            "what was withdrawn after the backup is not known, so nothing is "
                            "shared until `ruvd consent grant`; before that, withdraw again "
                            "for users who did, and erase again whom you erased\n"));
  context.out
      << "texts that were withdrawn after the backup are there again: see `ruvd learn lessons`\n";
  return absl::OkStatus();
}

absl::Status Rotate(CommandContext& context, const StoreFlags& flags) {
  ASSIGN_OR_RETURN(const StoppedStore store, OpenStoppedStore(context, flags.config));
  return RotateSealKey(context, flags.rotation, store);
}

// Withdraws the user's consents, so that the node no longer shares what was learned from the user
// once it starts.
absl::Status WithdrawConsents(const StoppedStore& store, const std::string& user) {
  const auto key_file = std::filesystem::path(store.config.node.data_dir) / admission::kNodeKeyFile;
  std::error_code error;
  if (!std::filesystem::exists(key_file, error) && !error) {
    return absl::OkStatus();  // there is no node key here, so no consent was ever signed
  }
  ASSIGN_OR_RETURN(const privacy::NodeKey key,
                   admission::LoadNodeKey(store.config.node.data_dir, SystemClock()));
  storage::UserConsentStore consents(*store.database);
  ASSIGN_OR_RETURN(const std::unique_ptr<storage::ConsentBook> book,
                   storage::ConsentBook::Open(consents, key));
  return book->Withdraw(user, SystemClock().WallMillis()).status();
}

absl::Status EraseInStore(CommandContext& context, const StoreFlags& flags) {
  ASSIGN_OR_RETURN(const StoppedStore store, OpenStoppedStore(context, flags.config));
  // An error while withdrawing consents must not keep the user's data from being erased.
  absl::Status withdrawn =
      flags.collection ? absl::OkStatus() : WithdrawConsents(store, flags.user);
  if (flags.collection) {
    RETURN_IF_ERROR(storage::ErasePatternCollection(*store.database, *flags.collection));
  } else {
    const auto scope = storage::KeyScope::User(flags.user);
    // A failure to note it must not keep the data from being erased.
    withdrawn.Update(storage::NoteErasure(*store.database, scope));
    RETURN_IF_ERROR(store.database->Erase(scope));
  }
  RETURN_IF_ERROR(CompactWithoutErased(*store.database));
  return withdrawn;
}

absl::Status EraseOnNode(CommandContext& context, const StoreFlags& flags) {
  if (flags.collection) {
    return UsageError(
        "--running works with --user only: a collection can be erased only while the node is "
        "stopped; stop it, or remove single patterns with `ruvd pattern rm`");
  }
  RETURN_IF_ERROR(CheckRunning(flags));
  client::NodeClient client(context.server, context.credentials);
  node::v1::EraseUserRequest request;
  request.set_user_id(flags.user);
  return client.Call<node::v1::EraseUserResponse>(request).status();
}

absl::Status Erase(CommandContext& context, const StoreFlags& flags) {
  if (flags.user.empty() && !flags.collection) {
    return UsageError("name what to erase: --user ID or --collection N");
  }
  RETURN_IF_ERROR(flags.running ? EraseOnNode(context, flags) : EraseInStore(context, flags));
  if (context.json) {
    report::v1::EraseReport report;
    if (flags.collection) {
      report.set_collection(*flags.collection);
    } else {
      report.set_user(flags.user);
    }
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  const std::string what = flags.collection ? fmt::format("collection {}", *flags.collection)
                                            : PrintableLine(flags.user);
  context.out << fmt::format(
      "the data sealed for {} is unreadable{}; earlier backups still contain it\n", what,
      flags.running ? "; `ruvd store compact` removes what is left of its rows" : " and removed");
  if (!flags.collection) {
    context.out << "patterns and adapters that learned from this and other data stay; find them "
                   "with `ruvd pattern ls` and remove single ones with `ruvd pattern rm`\n";
  }
  return absl::OkStatus();
}

}  // namespace

void AddStoreVerbs(VerbTable& verbs) {
  using Action = absl::Status (*)(CommandContext&, const StoreFlags&);
  const auto add = [&verbs](std::string_view path, std::string help, Action action) {
    auto flags = std::make_shared<StoreFlags>();
    Verb verb =
        verbs.Add(path, kStoreGroup, std::move(help),
                  [flags, action](CommandContext& context) { return action(context, *flags); });
    flags->config.AddTo(verb);
    return std::pair<Verb, StoreFlags&>(verb, *flags);
  };
  add("store status", "Show health, size and data keys of a stopped node's store", Status);
  add("store verify", "Open every sealed value and check all rows", Verify);
  add("store compact", "Remove deleted and erased data from the files", Compact);
  auto [backup, backup_flags] = add("store backup", "Copy the store into a new folder", Backup);
  backup.Option("--out", backup_flags.folder, "Folder to create; for a stopped node");
  backup.Switch("--running", backup_flags.running,
                "Let the node at --server write it to its DATA_DIR/backups while it keeps serving");
  backup.Option("--name", backup_flags.name, "With --running: name of the folder to create");
  auto [restore, restore_flags] = add("store restore", "Replace the store with a backup", Restore);
  restore.Option("--from", restore_flags.backup.folder, "Folder of the backup").Required();
  const Flag verify = restore.Switch("--verify", restore_flags.verify_only,
                                     "Only check the backup; restore nothing");
  restore
      .Switch("--accept-older-ledger", restore_flags.accept_older_ledger,
              "If the present store cannot show what was spent since the backup, use the "
              "backup's privacy ledger; later spending is then forgotten")
      .Excludes(verify);
  const Flag key_file =
      restore.Option("--backup-key", restore_flags.backup.key_file,
                     "Seal key file that the backup needs, if it differs from the present one");
  restore
      .Option(
          "--backup-passphrase-file", restore_flags.backup.passphrase_file,
          "File whose first line is the backup's passphrase, if it differs from the present one")
      .Excludes(key_file);
  auto [rotate, rotate_flags] =
      add("store rotate", "Replace the node's seal key; earlier backups need the old key", Rotate);
  rotate.Switch("--data-keys", rotate_flags.rotation.data_keys,
                "Replace the data keys too, which seals all data again");
  rotate.Option(
      "--new-passphrase-file", rotate_flags.rotation.new_passphrase_file,
      "File whose first line becomes the passphrase; default: the same passphrase with a new salt");
  rotate.Option("--keep-old-key", rotate_flags.rotation.keep_old_key,
                "New file (mode 0600) to keep the old key in, for earlier backups");
  auto [erase, erase_flags] =
      add("store erase",
          "Destroy the key of a user or of a collection; the data that it sealed is lost", Erase);
  const Flag user = erase.Option("--user", erase_flags.user, "Id of the user to erase");
  erase
      .Option("--collection", erase_flags.collection,
              "Number of the collection of patterns to erase; see `ruvd store status`")
      .Excludes(user);
  erase.Switch("--running", erase_flags.running,
               "Erase on the node at --server, which keeps serving");
}

}  // namespace ruvd::cli
