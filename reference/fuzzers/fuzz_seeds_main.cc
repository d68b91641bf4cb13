// Writes seed corpora from the golden vectors:  fuzz_seeds GOLDENS SAFETENSORS_DIR CHECKPOINT_DIR
#include <cstdio>
#include <exception>

#include "reference/safetensors_writer.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSmall = 40000;  // bytes; large seeds make slow runs

// One expert whose gate and up are a golden's matrix, and down zeros with scales of one byte value.
struct Seed {
  const char* golden;
  char config;  // index into the configs of checkpoint_fuzzer.cc
  std::vector<const char*> tensors;
  const char *codes, *scales;  // names after the projection
  const char *codes_type, *scales_type;
  std::vector<std::int64_t> codes_shape, scales_shape;
  const char* global;  // name, or null
};

const std::vector<Seed>& Seeds() {
  static const std::vector<Seed> seeds = {{"nvfp4_modelopt-a",
                                           1,
                                           {"weight", "weight_scale", "weight_scale_2"},
                                           "weight",
                                           "weight_scale",
                                           "U8",
                                           "F8_E4M3",
                                           {64, 8},
                                           {64, 1},
                                           "weight_scale_2"},
                                          {"nvfp4_compressed_tensors-a",
                                           2,
                                           {"weight_packed", "weight_scale", "weight_global_scale"},
                                           "weight_packed",
                                           "weight_scale",
                                           "U8",
                                           "F8_E4M3",
                                           {64, 8},
                                           {64, 1},
                                           "weight_global_scale"},
                                          {"mxfp8-a",
                                           4,
                                           {"weight", "weight_scale_inv"},
                                           "weight",
                                           "weight_scale_inv",
                                           "F8_E4M3",
                                           "U8",
                                           {96, 16},
                                           {96, 1},
                                           nullptr}};
  return seeds;
}

std::size_t Product(const std::vector<std::int64_t>& shape) {
  std::size_t product = 1;
  for (const std::int64_t extent : shape) product *= std::size_t(extent);
  return product;
}

void WriteCheckpoint(const Seed& seed, const fs::path& goldens, const fs::path& out) {
  const Safetensors golden =
      Safetensors::Open(goldens / "formats" / (std::string(seed.golden) + ".safetensors"));
  const std::string expert = "model.layers.0.mlp.experts.0.";
  SafetensorsWriter writer;
  for (const char* projection : {"gate_proj.", "up_proj."})
    for (const char* tensor : seed.tensors)
      writer.Add(expert + projection + tensor, golden.Get(tensor));
  const std::string down = expert + "down_proj.";
  writer.Add(down + seed.codes, seed.codes_type, seed.codes_shape,
             std::vector<std::uint8_t>(Product(seed.codes_shape), 0x21));
  writer.Add(down + seed.scales, seed.scales_type, seed.scales_shape,
             std::vector<std::uint8_t>(Product(seed.scales_shape), 0x38));
  if (seed.global != nullptr) writer.AddFloat(down + seed.global, 2.0f);
  const std::vector<std::uint8_t> bytes = writer.Bytes();
  std::ofstream(out / seed.golden, std::ios::binary)
      .put(seed.config)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

// gpt-oss: one stack of MXFP4 blocks.
void WriteBlocks(const fs::path& goldens, const fs::path& out) {
  const Safetensors golden = Safetensors::Open(goldens / "formats" / "mxfp4-a.safetensors");
  const std::string experts = "model.layers.0.mlp.experts.";
  SafetensorsWriter writer;
  writer.Add(experts + "gate_up_proj_blocks", golden.Get("blocks"));
  writer.Add(experts + "gate_up_proj_scales", golden.Get("scales"));
  writer.Add(experts + "down_proj_blocks", golden.Get("blocks"));
  writer.Add(experts + "down_proj_scales", golden.Get("scales"));
  const std::vector<std::uint8_t> bytes = writer.Bytes();
  std::ofstream(out / "mxfp4-a", std::ios::binary)
      .put(3)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

void WriteAll(const fs::path& goldens, const fs::path& plain, const fs::path& checkpoints) {
  fs::create_directories(plain);
  fs::create_directories(checkpoints);
  for (const fs::directory_entry& entry : fs::directory_iterator(goldens / "formats"))
    if (entry.path().extension() == ".safetensors" && entry.file_size() < kSmall)
      fs::copy_file(entry.path(), plain / entry.path().filename(),
                    fs::copy_options::overwrite_existing);
  for (const Seed& seed : Seeds()) WriteCheckpoint(seed, goldens, checkpoints);
  WriteBlocks(goldens, checkpoints);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: fuzz_seeds GOLDENS SAFETENSORS_DIR CHECKPOINT_DIR\n");
    return 2;
  }
  try {
    assay::WriteAll(argv[1], argv[2], argv[3]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz_seeds: %s\n", error.what());
    return 99;
  }
}
