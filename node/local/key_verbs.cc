// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd key create`, `key ls` and `key revoke`, which read and write the file that api.key_file
// names.

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/local/verbs.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "node/transport/api_keys.h"
#include "privacy/seal/secret_file.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

using transport::ApiKey;

constexpr char kKeyGroup[] = "Run a node";
constexpr uint32_t kOwnerOnly = 0600;
constexpr char kReadAgain[] =
    "a node that runs takes the change when it gets SIGHUP (systemctl reload)\n";

struct CreateFlags {
  std::string name;
  std::string file;
  std::vector<std::string> roles = {"contributor"};
  transport::KeyLimits limits;
};

struct KeyFlags {
  std::string name;
  std::string file;
};

// The text of the file and the keys in it; nothing if there is no file.
struct KeyFile {
  std::string text;
  std::vector<ApiKey> keys;
  bool Has(std::string_view name) const {
    return std::ranges::find(keys, name, &ApiKey::name) != keys.end();
  }
};

absl::StatusOr<KeyFile> ReadKeys(const std::string& path) {
  KeyFile file;
  ASSIGN_OR_RETURN(file.text, privacy::ReadSecretFile(path, "key file"));
  ASSIGN_OR_RETURN(file.keys, transport::ParseKeyFile(file.text, path));
  return file;
}

absl::StatusOr<KeyFile> ReadOrBegin(const std::string& path) {
  std::error_code error;
  if (std::filesystem::symlink_status(path, error).type() ==
      std::filesystem::file_type::not_found) {
    return KeyFile();
  }
  return ReadKeys(path);
}

// Writes a key file, unless it changed since it was read.
absl::Status WriteKeys(const std::string& path, const KeyFile& read, std::string_view text) {
  ASSIGN_OR_RETURN(const KeyFile now, ReadOrBegin(path));
  if (now.text != read.text) {
    return Error(absl::StatusCode::kAborted, reasons::kInvalidArgument,
                 "{} was changed by another program meanwhile; run the command again", path);
  }
  return WriteFileAtomically(path, text, kOwnerOnly);
}

std::string Number(uint32_t limit) {
  return limit == 0 ? "-" : fmt::format("{}", limit);
}

void WriteKey(const ApiKey& key, report::v1::KeyReport* report) {
  report->set_name(key.name);
  report->set_roles(transport::FormatRoles(key.roles));
  report->set_requests_per_minute(key.limits.requests_per_minute);
  report->set_tokens_per_minute(key.limits.tokens_per_minute);
  report->set_running(key.limits.running);
}

void ShowCreated(CommandContext& context, const ApiKey& key, std::string_view secret) {
  if (context.json) {
    report::v1::KeyReport report;
    WriteKey(key, &report);
    report.set_key(std::string(secret));
    context.out << ToJsonLine(report);
    return;
  }
  context.out << FormatFields({{"key", std::string(secret)},
                               {"name", key.name},
                               {"roles", transport::FormatRoles(key.roles)}});
  context.err << "the key is shown this once and kept nowhere; " << kReadAgain;
}

absl::Status Create(CommandContext& context, const CreateFlags& flags) {
  RETURN_IF_ERROR(transport::CheckKeyName(flags.name));
  ASSIGN_OR_RETURN(const KeyFile file, ReadOrBegin(flags.file));
  if (file.Has(flags.name)) {
    return Error(absl::StatusCode::kAlreadyExists, reasons::kInvalidArgument,
                 "{} has a key named {} already; choose another name, or revoke that one first",
                 flags.file, flags.name);
  }
  std::string secret = transport::MakeKeySecret();
  ApiKey key{.name = flags.name, .limits = flags.limits, .hash = Sha256(secret)};
  ASSIGN_OR_RETURN(key.roles,
                   transport::ParseRoles(fmt::format("{}", fmt::join(flags.roles, ","))));
  std::string text = file.text;
  if (!text.empty() && !text.ends_with('\n')) {
    text += '\n';
  }
  text += transport::FormatKeyLine(key) + "\n";
  // A file that the node would refuse is not written.
  RETURN_IF_ERROR(transport::ParseKeyFile(text, flags.file).status());
  RETURN_IF_ERROR(WriteKeys(flags.file, file, text));
  ShowCreated(context, key, secret);
  OPENSSL_cleanse(secret.data(), secret.size());
  return absl::OkStatus();
}

absl::Status List(CommandContext& context, const KeyFlags& flags) {
  ASSIGN_OR_RETURN(const KeyFile file, ReadKeys(flags.file));
  if (context.json) {
    report::v1::KeyListReport report;
    for (const ApiKey& key : file.keys) {
      WriteKey(key, report.add_keys());
    }
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  for (const ApiKey& key : file.keys) {
    rows.push_back({key.name, transport::FormatRoles(key.roles),
                    Number(key.limits.requests_per_minute), Number(key.limits.tokens_per_minute),
                    Number(key.limits.running)});
  }
  context.out << FormatTable({"KEY", "ROLES", "REQUESTS/MIN", "TOKENS/MIN", "RUNNING"}, rows);
  return absl::OkStatus();
}

// Returns the text without the line of a key. Comments stay.
std::string Without(std::string_view text, std::string_view name) {
  std::string left;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    const size_t word = std::min(line.find_first_not_of(" \t"), line.size());
    const std::string_view rest = line.substr(word);
    if (rest.substr(0, rest.find_first_of(" \t\r\n")) != name) {
      left += line;
    }
    text.remove_prefix(end);
  }
  return left;
}

absl::Status Revoke(CommandContext& context, const KeyFlags& flags) {
  ASSIGN_OR_RETURN(const KeyFile file, ReadKeys(flags.file));
  if (!file.Has(flags.name)) {
    return Error(absl::StatusCode::kNotFound, reasons::kInvalidArgument,
                 "{} has no key named {}; `ruvd key ls` lists the keys", flags.file, flags.name);
  }
  if (file.keys.size() == 1) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                 "{} is the only key of {}, and a node refuses a file without keys; create another "
                 "one first",
                 flags.name, flags.file);
  }
  RETURN_IF_ERROR(WriteKeys(flags.file, file, Without(file.text, flags.name)));
  if (context.json) {
    report::v1::KeyReport report;
    report.set_name(flags.name);
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out << fmt::format("the key {} is revoked; {}", flags.name, kReadAgain);
  return absl::OkStatus();
}

void AddFile(Verb& verb, std::string& file) {
  verb.Option("--keys", file, "The node's key file (api.key_file)").Required();
}

}  // namespace

void AddKeyVerbs(VerbTable& verbs) {
  auto created = std::make_shared<CreateFlags>();
  Verb create = verbs.Add("key create", kKeyGroup, "Create a key for a client of the node's API",
                          [created](CommandContext& context) { return Create(context, *created); });
  create.Option("name", created->name, "Name of the key, for people and for limits").Required();
  AddFile(create, created->file);
  create.Option("--role", created->roles, "What the key allows: observer, contributor or admin")
      .OneOf({"observer", "contributor", "admin"})
      .SeparatedBy(',')
      .ShowDefault();
  create
      .Option("--requests", created->limits.requests_per_minute,
              "Requests a minute; without it as many as the node takes")
      .InRange(1, static_cast<int>(limits::kMaxKeyLimit));
  create
      .Option("--tokens", created->limits.tokens_per_minute,
              "Tokens a minute, of prompts and completions")
      .InRange(1, static_cast<int>(limits::kMaxKeyLimit));
  create.Option("--running", created->limits.running, "Requests at a time")
      .InRange(1, static_cast<int>(limits::kMaxKeyLimit));

  auto listed = std::make_shared<KeyFlags>();
  Verb list = verbs.Add("key ls", kKeyGroup, "List the keys of clients",
                        [listed](CommandContext& context) { return List(context, *listed); });
  AddFile(list, listed->file);

  auto revoked = std::make_shared<KeyFlags>();
  Verb revoke = verbs.Add("key revoke", kKeyGroup, "Revoke a client's key",
                          [revoked](CommandContext& context) { return Revoke(context, *revoked); });
  revoke.Option("name", revoked->name, "Name of the key").Required();
  AddFile(revoke, revoked->file);
}

}  // namespace ruvd::cli
