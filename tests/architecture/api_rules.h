// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// The rules of what clients see (docs/api.md), checked by descriptors. Each check returns what is
// wrong, one text for each place.
namespace ruvd::architecture {

// Protos below a folder, which is the root of their imports, with their comments.
class ProtoTree {
 public:
  explicit ProtoTree(const std::string& root);
  // Reads one file of this name and text, for tests of the rules.
  ProtoTree(const std::string& name, const std::string& text);
  ~ProtoTree();
  ProtoTree(const ProtoTree&) = delete;
  ProtoTree& operator=(const ProtoTree&) = delete;

  const std::vector<const google::protobuf::FileDescriptor*>& files() const { return files_; }
  // What could not be read
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  class Errors;
  std::unique_ptr<google::protobuf::compiler::SourceTree> sources_;
  std::unique_ptr<Errors> collector_;
  std::unique_ptr<google::protobuf::compiler::Importer> importer_;
  std::vector<const google::protobuf::FileDescriptor*> files_;
  std::vector<std::string> errors_;
};

// A file lies where its package says, "ruvd/AREA/v1/*.proto", and imports only its own kind and
// google.protobuf.
std::vector<std::string> CheckPackages(const ProtoTree& tree);
// Services end with "Service"; the messages of a method are its own and have its name; values of an
// enum begin with the enum's name, and 0 is "unspecified"; fields are in lower case.
std::vector<std::string> CheckNames(const ProtoTree& tree);
// A number whose comment says what 0 means has `optional`, because 0 cannot be asked for otherwise.
// Sizes of pages are the exception.
std::vector<std::string> CheckPresence(const ProtoTree& tree);
// A point in time or a period is a google.protobuf.Timestamp or Duration.
std::vector<std::string> CheckTimes(const ProtoTree& tree);
// A method that lists has pages.
std::vector<std::string> CheckPages(const ProtoTree& tree);
// A method that only reads says so, so that a client may repeat it.
std::vector<std::string> CheckReads(const ProtoTree& tree);
// Services, methods, enums, and messages that are no request or response have a comment.
std::vector<std::string> CheckComments(const ProtoTree& tree);

// Returns one line for each method, field and value, sorted: what a client may rely on.
std::vector<std::string> ContractOf(const ProtoTree& tree);

}  // namespace ruvd::architecture
