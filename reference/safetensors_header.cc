#include "reference/safetensors_header.h"

#include <nlohmann/json.hpp>
#include <set>

#include "reference/error.h"

namespace assay {
namespace {

using Json = nlohmann::json;

// Event parser: unlike a document tree it sees names that occur twice, and it never recurses.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  std::vector<HeaderEntry> entries;
  std::string error;

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { return Unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return Unexpected("a fraction"); }
  bool binary(binary_t&) override { return Unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (InMetadata()) return Unexpected("a number");
    if (depth_ != 3) return Unexpected("a number");
    (key_ == "shape" ? entries.back().shape : entries.back().offsets).push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (depth_ == 2 && InMetadata()) return true;
    if (depth_ != 2 || key_ != "dtype") return Unexpected("a string");
    entries.back().dtype = value;
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ > 1 || (depth_ == 1 && key_.empty() && entries.empty() && !metadata_))
      return Unexpected("an object");
    ++depth_;
    fields_.clear();
    return true;
  }

  bool end_object() override {
    if (depth_ == 2 && !InMetadata() && fields_.size() != 3)
      return Fail("tensor \"" + entries.back().name + "\": needs dtype, shape and data_offsets");
    --depth_;
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || InMetadata() || (key_ != "shape" && key_ != "data_offsets"))
      return Unexpected("an array");
    ++depth_;
    return true;
  }

  bool end_array() override {
    --depth_;
    return true;
  }

  bool key(string_t& name) override { return depth_ == 1 ? TopKey(name) : FieldKey(name); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail("header: not valid JSON at byte " + std::to_string(position));
  }

 private:
  bool InMetadata() const { return metadata_; }

  bool Fail(std::string what) {
    if (error.empty()) error = std::move(what);
    return false;
  }

  bool Unexpected(const char* what) {
    const std::string where =
        entries.empty() || depth_ < 2 ? "header" : "tensor \"" + entries.back().name + "\"";
    return Fail(where + ": " + what + " where none belongs");
  }

  bool TopKey(const std::string& name) {
    if (!names_.insert(name).second) return Fail("tensor \"" + name + "\": the name occurs twice");
    metadata_ = name == "__metadata__";
    if (!metadata_) entries.push_back({name, {}, {}, {}});
    key_ = name;
    return true;
  }

  bool FieldKey(const std::string& name) {
    key_ = name;
    if (metadata_) return true;
    if (name != "dtype" && name != "shape" && name != "data_offsets")
      return Fail("tensor \"" + entries.back().name + "\": unknown field \"" + name + "\"");
    if (!fields_.insert(name).second)
      return Fail("tensor \"" + entries.back().name + "\": field \"" + name + "\" occurs twice");
    return true;
  }

  int depth_ = 0;  // 1: among names, 2: among fields, 3: inside an array
  bool metadata_ = false;
  std::string key_;
  std::set<std::string> names_, fields_;
};

}  // namespace

std::vector<HeaderEntry> ParseHeader(std::string_view json, const std::string& file) {
  HeaderReader reader;
  if (!Json::sax_parse(json.begin(), json.end(), &reader))
    throw UsageError(file + ": " + reader.error);
  for (const HeaderEntry& entry : reader.entries)
    if (entry.offsets.size() != 2)
      throw UsageError(file + ": tensor \"" + entry.name +
                       "\": data_offsets must hold two numbers");
  return std::move(reader.entries);
}

}  // namespace assay
