// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "api_rules.h"

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <regex>
#include <set>

namespace ruvd::architecture {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

// The text of one file.
class OneFile final : public google::protobuf::compiler::SourceTree {
 public:
  OneFile(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
  google::protobuf::io::ZeroCopyInputStream* Open(const std::string& name) override {
    return name == name_ ? new google::protobuf::io::ArrayInputStream(
                               text_.data(), static_cast<int>(text_.size()))
                         : nullptr;
  }

 private:
  const std::string name_;
  const std::string text_;
};

void ForEachMessage(const ProtoTree& tree, const std::function<void(const Descriptor&)>& visit) {
  const std::function<void(const Descriptor&)> within = [&](const Descriptor& message) {
    if (message.options().map_entry()) {
      return;
    }
    visit(message);
    for (int i = 0; i < message.nested_type_count(); ++i) {
      within(*message.nested_type(i));
    }
  };
  for (const FileDescriptor* file : tree.files()) {
    for (int i = 0; i < file->message_type_count(); ++i) {
      within(*file->message_type(i));
    }
  }
}

void ForEachField(const ProtoTree& tree, const std::function<void(const FieldDescriptor&)>& visit) {
  ForEachMessage(tree, [&](const Descriptor& message) {
    for (int i = 0; i < message.field_count(); ++i) {
      visit(*message.field(i));
    }
  });
}

void ForEachEnum(const ProtoTree& tree, const std::function<void(const EnumDescriptor&)>& visit) {
  for (const FileDescriptor* file : tree.files()) {
    for (int i = 0; i < file->enum_type_count(); ++i) {
      visit(*file->enum_type(i));
    }
  }
  ForEachMessage(tree, [&](const Descriptor& message) {
    for (int i = 0; i < message.enum_type_count(); ++i) {
      visit(*message.enum_type(i));
    }
  });
}

void ForEachMethod(const ProtoTree& tree,
                   const std::function<void(const MethodDescriptor&)>& visit) {
  for (const FileDescriptor* file : tree.files()) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        visit(*file->service(i)->method(j));
      }
    }
  }
}

// "PatternStanding" becomes "PATTERN_STANDING".
std::string UpperSnake(std::string_view name) {
  std::string upper;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !upper.empty()) {
      upper += '_';
    }
    upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return upper;
}

template <typename Thing>
std::string CommentOf(const Thing& thing) {
  google::protobuf::SourceLocation location;
  return thing.GetSourceLocation(&location) ? location.leading_comments + location.trailing_comments
                                            : "";
}

bool IsNumber(const FieldDescriptor& field) {
  return field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE &&
         field.cpp_type() != FieldDescriptor::CPPTYPE_STRING &&
         field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM &&
         field.cpp_type() != FieldDescriptor::CPPTYPE_BOOL;
}

std::string TypeOf(const FieldDescriptor& field) {
  if (field.is_map()) {
    return fmt::format("map<{}, {}>", TypeOf(*field.message_type()->map_key()),
                       TypeOf(*field.message_type()->map_value()));
  }
  if (field.message_type() != nullptr) {
    return field.message_type()->full_name();
  }
  return field.enum_type() != nullptr ? field.enum_type()->full_name() : field.type_name();
}

std::string LabelOf(const FieldDescriptor& field) {
  if (const auto* const oneof = field.real_containing_oneof(); oneof != nullptr) {
    return fmt::format(" oneof {}", oneof->name());
  }
  return field.is_map()                                            ? ""
         : field.is_repeated()                                     ? " repeated"
         : field.has_presence() && field.message_type() == nullptr ? " optional"
                                                                   : "";
}

std::string Stream(bool streams) {
  return streams ? "stream " : "";
}

}  // namespace

class ProtoTree::Errors final : public google::protobuf::compiler::MultiFileErrorCollector {
 public:
  explicit Errors(std::vector<std::string>& errors) : errors_(errors) {}
  void AddError(const std::string& file, int line, int, const std::string& message) override {
    errors_.push_back(fmt::format("{}:{}: {}", file, line + 1, message));
  }

 private:
  std::vector<std::string>& errors_;
};

ProtoTree::ProtoTree(const std::string& root) : collector_(std::make_unique<Errors>(errors_)) {
  auto sources = std::make_unique<google::protobuf::compiler::DiskSourceTree>();
  sources->MapPath("", root);
  sources->MapPath("", PROTOBUF_INCLUDE_DIR);  // of google.protobuf
  sources_ = std::move(sources);
  importer_ =
      std::make_unique<google::protobuf::compiler::Importer>(sources_.get(), collector_.get());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".proto") {
      names.push_back(entry.path().lexically_relative(root).generic_string());
    }
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    if (const FileDescriptor* file = importer_->Import(name); file != nullptr) {
      files_.push_back(file);
    }
  }
}

ProtoTree::ProtoTree(const std::string& name, const std::string& text)
    : sources_(std::make_unique<OneFile>(name, text)),
      collector_(std::make_unique<Errors>(errors_)),
      importer_(std::make_unique<google::protobuf::compiler::Importer>(sources_.get(),
                                                                       collector_.get())) {
  if (const FileDescriptor* file = importer_->Import(name); file != nullptr) {
    files_.push_back(file);
  }
}

ProtoTree::~ProtoTree() = default;

std::vector<std::string> CheckPackages(const ProtoTree& tree) {
  static const std::regex kPackage("ruvd\\.[a-z]+\\.v1");
  std::vector<std::string> wrong;
  for (const FileDescriptor* file : tree.files()) {
    std::string folder = file->package();
    std::ranges::replace(folder, '.', '/');
    if (!std::regex_match(file->package(), kPackage) ||
        std::filesystem::path(file->name()).parent_path() != folder) {
      wrong.push_back(
          fmt::format("{} has the package {}; it must be ruvd.AREA.v1 and lie in "
                      "ruvd/AREA/v1",
                      file->name(), file->package()));
    }
    for (int i = 0; i < file->dependency_count(); ++i) {
      const FileDescriptor* const imported = file->dependency(i);
      if (!imported->name().starts_with("google/protobuf/") &&
          std::ranges::find(tree.files(), imported) == tree.files().end()) {
        wrong.push_back(fmt::format("{} imports {}, which clients do not have", file->name(),
                                    imported->name()));
      }
    }
  }
  return wrong;
}

std::vector<std::string> CheckNames(const ProtoTree& tree) {
  std::vector<std::string> wrong;
  ForEachMethod(tree, [&](const MethodDescriptor& method) {
    if (!method.service()->name().ends_with("Service")) {
      wrong.push_back(fmt::format("{} does not end with Service", method.service()->full_name()));
    }
    if (method.input_type()->name() != method.name() + "Request" ||
        method.output_type()->name() != method.name() + "Response") {
      wrong.push_back(fmt::format("{} must take {}Request and return {}Response",
                                  method.full_name(), method.name(), method.name()));
    }
  });
  ForEachEnum(tree, [&](const EnumDescriptor& type) {
    const std::string prefix = UpperSnake(type.name()) + "_";
    if (type.value(0)->name() != prefix + "UNSPECIFIED" || type.value(0)->number() != 0) {
      wrong.push_back(fmt::format("{} has no {}UNSPECIFIED = 0", type.full_name(), prefix));
    }
    for (int i = 0; i < type.value_count(); ++i) {
      if (!type.value(i)->name().starts_with(prefix)) {
        wrong.push_back(fmt::format("{} does not begin with {}", type.value(i)->name(), prefix));
      }
    }
  });
  static const std::regex kField("[a-z][a-z0-9]*(_[a-z0-9]+)*");
  ForEachField(tree, [&](const FieldDescriptor& field) {
    if (!std::regex_match(field.name(), kField)) {
      wrong.push_back(fmt::format("{} is not in lower case with underscores", field.full_name()));
    }
  });
  return wrong;
}

std::vector<std::string> CheckPresence(const ProtoTree& tree) {
  static const std::regex kZeroMeans("(^|[^.0-9])0 means");
  std::set<const Descriptor*> asked;
  const std::function<void(const Descriptor*)> reach = [&](const Descriptor* message) {
    if (asked.insert(message).second) {
      for (int i = 0; i < message->field_count(); ++i) {
        if (message->field(i)->message_type() != nullptr) {
          reach(message->field(i)->message_type());
        }
      }
    }
  };
  ForEachMethod(tree, [&](const MethodDescriptor& method) { reach(method.input_type()); });
  std::vector<std::string> wrong;
  ForEachField(tree, [&](const FieldDescriptor& field) {
    if (IsNumber(field) && !field.has_presence() && !field.is_repeated() &&
        field.name() != "page_size" && asked.contains(field.containing_type()) &&
        std::regex_search(CommentOf(field), kZeroMeans)) {
      wrong.push_back(
          fmt::format("{} gives 0 a meaning of its own; make it optional", field.full_name()));
    }
  });
  return wrong;
}

std::vector<std::string> CheckTimes(const ProtoTree& tree) {
  static const std::regex kUnit(".*_(ms|millis|us|ns|seconds|secs|days|hours|minutes)");
  std::vector<std::string> wrong;
  ForEachField(tree, [&](const FieldDescriptor& field) {
    if (IsNumber(field) && std::regex_match(field.name(), kUnit)) {
      wrong.push_back(fmt::format("{} counts time; use google.protobuf.Timestamp or Duration",
                                  field.full_name()));
    }
  });
  return wrong;
}

std::vector<std::string> CheckPages(const ProtoTree& tree) {
  std::vector<std::string> wrong;
  ForEachMethod(tree, [&](const MethodDescriptor& method) {
    const Descriptor& request = *method.input_type();
    if (method.name().starts_with("List") &&
        (request.FindFieldByName("page_size") == nullptr ||
         request.FindFieldByName("page_token") == nullptr ||
         method.output_type()->FindFieldByName("next_page_token") == nullptr)) {
      wrong.push_back(fmt::format("{} has no pages (page_size, page_token, next_page_token)",
                                  method.full_name()));
    }
  });
  return wrong;
}

std::vector<std::string> CheckReads(const ProtoTree& tree) {
  std::vector<std::string> wrong;
  ForEachMethod(tree, [&](const MethodDescriptor& method) {
    const bool reads = method.name().starts_with("Get") || method.name().starts_with("List") ||
                       method.name().starts_with("Search");
    if (reads &&
        method.options().idempotency_level() != google::protobuf::MethodOptions::NO_SIDE_EFFECTS) {
      wrong.push_back(fmt::format("{} reads, but its idempotency_level is not NO_SIDE_EFFECTS",
                                  method.full_name()));
    }
  });
  return wrong;
}

std::vector<std::string> CheckComments(const ProtoTree& tree) {
  std::vector<std::string> wrong;
  const auto check = [&](const auto& thing) {
    if (CommentOf(thing).empty()) {
      wrong.push_back(fmt::format("{} has no comment", thing.full_name()));
    }
  };
  for (const FileDescriptor* file : tree.files()) {
    for (int i = 0; i < file->service_count(); ++i) {
      check(*file->service(i));
    }
  }
  ForEachMethod(tree, [&](const MethodDescriptor& method) { check(method); });
  ForEachEnum(tree, [&](const EnumDescriptor& type) { check(type); });
  ForEachMessage(tree, [&](const Descriptor& message) {
    if (!message.name().ends_with("Request") && !message.name().ends_with("Response")) {
      check(message);
    }
  });
  return wrong;
}

std::vector<std::string> ContractOf(const ProtoTree& tree) {
  std::vector<std::string> lines;
  ForEachMethod(tree, [&](const MethodDescriptor& method) {
    lines.push_back(fmt::format("rpc {}: {}{} -> {}{}", method.full_name(),
                                Stream(method.client_streaming()), method.input_type()->full_name(),
                                Stream(method.server_streaming()),
                                method.output_type()->full_name()));
  });
  ForEachField(tree, [&](const FieldDescriptor& field) {
    lines.push_back(fmt::format("field {} = {}: {}{}", field.full_name(), field.number(),
                                TypeOf(field), LabelOf(field)));
  });
  ForEachEnum(tree, [&](const EnumDescriptor& type) {
    for (int i = 0; i < type.value_count(); ++i) {
      lines.push_back(fmt::format("value {}.{} = {}", type.full_name(), type.value(i)->name(),
                                  type.value(i)->number()));
    }
  });
  std::ranges::sort(lines);
  return lines;
}

}  // namespace ruvd::architecture
