#!/bin/bash
# gpu_all.sh [DIR]: everything that needs a card, in one call of a few minutes: builds what it runs into DIR
# (default build-gpu), writes random models of both shapes, asks Hugging Face for references, measures, compares,
# runs compute-sanitizer, and prints a table last. Exit status 1 if anything failed.
#
# What measures runs alone and first, what compares next, the sanitizers last: so a step that goes wrong takes none
# down that has more to tell. Each has a time limit, and after each part it is seen whether the card is still there.
#
# Needs nvcc, compute-sanitizer, gcc, and a python3 with torch and transformers; no network. Full logs are in
# $OUT if that is set, otherwise in DIR.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=${1:-build-gpu}
logs=${OUT:-$dir}
PATH=$PATH:/usr/local/cuda/bin
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-8} OMP_WAIT_POLICY=passive HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
if [ -z "$arch" ]; then
    echo "gpu_all.sh: skipped: nvidia-smi lists no card"
    exit 77
fi
rm -rf "$dir"
mkdir -p "$dir" "$logs"
results=$dir/results
: >"$results"

# step NAME COMMAND...: runs it, keeps its output as NAME.log, notes status and seconds.
step() {
    local name=$1 begin=$SECONDS status
    shift
    if [ "$(type -t "$1")" = function ]; then
        "$@" >"$logs/$name.log" 2>&1
    else
        timeout "${limit:-300}" "$@" >"$logs/$name.log" 2>&1
    fi
    status=$?
    echo "$name $status $((SECONDS - begin))" >>"$results"
    return $status
}

# card AFTER: a step that fails if the card has gone.
card() {
    limit=30 step "card-after-$1" nvidia-smi --query-gpu=name --format=csv,noheader
}

# compile NAME SOURCE [FLAG...]: for the card, or for what $code says.
compile() {
    local name=$1 source=$2
    shift 2
    step "build-$name" nvcc -std=c++17 -O3 -gencode="${code:-arch=compute_$arch,code=sm_$arch}" -Xptxas -v \
        -Xcompiler=-Wall,-Wextra,-Werror,-fopenmp -Werror all-warnings "$@" -x cu "$source" -o "$dir/$name"
}

# program NAME SOURCE [FLAG...]
program() {
    local name=$1 source=$2
    shift 2
    step "build-$name" gcc -std=c11 -O3 -fopenmp -Wall -Wextra -Werror "$@" "$source" -o "$dir/$name" -lm
}

# A random model of the real shape, and its logits up to the last position. The reference that rounds k and v is
# left to the small shape: it starts from the CPU engine's cache, which would take minutes.
real_model() {
    program random-real tests/random_model.c &&
        step write-real "$dir/random-real" "$dir/model-real" &&
        step reference-real python3 tests/parity_reference.py -n 40960 "$dir/model-real" "$dir/reference-real" &&
        step reference-real-8 python3 tests/parity_reference.py -n 8192 -w 8 "$dir/model-real" "$dir/reference-real-8"
}

tiny_model() {
    program random-tiny tests/random_model.c -DQWEN600_TINY && program cache-tiny tests/cpu_cache.c -DQWEN600_TINY &&
        step write-tiny "$dir/random-tiny" "$dir/model-tiny" &&
        step cache-tiny "$dir/cache-tiny" "$dir/model-tiny" "$dir/reference-tiny" 8192 &&
        step reference-tiny python3 tests/parity_reference.py "$dir/model-tiny" "$dir/reference-tiny"
}

# No kernel may use local memory: neither spills nor a stack.
no_spills() {
    grep -h -B 1 "bytes stack frame" "$logs"/build-*.log | grep -v " 0 bytes stack frame, 0 bytes spill stores" |
        grep -B 1 "bytes stack frame"
    [ $? -eq 1 ]
}

# Replies with guesses and without, on the card, in every form: the same bytes.
guesses() {
    local seed g forms=(8 12 16)
    for seed in 1 2 3 4 5 6 7 8; do
        for g in 0 7; do
            printf '%s\n' 'What is RoPE?' 'Tell me about RoPE.' 'My name is Ada.' 'What is RoPE?' 'What is my name?' |
                "$dir/qwen600-tiny" models/tiny -d gpu -v 1 -s $seed -t 0.$seed -r $((seed % 2)) -g $g -w ${forms[seed % 3]} \
                    >"$dir/reply-$g" 2>"$dir/said-$g" || return 1
        done
        grep -o '[0-9]* guessed, [0-9]* kept' "$dir/said-7" | tr '\n' ';'
        cmp "$dir/reply-0" "$dir/reply-7" || return 1
    done
}

compile parity-real tests/parity.c &
compile parity-tiny tests/parity.c -DQWEN600_TINY &
compile test-real tests/test_gpu.cu &
compile test-tiny tests/test_gpu.cu -DQWEN600_TINY &
code=arch=compute_86,code=compute_86 compile test-tiny-86 tests/test_gpu.cu -DQWEN600_TINY & # its path, by PTX
# shellcheck disable=SC2046 # one word each
compile failures-tiny tests/test_gpu_failures.cu -DQWEN600_TINY \
    $(sed -n 's/^FAKE_\(CERTAIN_\)\?CALL(\([A-Za-z_]*\),.*/-Xlinker --wrap=\2/p' tests/fake_cuda.h) &
compile qwen600 main.cu &
compile qwen600-tiny main.cu -DQWEN600_TINY &
compile context tests/context_only.cu &
compile bench tests/bench_gpu.cu &
compile bench-decode tests/bench_decode.cu &
code=arch=compute_86,code=compute_86 compile bench-decode-86 tests/bench_decode.cu &
real_model &
tiny_model &
wait
no_spills >"$logs/no-spills.log" 2>&1
echo "no-spills $? 0" >>"$results"

step bench-decode "$dir/bench-decode"
for blocks in 20 28 48 128; do
    step bench-decode-86-$blocks "$dir/bench-decode-86" $blocks
done
step bench env -u OMP_NUM_THREADS -u OMP_WAIT_POLICY "$dir/bench" "$dir/model-real"
step guesses guesses
step bench-start env -u OMP_NUM_THREADS -u OMP_WAIT_POLICY python3 tests/bench_start.py "$dir/qwen600" "$dir/context" "$dir/model-real"
card measuring

step failures-tiny env -C tests "$(realpath "$dir")/failures-tiny" &
step parity-real "$dir/parity-real" "$dir/model-real" "$dir/reference-real" -d gpu -n 1000 &
step parity-real-8 "$dir/parity-real" "$dir/model-real" "$dir/reference-real-8" -d gpu -w 8 -n 1000 &
step parity-tiny "$dir/parity-tiny" "$dir/model-tiny" "$dir/reference-tiny" -d gpu -n 1000 0 1 7 64 4096 &
wait
card parity
step test-real "$dir/test-real" "$dir/model-real" &
step test-tiny "$dir/test-tiny" &
limit=100 step test-tiny-86 "$dir/test-tiny-86" &
wait
card tests
# racecheck does not follow an mbarrier that the copy engine completes, so in the decode kernel it reports every
# bulk copy into the ring (UBLKCP) against the reading of that tile (LDS.128), and nothing else; those reports are
# printed and not counted, once more with the option that should follow it. The other kernels must be clean.
limit=100
for tool in memcheck synccheck initcheck; do
    step "sanitizer-$tool" compute-sanitizer --tool $tool --error-exitcode 1 "$dir/test-tiny" -s &
done
step sanitizer-racecheck compute-sanitizer --tool racecheck --kernel-name-exclude kns=decode_kernel \
    --error-exitcode 1 "$dir/test-tiny" -s &
racecheck() {
    local log=$1
    shift
    timeout 100 compute-sanitizer --tool racecheck --kernel-name kns=decode_kernel "$@" "$dir/test-tiny" -s \
        >"$logs/$log.log" 2>&1
}
racecheck racecheck-decode &
racecheck racecheck-decode-indirect --racecheck-indirect-barrier-dependency yes &
wait
card sanitizers

failed=0
for log in reference-real reference-real-8 reference-tiny parity-real parity-real-8 parity-tiny test-real test-tiny test-tiny-86 bench-decode bench-decode-86-{20,28,48,128} bench guesses bench-start; do
    echo "== $log"
    tail -n 150 "$logs/$log.log" 2>/dev/null
done
for tool in memcheck racecheck synccheck initcheck; do
    echo "== sanitizer-$tool: $(grep -a SUMMARY "$logs/sanitizer-$tool.log")"
done
for log in racecheck-decode racecheck-decode-indirect; do
    echo "== $log, not counted: $(grep -a SUMMARY "$logs/$log.log")"
done
while read -r name status _; do
    if [ "$status" != 0 ] && [ "$status" != 77 ]; then
        failed=1
        echo "== FAILED $name (status $status)"
        grep -a -v "^ptxas\|bytes stack frame" "$logs/$name.log" | head -n 15
    fi
done <"$results"
echo
printf '%-24s %-8s %8s\n' step result seconds
while read -r name status seconds; do
    case $status in
    0) result=pass ;;
    77) result=skipped ;;
    *) result=FAIL ;;
    esac
    printf '%-24s %-8s %8s\n' "$name" $result "$seconds"
done <"$results"
echo "all: ${SECONDS} s on $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)"
exit $failed
