#include "fuzz/corpus.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace assay {

namespace {

std::string Trim(const std::string& text) {
  constexpr const char* kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

[[noreturn]] void Fail(const std::string& name, int line, const std::string& what) {
  throw UsageError(name + ":" + std::to_string(line) + ": " + what);
}

Case ParseAt(const std::string& text, const std::string& name, int line) {
  try {
    return ParseCase(text);
  } catch (const UsageError& error) {
    Fail(name, line, error.what());
  }
}

void AddComment(const std::string& text, std::string& why) {
  const std::string words = Trim(text.substr(1));
  if (!why.empty() && !words.empty()) why += ' ';
  why += words;
}

}  // namespace

std::vector<CorpusCase> ReadCorpus(std::istream& in, const std::string& name) {
  std::vector<CorpusCase> cases;
  std::string text, why;
  for (int line = 1; std::getline(in, text); ++line) {
    const std::string words = Trim(text);
    if (words.empty()) {
      why.clear();
    } else if (words[0] == '#') {
      AddComment(words, why);
    } else {
      if (why.empty()) Fail(name, line, "no comment above says why; add one that starts with #");
      cases.push_back({ParseAt(words, name, line), std::move(why), line});
      why.clear();
    }
  }
  return cases;
}

std::vector<CorpusCase> ReadCorpusFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError(path + ": cannot be read: " + std::strerror(errno) + "; name a file");
  return ReadCorpus(in, path);
}

}  // namespace assay
