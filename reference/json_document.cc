#include "reference/json_document.h"

#include <fstream>
#include <set>
#include <vector>

#include "reference/error.h"

namespace assay {
namespace {

constexpr std::size_t kMaxBytes = 64u << 20, kMaxString = 4096, kMaxDepth = 32, kMaxShown = 60;

// Sees every event of the parser before a value is kept; the parser itself never recurses.
class Limits {
 public:
  explicit Limits(const std::string& name) : name_(name) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) Open(depth);
    if (event == Event::object_end || event == Event::array_end) names_.pop_back();
    if (event == Event::key) Name(value.get_ref<const std::string&>());
    if (event == Event::value && value.is_string()) Length(value.get_ref<const std::string&>());
    return true;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const { throw UsageError(name_ + ": " + what); }

  void Open(int depth) {
    if (depth >= static_cast<int>(kMaxDepth))
      Fail("nested deeper than " + std::to_string(kMaxDepth) + " objects and arrays");
    names_.emplace_back();
  }

  void Name(const std::string& name) {
    Length(name);
    if (!names_.back().insert(name).second)
      Fail("the name " + ShortJson(name) + " occurs twice in one object");
  }

  void Length(const std::string& text) const {
    if (text.size() > kMaxString)
      Fail("a string of " + std::to_string(text.size()) + " bytes, " + std::to_string(kMaxString) +
           " are allowed: " + ShortJson(text));
  }

  const std::string& name_;
  std::vector<std::set<std::string>> names_;  // one set for each open object or array
};

// Messages of the library begin with "[json.exception.parse_error.101] ".
std::string WithoutTag(const std::string& message) {
  const std::size_t end = message.find("] ");
  std::string text = end == std::string::npos ? message : message.substr(end + 2);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text.size() > 200 ? text.substr(0, 200) + "..." : text;
}

}  // namespace

std::string ShortJson(const Json& value) {
  if (value.is_object() || value.is_array())
    return std::string(value.is_object() ? "an object" : "an array") + " of " +
           std::to_string(value.size());
  if (value.is_string() && value.get_ref<const std::string&>().size() > kMaxShown)
    return ShortJson(value.get_ref<const std::string&>().substr(0, kMaxShown - 4) + "...");
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Json ParseJson(std::string_view text, const std::string& name) {
  if (text.size() > kMaxBytes)
    throw UsageError(name + ": " + std::to_string(text.size()) + " bytes of JSON, " +
                     std::to_string(kMaxBytes) + " are allowed");
  Limits limits(name);
  try {
    return Json::parse(text.begin(), text.end(),
                       [&](int depth, Json::parse_event_t event, Json& value) {
                         return limits(depth, event, value);
                       });
  } catch (const Json::exception& error) {
    throw UsageError(name + ": " + WithoutTag(error.what()));
  }
}

Json ReadJson(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error || !std::filesystem::is_regular_file(file))
    throw UsageError(file.string() + ": cannot be read");
  if (size > kMaxBytes) throw UsageError(file.string() + ": more than 64 MiB of JSON");
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.good() && !stream.eof()) throw UsageError(file.string() + ": cannot be read");
  return ParseJson(text, file.string());
}

}  // namespace assay
