// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/log/log_setup.h"

#include <fmt/chrono.h>
#include <grpc/support/log.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace ruvd {
namespace {

class JsonFormatter final : public spdlog::formatter {
 public:
  explicit JsonFormatter(std::string node_name) : node_name_(std::move(node_name)) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto millis =
        std::chrono::duration_cast<std::chrono::milliseconds>(message.time.time_since_epoch());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(message.time);
    const auto level = spdlog::level::to_string_view(message.level);
    const nlohmann::ordered_json json = {
        {"time", fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                             fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                             millis.count() % 1000)},
        {"level", std::string(level.data(), level.size())},
        {"node", node_name_},
        {"message", std::string(message.payload.data(), message.payload.size())}};
    const std::string line =
        json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    out.append(line.data(), line.data() + line.size());
    out.push_back('\n');
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>(node_name_);
  }

 private:
  std::string node_name_;
};

// Writes gRPC's messages in the same format, at most at level info, because most of them are about
// unknown callers that fail a TLS handshake.
void LogOfGrpc(gpr_log_func_args* entry) {
  // gRPC's threads still run after spdlog::shutdown.
  if (const auto logger = spdlog::default_logger(); logger != nullptr) {
    logger->log(
        entry->severity == GPR_LOG_SEVERITY_ERROR ? spdlog::level::info : spdlog::level::debug,
        "gRPC: {}", entry->message);
  }
}

// Escapes %, which would be read as a pattern flag.
std::string EscapePattern(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out.append(c == '%' ? 2 : 1, c);
  }
  return out;
}

}  // namespace

std::unique_ptr<spdlog::formatter> MakeJsonLogFormatter(std::string node_name) {
  return std::make_unique<JsonFormatter>(std::move(node_name));
}

void SetUpLogging(const config::NodeConfig::LogSection& config, std::string_view node_name) {
  auto logger =
      std::make_shared<spdlog::logger>("ruvd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::from_str(config.level));
  logger->flush_on(spdlog::level::info);
  const bool json =
      config.format == "json" || (config.format == "auto" && ::isatty(STDERR_FILENO) == 0);
  if (json) {
    logger->set_formatter(MakeJsonLogFormatter(std::string(node_name)));
  } else {
    logger->set_pattern("%H:%M:%S.%e %L " + EscapePattern(node_name) + "  %v");
  }
  spdlog::set_default_logger(std::move(logger));
  gpr_set_log_function(&LogOfGrpc);
}

}  // namespace ruvd
