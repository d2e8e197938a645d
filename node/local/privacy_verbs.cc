// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd privacy`: shows and checks what a node has released, from its store or from an exported
// ledger file.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/identity.h"
#include "node/admission/node_key_files.h"
#include "node/local/config_flags.h"
#include "node/local/privacy_accounts.h"
#include "node/local/stopped_store.h"
#include "node/local/verbs.h"
#include "node/process/privacy_counter.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "privacy/consent/consent.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/zcdp.h"
#include "privacy/ledger/unit_budget.h"
#include "privacy/limits.h"
#include "ruvd/report/v1/report.pb.h"
#include "storage/consent/consent_store.h"
#include "storage/ledger/ledger_counter.h"
#include "storage/ledger/ledger_file.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "storage/limits.h"
#include "storage/reasons.h"

namespace ruvd::cli {
namespace {

constexpr char kPrivacyGroup[] = "Privacy";

struct VerifyFlags {
  std::string file;
  std::string key;      // empty: any node's
  std::string counter;  // empty: not compared
  BudgetFlags budget;
};

absl::Status ForeignLedger(const storage::ledger::LedgerFileSummary& file,
                           std::string_view wanted) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kSignatureInvalid,
               "the ledger file belongs to node {}, not to {}; ask that node for its own export",
               ToHex(file.node), wanted);
}

// `key` is a node id, a public key or the path of a node.key.
absl::Status CheckWhose(const storage::ledger::LedgerFileSummary& file, const std::string& key) {
  const auto hex = FromHex(key);
  if (hex && hex->size() == file.node.size()) {
    return AsText(file.node) == *hex || AsText(file.key) == *hex ? absl::OkStatus()
                                                                 : ForeignLedger(file, key);
  }
  const absl::StatusOr<privacy::SigningKey> loaded =
      privacy::SigningKey::Load(key, privacy::KeyUse::kNode);
  if (absl::IsNotFound(loaded.status())) {
    return UsageError(fmt::format(
        "--key takes the 64 hexadecimal digits of a node id or of a public key, as `ruvd init` "
        "prints them, or the path of a node.key file; the file {} does not exist",
        key));
  }
  RETURN_IF_ERROR(loaded.status());
  ASSIGN_OR_RETURN(const privacy::NodeKey node, privacy::NodeKey::LoadOrCreate(key));
  bool own = false;  // a thief of a former key could make rotations to a key of its own
  for (uint32_t epoch = 0; epoch <= node.epoch(); ++epoch) {
    own = own || node.keys().Of(epoch) == file.key;
  }
  return own && file.node == node.id() ? absl::OkStatus() : ForeignLedger(file, ToHex(node.id()));
}

absl::StatusOr<storage::ledger::LedgerFileDemands> DemandsOf(const VerifyFlags& flags) {
  storage::ledger::LedgerFileDemands demands;
  ASSIGN_OR_RETURN(demands.budgets, flags.budget.Budgets());
  if (!flags.counter.empty()) {
    ASSIGN_OR_RETURN(const std::string text,
                     ReadFile(flags.counter, limits::kMaxLedgerCounterBytes));
    ASSIGN_OR_RETURN(demands.counter, storage::ledger::ParseCounter(text));
  }
  return demands;
}

absl::StatusOr<std::vector<UnitAccount>> AccountsOf(const storage::ledger::LedgerFileSummary& file,
                                                    const std::vector<privacy::UnitBudget>& budgets,
                                                    double delta) {
  std::vector<UnitAccount> accounts;
  for (const privacy::PrivacyUnit unit : privacy::kPrivacyUnits) {
    ASSIGN_OR_RETURN(const double epsilon, file.accounts.LargestEpsilon(unit, delta));
    accounts.push_back(AccountOf(unit, file.accounts.totals(unit), epsilon, budgets));
  }
  return accounts;
}

absl::Status VerifyFile(CommandContext& context, const VerifyFlags& flags) {
  ASSIGN_OR_RETURN(const storage::ledger::LedgerFileDemands demands, DemandsOf(flags));
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(flags.file, limits::kMaxLedgerFileBytes));
  ASSIGN_OR_RETURN(const storage::ledger::LedgerFileSummary file,
                   storage::ledger::VerifyLedgerFile(AsBytes(bytes), demands));
  if (!flags.key.empty()) {
    RETURN_IF_ERROR(CheckWhose(file, flags.key));
  }
  ASSIGN_OR_RETURN(const std::vector<UnitAccount> accounts,
                   AccountsOf(file, demands.budgets, flags.budget.delta));
  if (context.json) {
    report::v1::LedgerFileReport report;
    report.set_ok(true);
    report.set_node(ToHex(file.node));
    report.set_public_key(ToHex(file.key));
    report.set_node_compared(!flags.key.empty());
    report.set_counter_compared(demands.counter.has_value());
    SetTime(file.created_ms, [&] { return report.mutable_create_time(); });
    report.set_entries(file.head.sequence);
    report.set_head(ToHex(file.head.hash));
    report.set_delta(flags.budget.delta);
    WriteAccounts(accounts, report.mutable_units());
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out << FormatFields({{"node", ToHex(file.node)},
                               {"public key", ToHex(file.key)},
                               {"exported", FormatTime(file.created_ms) + " UTC"},
                               {"entries", std::to_string(file.head.sequence)},
                               {"head", ToHex(file.head.hash)}})
              << AccountsTable(accounts, flags.budget.delta)
              << fmt::format(
                     "the ledger is valid: order, hash and signature of {} entries{}{}; {}\n",
                     file.head.sequence, demands.budgets.empty() ? "" : ", all within the budget",
                     demands.counter ? ", and the counter agrees" : "",
                     flags.key.empty() ? "its node was not checked: give --key"
                                       : "it belongs to the node that --key names");
  return absl::OkStatus();
}

struct LedgerFlags {
  ConfigFlags config;
  std::string file;  // file to write
  BudgetFlags budget;
};

// Never creates a key, because a new key would mean another node.
absl::StatusOr<privacy::NodeKey> KeyOfStoppedNode(const config::NodeConfig& config) {
  const std::string path = std::filesystem::path(config.node.data_dir) / admission::kNodeKeyFile;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
                 "the node's key {}, which signs its ledger, is missing; restore the file", path);
  }
  return admission::LoadNodeKey(config.node.data_dir, SystemClock());
}

// The ledger of a stopped node, opened for reading. Its chain, signatures and counter were checked.
struct StoppedLedger {
  StoppedStore store;
  std::unique_ptr<privacy::NodeKey> key;  // the ledger points to it
  std::unique_ptr<storage::PrivacyLedgerStore> ledger;
};

absl::StatusOr<StoppedLedger> OpenStoppedLedger(const CommandContext& context,
                                                const ConfigFlags& flags) {
  StoppedLedger opened;
  ASSIGN_OR_RETURN(opened.store, OpenStoppedStore(context, flags));
  ASSIGN_OR_RETURN(privacy::NodeKey key, KeyOfStoppedNode(opened.store.config));
  opened.key = std::make_unique<privacy::NodeKey>(std::move(key));
  ASSIGN_OR_RETURN(opened.ledger,
                   storage::PrivacyLedgerStore::Open(
                       *opened.store.database,
                       {.read_only = true,
                        .key = opened.key.get(),
                        .counter_file = node::PrivacyCounterFileOf(opened.store.config)}));
  return opened;
}

// Writes what the counter (or its absence, which stands for one release) says was charged beyond
// the exported entries.
absl::Status ReportMissing(const StoppedLedger& opened, const LedgerFlags& flags,
                           const storage::ledger::LedgerFileSummary& file, CommandContext& context,
                           report::v1::LedgerExportReport* report) {
  for (const privacy::LedgerCharge& lost :
       storage::ledger::LostCharges(opened.ledger->counter(), file.accounts.charged())) {
    report::v1::MissingCharge& missing = *report->add_missing();
    missing.set_unit(std::string(UnitName(lost.unit)));
    missing.set_delta(flags.budget.delta);
    ASSIGN_OR_RETURN(const privacy::dp::RdpBound bound,
                     privacy::dp::EpsilonOf(lost.curve, flags.budget.delta));
    missing.set_epsilon(bound.value);
    context.err << fmt::format(
        "epsilon {:.3f}, at delta {:.1e}, of {}-level privacy is not in the file: {} counts it, or "
        "that file is missing, which stands for one release; give it to a verifier with the file, "
        "for --counter\n",
        missing.epsilon(), missing.delta(), UnitName(lost.unit),
        PrintableLine(node::PrivacyCounterFileOf(opened.store.config)));
  }
  return absl::OkStatus();
}

absl::Status ExportToNewFile(CommandContext& context, const LedgerFlags& flags) {
  std::error_code error;
  if (std::filesystem::exists(flags.file, error)) {
    return UsageError(fmt::format("{} exists already; name a new file with --out", flags.file));
  }
  ASSIGN_OR_RETURN(const StoppedLedger opened, OpenStoppedLedger(context, flags.config));
  ASSIGN_OR_RETURN(const std::string bytes,
                   storage::ledger::ExportLedger(*opened.store.database, *opened.key,
                                                 SystemClock().WallMillis()));
  ASSIGN_OR_RETURN(const storage::ledger::LedgerFileSummary file,
                   storage::ledger::VerifyLedgerFile(AsBytes(bytes)));
  RETURN_IF_ERROR(WriteFileAtomically(flags.file, bytes));
  report::v1::LedgerExportReport report;
  RETURN_IF_ERROR(ReportMissing(opened, flags, file, context, &report));
  if (context.json) {
    report.set_file(flags.file);
    report.set_node(ToHex(file.node));
    report.set_entries(file.head.sequence);
    report.set_head(ToHex(file.head.hash));
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out << fmt::format(
      "{} entries in {}; anyone can check it with\n  ruvd privacy verify {} --key {}\n",
      file.head.sequence, PrintableLine(flags.file), PrintableLine(flags.file), ToHex(file.node));
  return absl::OkStatus();
}

// The tier that a node with this consent record shares under; any doubt means private.
struct StoredTier {
  privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;
  int64_t since_ms = 0;  // 0: since the beginning
  std::string consent;   // whether the record is valid
};

StoredTier TierOf(storage::Database& database, const privacy::NodeKey& key) {
  const auto record = storage::ConsentStore(database).Get();
  if (!record.ok()) {
    return {.consent = "unreadable, so nothing leaves: " + MessageOf(record.status())};
  }
  if (!*record) {
    return {.consent = "no consent was given"};
  }
  if (!(*record)->Verify(key).ok()) {
    return {.consent = "not signed by this node's key, so nothing leaves"};
  }
  if (storage::ConsentStore(database).IsSuspended().value_or(true)) {
    return {.consent = "suspended by a restore until it is granted again, so nothing leaves"};
  }
  return {.tier = (*record)->tier, .since_ms = (*record)->since_ms, .consent = "signed"};
}

// Says what the configuration allows to spend.
std::string MaySpendText(const config::NodeConfig& config) {
  const auto& privacy = config.privacy;
  if (privacy.unit == UnitName(privacy::PrivacyUnit::kNode)) {
    return fmt::format("epsilon {:.3f} by the whole node (privacy.epsilon)", privacy.epsilon);
  }
  return fmt::format(
      "epsilon {:.3f} by any one {} (privacy.epsilon){}", privacy.epsilon, privacy.unit,
      privacy.node_epsilon == 0
          ? ""
          : fmt::format(", {:.3f} by the whole node (privacy.node_epsilon)", privacy.node_epsilon));
}

absl::Status LedgerStatus(CommandContext& context, const LedgerFlags& flags) {
  ASSIGN_OR_RETURN(const std::vector<privacy::UnitBudget> budgets, flags.budget.Budgets());
  ASSIGN_OR_RETURN(const StoppedLedger opened, OpenStoppedLedger(context, flags.config));
  const StoredTier stored = TierOf(*opened.store.database, *opened.key);
  const privacy::LedgerHead head = opened.ledger->head();
  std::vector<UnitAccount> accounts;
  for (const privacy::PrivacyUnit unit : privacy::kPrivacyUnits) {
    ASSIGN_OR_RETURN(const double epsilon, opened.ledger->LargestEpsilon(unit, flags.budget.delta));
    accounts.push_back(AccountOf(unit, opened.ledger->totals(unit), epsilon, budgets));
  }
  if (context.json) {
    report::v1::LedgerReport report;
    report.set_node(ToHex(opened.key->id()));
    report.set_tier(std::string(privacy::TierName(stored.tier)));
    SetTime(stored.since_ms, [&] { return report.mutable_since(); });
    report.set_consent(stored.consent);
    report.set_entries(head.sequence);
    report.set_head(ToHex(head.hash));
    report.set_delta(flags.budget.delta);
    report.set_config_epsilon(double{opened.store.config.privacy.epsilon});
    report.set_config_unit(opened.store.config.privacy.unit);
    report.set_config_node_epsilon(double{opened.store.config.privacy.node_epsilon});
    WriteAccounts(accounts, report.mutable_units());
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out << FormatFields(
                     {{"node", ToHex(opened.key->id())},
                      {"tier", std::string(privacy::TierName(stored.tier))},
                      {"since",
                       stored.since_ms == 0 ? "always" : FormatTime(stored.since_ms) + " UTC"},
                      {"consent", stored.consent},
                      {"may spend", MaySpendText(opened.store.config)},
                      {"entries", std::to_string(head.sequence)},
                      {"head", ToHex(head.hash)}})
              << AccountsTable(accounts, flags.budget.delta);
  return absl::OkStatus();
}

}  // namespace

void AddPrivacyVerbs(VerbTable& verbs) {
  auto check = std::make_shared<VerifyFlags>();
  Verb verify = verbs.Add("privacy verify", kPrivacyGroup, "Check a node's exported privacy ledger",
                          [check](CommandContext& context) { return VerifyFile(context, *check); });
  verify.Option("file", check->file, "File of `ruvd privacy export`").Required();
  verify.Option("--key", check->key,
                "Node that the ledger must belong to: its id or public key in hexadecimal, or "
                "a node.key file");
  verify.Option("--counter", check->counter,
                "The node's privacy-counter file, which the sum of the entries must reach");
  check->budget.AddTo(verify);

  auto out = std::make_shared<LedgerFlags>();
  Verb save =
      verbs.Add("privacy export", kPrivacyGroup, "Write a stopped node's privacy ledger to a file",
                [out](CommandContext& context) { return ExportToNewFile(context, *out); });
  save.Option("--out", out->file, "New file to write").Required();
  out->config.AddTo(save);

  auto show = std::make_shared<LedgerFlags>();
  Verb status = verbs.Add("privacy status", kPrivacyGroup,
                          "Show the sharing tier of a stopped node and what it has spent",
                          [show](CommandContext& context) { return LedgerStatus(context, *show); });
  show->budget.AddTo(status);
  show->config.AddTo(status);
}

}  // namespace ruvd::cli
