#include "reference/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <fstream>

#include "reference/error.h"

namespace assay {
namespace {

std::vector<std::uint8_t> FileOf(const std::string& header, std::size_t data_bytes) {
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  for (const char c : header) bytes.push_back(static_cast<std::uint8_t>(c));
  for (std::size_t i = 0; i < data_bytes; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
  return bytes;
}

// The message of the error that parsing gives; "fine" if it gives none.
std::string ErrorOf(const std::string& header, std::size_t data_bytes = 8) {
  try {
    Safetensors::Parse(FileOf(header, data_bytes), "x.safetensors");
    return "fine";
  } catch (const UsageError& error) {
    return error.what();
  }
}

std::string Entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

TEST(Safetensors, ReadsTensorsAndTheirValues) {
  const std::string header = "{\"__metadata__\":{\"format\":\"pt\"}," +
                             Entry("a", "U8", "[2,2]", "[0,4]") + "," +
                             Entry("b", "F32", "[]", "[4,8]") + "}";
  auto bytes = FileOf(header, 8);
  const float value = 1.5f;
  std::memcpy(bytes.data() + bytes.size() - 4, &value, 4);
  const Safetensors file = Safetensors::Parse(bytes, "x");
  EXPECT_EQ(file.Tensors().size(), 2u);
  EXPECT_EQ(file.Doubles("a"), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(file.Doubles("b"), (std::vector<double>{1.5}));
  EXPECT_EQ(file.Get("a").Count(), 4);
}

TEST(Safetensors, NamesTheFileTheTensorAndTheRule) {
  const auto one = [](const char* dtype, const char* shape, const char* offsets) {
    return ErrorOf("{" + Entry("t", dtype, shape, offsets) + "}");
  };
  EXPECT_EQ(one("U8", "[8]", "[0,8]"), "fine");
  EXPECT_EQ(one("U8", "[9]", "[0,9]"),
            "x.safetensors: tensor \"t\": data_offsets [0, 9] leave the 8 bytes of data");
  EXPECT_EQ(one("U8", "[8]", "[8,0]"),
            "x.safetensors: tensor \"t\": data_offsets [8, 0] leave the 8 bytes of data");
  EXPECT_EQ(one("F32", "[8]", "[0,8]"),
            "x.safetensors: tensor \"t\": data_offsets hold 8 bytes, shape and dtype 32");
  EXPECT_EQ(one("F99", "[8]", "[0,8]"), "x.safetensors: tensor \"t\": dtype \"F99\" is not known");
  EXPECT_EQ(one("U8", "[4294967296,4294967296]", "[0,8]"),
            "x.safetensors: tensor \"t\": the shape is too large");
  EXPECT_EQ(one("U8", "[-8]", "[0,8]"),
            "x.safetensors: tensor \"t\": a negative number where none belongs");
  EXPECT_EQ(one("U8", "[8]", "[0,8,8]"),
            "x.safetensors: tensor \"t\": data_offsets must hold two numbers");
}

TEST(Safetensors, RejectsOverlapHolesAndLeftovers) {
  const auto two = [](const char* first, const char* second) {
    return ErrorOf("{" + Entry("a", "U8", "[4]", first) + "," + Entry("b", "U8", "[4]", second) +
                   "}");
  };
  EXPECT_EQ(two("[0,4]", "[4,8]"), "fine");
  EXPECT_EQ(two("[4,8]", "[0,4]"), "fine");
  EXPECT_EQ(two("[0,4]", "[2,6]"), "x.safetensors: tensor \"b\": overlaps the tensor before it");
  EXPECT_EQ(ErrorOf("{" + Entry("a", "U8", "[4]", "[4,8]") + "}"),
            "x.safetensors: tensor \"a\": leaves a hole before it");
  EXPECT_EQ(ErrorOf("{" + Entry("a", "U8", "[4]", "[0,4]") + "}"),
            "x.safetensors: data: 4 bytes belong to no tensor");
}

TEST(Safetensors, RejectsNamesThatOccurTwice) {
  const std::string entry = Entry("a", "U8", "[4]", "[0,4]");
  EXPECT_EQ(ErrorOf("{" + entry + "," + entry + "}"),
            "x.safetensors: tensor \"a\": the name occurs twice");
  EXPECT_EQ(
      ErrorOf("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}}"),
      "x.safetensors: tensor \"a\": field \"dtype\" occurs twice");
}

TEST(Safetensors, RejectsHeadersThatAreNoTable) {
  for (const char* header :
       {"", "[]", "7", "{", "{\"a\":7}", "{\"a\":[]}", "{\"a\":{}}", "\"a\"", "{\"a\":{\"b\":{}}}",
        "[[[[[[[[", "{\"a\":{\"shape\":[[8]]}}", "{\"a\":\"b\"}"})
    EXPECT_NE(ErrorOf(header, 0), "fine") << header;
}

TEST(Safetensors, RejectsAHeaderLongerThanTheFile) {
  auto bytes = FileOf("{}", 0);
  bytes[0] = 200;
  EXPECT_THROW(Safetensors::Parse(bytes, "x"), UsageError);
  bytes[7] = 255;
  EXPECT_THROW(Safetensors::Parse(bytes, "x"), UsageError);
  EXPECT_THROW(Safetensors::Parse({1, 2, 3}, "x"), UsageError);
}

std::string ErrorOfBytes(std::vector<std::uint8_t> bytes) {
  try {
    Safetensors::Parse(std::move(bytes), "x");
    return "fine";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(Safetensors, NamesTruncationAndHugeHeaders) {
  EXPECT_EQ(ErrorOfBytes({1, 2, 3}), "x: header: the file has fewer than 8 bytes");
  EXPECT_EQ(ErrorOfBytes({200, 0, 0, 0, 0, 0, 0, 0, '{', '}'}),
            "x: header: claims 200 bytes, the file has 2");
  EXPECT_EQ(ErrorOfBytes({0, 0, 0, 0, 0, 0, 0, 0x80, '{', '}'}),
            "x: header: 9223372036854775808 bytes are too many");
  // The data end one byte early.
  EXPECT_EQ(ErrorOf("{" + Entry("t", "U8", "[8]", "[0,8]") + "}", 7),
            "x.safetensors: tensor \"t\": data_offsets [0, 8] leave the 7 bytes of data");
}

TEST(Safetensors, AMappedFileIsReadAsFromMemory) {
  const char* path = ASSAY_GOLDENS "/formats/mxfp4-a.safetensors";
  std::ifstream stream(path, std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(stream), {}};
  const Safetensors mapped = Safetensors::Open(path), parsed = Safetensors::Parse(bytes, "x");
  ASSERT_EQ(mapped.Tensors().size(), parsed.Tensors().size());
  for (const auto& [name, view] : mapped.Tensors()) {
    const auto other = parsed.Get(name).bytes;
    EXPECT_TRUE(std::equal(view.bytes.begin(), view.bytes.end(), other.begin(), other.end()))
        << name;
  }
}

TEST(Safetensors, AsksForTheRightType) {
  const Safetensors file =
      Safetensors::Parse(FileOf("{" + Entry("a", "U8", "[8]", "[0,8]") + "}", 8), "x");
  EXPECT_THROW(file.Get("a", "BF16"), UsageError);
  EXPECT_THROW(file.Get("b"), UsageError);
  EXPECT_THROW(Safetensors::Open("/nowhere/x.safetensors"), UsageError);
}

std::vector<std::uint8_t> ReadGolden() {
  std::ifstream stream(ASSAY_GOLDENS "/formats/mxfp4-a.safetensors", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Parses and touches the first and last byte of every tensor; a UsageError is a right answer.
void ParseAndTouch(std::vector<std::uint8_t> bytes) {
  try {
    const Safetensors file = Safetensors::Parse(std::move(bytes), "x");
    volatile std::uint8_t sink = 0;
    for (const auto& [name, view] : file.Tensors())
      if (!view.bytes.empty()) sink = view.bytes.front() ^ view.bytes.back();
    (void)sink;
  } catch (const UsageError&) {
  }
}

// What can go wrong here is a crash, an endless loop or another type of exception.
RC_GTEST_PROP(Safetensors, RandomDamageIsReadOrRefusedButNeverCrashes, ()) {
  static const std::vector<std::uint8_t> golden = ReadGolden();
  RC_ASSERT(golden.size() > 1000u);
  std::vector<std::uint8_t> bytes = golden;
  const int flips = *rc::gen::inRange(0, 6);
  for (int i = 0; i < flips; ++i)  // most of them in the header
    bytes[*rc::gen::inRange<std::size_t>(
        0, *rc::gen::element<std::size_t>(8, 400, bytes.size()))] ^= *rc::gen::inRange(1, 256);
  if (*rc::gen::arbitrary<bool>()) bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size()));
  ParseAndTouch(std::move(bytes));
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::vector<std::uint8_t> golden = ReadGolden();
  for (std::size_t size = 0; size < golden.size(); size += size < 600 ? 1 : 97) {
    EXPECT_THROW(Safetensors::Parse({golden.begin(), golden.begin() + size}, "x"), UsageError)
        << size;
  }
}

TEST(TensorView, CountsNothingWhereAnExtentIsZeroWhateverTheOthers) {
  TensorView view;
  view.shape = {std::int64_t{1} << 62, std::int64_t{1} << 62, 0};
  EXPECT_EQ(view.Count(), 0);
}

}  // namespace
}  // namespace assay
