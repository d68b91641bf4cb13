# Sourced by ci/gate and ci/test: where the build lives, how it is configured, how long a stage takes.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${ASSAY_BUILD:-$top/build}
stage_names=()
stage_seconds=()

now() { date +%s.%N; }

# stage NAME COMMAND...: runs it, keeps its seconds, returns its status.
stage() {
  local name=$1 begin status=0
  shift
  begin=$(now)
  "$@" || status=$?
  stage_names+=("$name")
  stage_seconds+=("$(awk -v a="$begin" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }')")
  return "$status"
}

print_stages() {
  local i
  printf '%-22s %9s\n' stage seconds
  for i in "${!stage_names[@]}"; do
    printf '%-22s %9s\n' "${stage_names[$i]}" "${stage_seconds[$i]}"
  done
}

# The nvcc that CMake would find, or nothing.
find_nvcc() {
  local candidate
  for candidate in "${CUDACXX:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    if [ -n "$candidate" ] && [ -x "$candidate" ]; then
      printf '%s\n' "$candidate"
      return
    fi
  done
}

has_cuda_build() {
  grep -qs '^CMAKE_CUDA_COMPILER:[A-Z]*=/' "$build/CMakeCache.txt" &&
    ! grep -qs '^ASSAY_CUDA:[A-Z]*=OFF' "$build/CMakeCache.txt"
}

# configure AUTO|ON|OFF: quiet unless it fails.
configure() {
  local cuda=$1 log=$build/configure.log generator=() compiler=() nvcc
  mkdir -p "$build"
  if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then
    generator=(-G Ninja)
  fi
  nvcc=$(find_nvcc)
  if [ "$cuda" != OFF ] && [ -n "$nvcc" ]; then
    compiler=("-DCMAKE_CUDA_COMPILER=$nvcc")
  fi
  cmake -S "$top" -B "$build" "${generator[@]}" "${compiler[@]}" "-DASSAY_CUDA=$cuda" \
    >"$log" 2>&1 || { tail -n 30 "$log" >&2; return 99; }
  grep -E '^-- (CUDA|nvcc)' "$log" | tail -n 1 || true
}

# build_targets [TARGET]: all without one. A compile error is shown, the rest is not.
build_targets() {
  local log=$build/build.log target=()
  [ $# -eq 0 ] || target=(--target "$@")
  cmake --build "$build" --parallel "$(nproc)" "${target[@]}" >"$log" 2>&1 ||
    { grep -E 'error|Error|FAILED' "$log" | head -n 20 >&2
      printf 'the build failed; the whole log is %s\n' "$log" >&2; return 99; }
}
