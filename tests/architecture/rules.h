// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source_tree.h"

// The rules of the house as functions from source files to complaints, one line each.
namespace ruvd::architecture {

using Files = std::vector<SourceFile>;
using Complaints = std::vector<std::string>;

// Rooms and their floors (docs/architecture.md): an include points to a lower floor.
inline const std::map<std::string, int>& Floors() {
  static const std::map<std::string, int> floors = {{"base", 0},       {"privacy", 1},
                                                    {"storage", 2},    {"inference", 2},
                                                    {"federation", 3}, {"node", 4}};
  return floors;
}
inline bool InARoom(const SourceFile& file) {
  return Floors().contains(file.Room());
}

inline Complaints CheckFloors(const Files& files) {
  Complaints complaints;
  for (const SourceFile& file : files) {
    if (!file.IsCpp() || !InARoom(file)) {
      continue;
    }
    const std::string room = file.Room();
    for (const std::string& include : QuotedIncludes(file)) {
      const std::string target = include.substr(0, include.find('/'));
      const bool generated = include.ends_with(".pb.h");
      if (generated && room == "base") {
        complaints.push_back(file.path + ": base may not use the generated " + include);
      } else if (!generated && target != room && Floors().contains(target) &&
                 Floors().at(target) >= Floors().at(room)) {
        complaints.push_back(file.path + ": " + room + " may not include " + include);
      } else if (target == "tests" || target == "bench") {
        complaints.push_back(file.path + ": a room may not include " + include);
      }
    }
  }
  return complaints;
}

// The folders of each room from the bottom to the top: an include points to a folder that stands
// before its own. The empty name is the room's own folder, with its limits and reasons.
inline const std::map<std::string, std::vector<std::string>>& FolderOrder() {
  static const std::map<std::string, std::vector<std::string>> order = {
      {"base", {""}},
      {"privacy",
       {"", "dp", "identity", "masking", "channel", "consent", "envelope", "ledger", "release",
        "seal"}},
      {"storage", {"",         "db",       "counters",     "hnsw/kernels", "hnsw",   "similarity",
                   "patterns", "changes",  "trajectories", "lessons",      "tokens", "consent",
                   "sessions", "witness",  "state",        "erasure",      "graph",  "items",
                   "ledger",   "policies", "restore",      "verify"}},
      {"inference", {"",        "gguf",      "tokenizer", "kernels",  "kernels/integer",
                     "model",   "numerics",  "adapter",   "cache",    "transformer",
                     "backend", "prefix",    "retrieval", "sampler",  "instant",
                     "memory",  "constrain", "engine",    "evaluate", "memory/learning",
                     "train",   "router",    "package",   "convert",  "import"}},
      {"federation",
       {"", "events", "daf", "learner", "patterns", "link", "membership", "masked", "relay",
        "gossip", "core"}},
      {"node", {"",       "runtime",    "config",
                "log",    "metrics",    "transport",
                "http",   "serving",    "serving/extensions",
                "openai", "learning",   "sharing",
                "actors", "client",     "terminal",
                "cli",    "tools",      "admission",
                "api",    "api/http",   "process",
                "local",  "local/demo", "local/tour",
                "program"}}};
  return order;
}

// Returns "" for a file of the room's own folder, "a/b" for room/a/b/file.h.
inline std::string FolderInRoom(std::string_view path) {
  const size_t first = path.find('/');
  const size_t last = path.rfind('/');
  return first == last ? "" : std::string(path.substr(first + 1, last - first - 1));
}

// The place of a folder in its room's order; nullopt for a folder that the order does not name.
inline std::optional<size_t> PlaceOfFolder(const std::string& room, const std::string& folder) {
  const std::vector<std::string>& order = FolderOrder().at(room);
  const auto found = std::ranges::find(order, folder);
  return found == order.end() ? std::nullopt
                              : std::optional(static_cast<size_t>(found - order.begin()));
}

inline Complaints CheckFolderOrder(const Files& files) {
  Complaints complaints;
  for (const SourceFile& file : files) {
    if (!file.IsCpp() || !InARoom(file)) {
      continue;
    }
    const std::string room = file.Room();
    const std::optional<size_t> own = PlaceOfFolder(room, FolderInRoom(file.path));
    if (!own) {
      complaints.push_back(file.path + ": FolderOrder() does not name this folder");
      continue;
    }
    for (const std::string& include : QuotedIncludes(file)) {
      if (!include.starts_with(room + "/")) {
        continue;
      }
      const std::optional<size_t> other = PlaceOfFolder(room, FolderInRoom(include));
      if (other && *other > *own) {
        complaints.push_back(file.path + ": stands below " + include + " and may not include it");
      }
    }
  }
  return complaints;
}

// Parts of the node that may include only what is named here, besides base, the node's own folder
// and generated messages.
struct KnownFolders {
  std::string folder;
  std::vector<std::string> known;
};
inline const std::vector<KnownFolders>& RestrictedFolders() {
  static const std::vector<KnownFolders> restricted = {
      // The actor runtime is tested without gRPC and under ThreadSanitizer.
      {"node/runtime", {"node/runtime/"}},
      // A client knows no part of a node.
      {"node/client", {"node/client/", "node/transport/"}},
      {"node/terminal", {"node/terminal/", "node/client/", "node/transport/"}},
      {"node/cli", {"node/cli/", "node/terminal/", "node/client/"}},
      // Tools for model files need no node.
      {"node/tools", {"node/tools/", "node/terminal/", "inference/"}},
      {"storage/hnsw", {"storage/hnsw/", "storage/limits.h", "storage/reasons.h"}},
  };
  return restricted;
}

inline Complaints CheckKnownFolders(const Files& files) {
  Complaints complaints;
  for (const SourceFile& file : files) {
    for (const KnownFolders& restricted : RestrictedFolders()) {
      if (!file.IsCpp() || !file.IsUnder(restricted.folder)) {
        continue;
      }
      for (const std::string& include : QuotedIncludes(file)) {
        const std::string target = include.substr(0, include.find('/'));
        const bool of_a_room = Floors().contains(target) && !include.ends_with(".pb.h");
        const bool of_the_node = target == "node" && FolderInRoom(include).empty();
        const bool known = std::ranges::any_of(
            restricted.known, [&](const std::string& name) { return include.starts_with(name); });
        if (of_a_room && target != "base" && !of_the_node && !known) {
          complaints.push_back(file.path + ": " + restricted.folder + " may not know " + include);
        }
      }
    }
  }
  return complaints;
}

// Code that must be a function of its arguments uses no threads, files or sockets.
inline Complaints CheckPureParts(const Files& files) {
  static const std::vector<std::string> kPure = {"federation", "inference/train"};
  static const std::regex kImpure(
      R"re(#\s*include\s*[<"](thread|fstream|mutex|condition_variable|sys/[a-z]+\.h|netinet/.*|unistd\.h|grpcpp/.*|rocksdb/.*|base/file\.h|base/thread_pool\.h|base/mutex\.h)[>"])re");
  // Actors drive these: they start no thread, talk to no peer and keep what lasts in the store. The
  // objects that several threads use guard themselves (base/mutex.h).
  static const std::vector<std::string> kDriven = {"node/learning", "node/sharing"};
  static const std::regex kNotDriven(
      R"re(#\s*include\s*[<"](thread|mutex|condition_variable|future|fstream|filesystem|fcntl\.h|unistd\.h|sys/[a-z]+\.h|netinet/.*|grpcpp/.*|rocksdb/.*|base/file\.h|base/folder\.h|base/thread_pool\.h|node/runtime/.*)[>"])re");
  Complaints complaints;
  for (const SourceFile& file : files) {
    const auto under = [&](const std::string& folder) { return file.IsUnder(folder); };
    const bool pure = std::ranges::any_of(kPure, under);
    const bool driven = std::ranges::any_of(kDriven, under);
    if ((!pure && !driven) || !file.IsCpp()) {
      continue;
    }
    for (const std::string& line : file.Lines()) {
      if (std::regex_search(line, pure ? kImpure : kNotDriven)) {
        complaints.push_back(file.path +
                             (pure ? ": no threads, files or sockets here: "
                                   : ": no threads, actors, files or sockets here: ") +
                             line);
      }
    }
  }
  return complaints;
}

// The longest name of a test, with its suite, that is still easy to read in ctest's output.
inline constexpr size_t kMaxTestName = 72;

inline Complaints CheckTestNames(const Files& files) {
  static const std::regex kTest(
      R"re((?:^|\n)(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+))re");
  Complaints complaints;
  for (const SourceFile& file : files) {
    if (!file.IsCpp()) {
      continue;
    }
    for (auto it = std::sregex_iterator(file.text.begin(), file.text.end(), kTest);
         it != std::sregex_iterator(); ++it) {
      const std::string name = (*it)[1].str() + "." + (*it)[2].str();
      if (name.size() > kMaxTestName) {
        complaints.push_back(file.path + ": give this test a shorter name: " + name);
      }
    }
  }
  return complaints;
}

// Finds one cycle in the graph of includes.
class CycleFinder {
 public:
  explicit CycleFinder(const Files& files) {
    for (const SourceFile& file : files) {
      if (file.IsCpp() && InARoom(file)) {
        graph_[file.path] = QuotedIncludes(file);
      }
    }
  }
  Complaints Find() {
    for (const auto& [path, includes] : graph_) {
      if (Visit(path)) {
        return {cycle_};
      }
    }
    return {};
  }

 private:
  bool Visit(const std::string& path) {
    auto node = graph_.find(path);
    if (node == graph_.end() || finished_.contains(path)) {
      return false;
    }
    if (!open_.insert(path).second) {
      cycle_ = "include cycle: " + path;
      return true;
    }
    for (const std::string& include : node->second) {
      if (Visit(include)) {
        cycle_ += " <- " + path;
        return true;
      }
    }
    open_.erase(path);
    finished_.insert(path);
    return false;
  }

  std::map<std::string, std::vector<std::string>> graph_;
  std::set<std::string> open_;
  std::set<std::string> finished_;
  std::string cycle_;
};

struct ForbiddenCall {
  std::string name;
  std::regex pattern;
  std::vector<std::string> allowed_in;  // files, or folders that end in '/'

  bool AllowedIn(const SourceFile& file) const {
    return std::ranges::any_of(allowed_in, [&](const std::string& allowed) {
      return allowed.ends_with('/') ? file.path.starts_with(allowed) : file.path == allowed;
    });
  }
};

// Returns the folders of the command line, and the files of `more`.
inline std::vector<std::string> CommandLine(std::vector<std::string> more) {
  for (const char* folder :
       {"node/client/", "node/terminal/", "node/cli/", "node/tools/", "node/local/"}) {
    more.emplace_back(folder);
  }
  return more;
}

// Time, chance and waiting come from outside (Clock, Random, Executor); these calls would bypass
// that. The command line is a client process that no simulation runs: it may read the clock for the
// deadlines of its calls and children, and may wait. gRPC's Shutdown takes a wall time.
inline const std::vector<ForbiddenCall>& ForbiddenCalls() {
  static const std::vector<ForbiddenCall> calls = {
      {"std::random_device", std::regex("random_device"), {}},
      {"rand()", std::regex(R"((^|[^\w.>])s?rand\s*\()"), {}},
      {"time()", std::regex(R"((^|[^\w.>])time\s*\(\s*(nullptr|NULL|0|&|\)))"), {}},
      {"gettimeofday or clock_gettime",
       std::regex("gettimeofday|clock_gettime"),
       {"base/boot_clock.cc"}},
      {"system_clock", std::regex("system_clock::now"),
       CommandLine({"base/clock.cc", "node/admission/join.cc", "node/process/node.cc"})},
      {"steady_clock::now", std::regex("(steady_clock|high_resolution_clock)::now"),
       CommandLine({"base/clock.cc"})},
      {"sleeping", std::regex(R"(sleep_for|sleep_until|\b(u|nano)?sleep\s*\()"), CommandLine({})},
  };
  return calls;
}

inline Complaints CheckDeterminism(const Files& files) {
  Complaints complaints;
  for (const SourceFile& file : files) {
    if (!file.IsCpp() || !InARoom(file)) {
      continue;
    }
    const std::vector<std::string> lines =
        SourceFile{file.path, StripCommentsAndLiterals(file.text)}.Lines();
    for (size_t i = 0; i < lines.size(); ++i) {
      for (const ForbiddenCall& call : ForbiddenCalls()) {
        if (!call.AllowedIn(file) && std::regex_search(lines[i], call.pattern)) {
          complaints.push_back(file.path + ":" + std::to_string(i + 1) + ": no " + call.name +
                               " here; use the injected Clock, Random or Executor");
        }
      }
    }
  }
  return complaints;
}

inline Complaints CheckLicenseHeaders(const Files& files) {
  Complaints complaints;
  for (const SourceFile& file : files) {
    const bool source = file.IsCpp() || file.HasExtension(".proto") || file.HasExtension(".sh") ||
                        file.HasExtension(".cmake") || file.HasExtension(".py") ||
                        file.HasExtension("CMakeLists.txt");
    const std::string head = file.text.substr(0, 400);
    if (source && (head.find("SPDX-FileCopyrightText: ") == std::string::npos ||
                   head.find("SPDX-License-Identifier: Apache-2.0") == std::string::npos)) {
      complaints.push_back(file.path + ": has no SPDX header");
    }
  }
  return complaints;
}

inline Complaints CheckPragmaOnce(const Files& files) {
  Complaints complaints;
  for (const SourceFile& file : files) {
    // Highway's per-target headers are included once for each target, precompiled ones by no file.
    const bool once =
        file.HasExtension(".h") && !file.HasExtension("-inl.h") && !file.IsUnder("cmake");
    if (once && file.text.find("\n#pragma once\n") == std::string::npos) {
      complaints.push_back(file.path + ": has no #pragma once");
    }
  }
  return complaints;
}

// A header of a room names these libraries by forward declarations only
// (node/transport/grpc_types.h, node/terminal/verb.h, <nlohmann/json_fwd.hpp>), because their
// headers add seconds to every source. Templates that need more are in files "*-inl.h", which only
// sources include.
inline Complaints CheckSlowHeaders(const Files& files) {
  static const std::regex kSlow(
      R"re(#\s*include\s*[<"](grpcpp/.*|CLI/.*|nlohmann/json\.hpp|boost/.*|.*\.grpc\.pb\.h)[>"])re");
  Complaints complaints;
  for (const SourceFile& file : files) {
    if (!file.HasExtension(".h") || file.HasExtension("-inl.h") || !InARoom(file)) {
      continue;
    }
    for (const std::string& line : file.Lines()) {
      if (std::regex_search(line, kSlow)) {
        complaints.push_back(file.path + ": a header may not have " + line);
      }
    }
  }
  return complaints;
}

// Two definitions of one name in one namespace break the one-definition rule as soon as both are
// linked into a program, and no compiler sees this: the linker keeps one of them for both.
inline Complaints CheckOneDefinition(const Files& files) {
  static const std::regex kNamespace(R"(^namespace ([\w:]+) \{)");
  static const std::regex kDefinition(
      R"(^(?:(?:inline constexpr|inline const) [\w:<>*, ]+|(?:enum class|struct|class)) (\w+)(?: =|\{| \{| :|\[| final).*)");
  Complaints complaints;
  std::map<std::string, std::string> first;  // file by qualified name
  for (const SourceFile& file : files) {
    const bool looked_at = InARoom(file) || file.Room() == "bench";
    if (!looked_at || !file.HasExtension(".h") || file.HasExtension("-inl.h")) {
      continue;
    }
    std::vector<std::string> spaces;
    for (const std::string& line : file.Lines()) {
      std::smatch match;
      if (std::regex_search(line, match, kNamespace)) {
        spaces.push_back(match[1]);
      } else if (line.starts_with("}  // namespace") && !spaces.empty()) {
        spaces.pop_back();
      } else if (std::regex_match(line, match, kDefinition)) {
        std::string name;
        for (const std::string& space : spaces) {
          name += space + "::";
        }
        name += match[1].str();
        const auto [known, is_new] = first.emplace(name, file.path);
        if (!is_new && known->second != file.path) {
          complaints.push_back(file.path + ": " + name + " is defined in " + known->second +
                               " too");
        }
      }
    }
  }
  return complaints;
}

// Paths that exist on one developer's machine only.
inline Complaints CheckMachinePaths(const Files& files) {
  static const std::regex kPath(R"((^|[^\w./~$}-])/(work|root|home)/)");
  Complaints complaints;
  for (const SourceFile& file : files) {
    const std::vector<std::string> lines = file.Lines();
    for (size_t i = 0; i < lines.size(); ++i) {
      if (std::regex_search(lines[i], kPath)) {
        complaints.push_back(file.path + ":" + std::to_string(i + 1) +
                             ": absolute path: " + lines[i]);
      }
    }
  }
  return complaints;
}

}  // namespace ruvd::architecture
