#!/bin/sh
# What `make` needs from the machine. Each missing piece is one sentence, then exit 1.
#   tools.sh python   prints the newest suitable interpreter
#   tools.sh rust     cargo and rustc, new enough
#   tools.sh lints    rustfmt and clippy
#   tools.sh cc       a C compiler with the system's headers (SQLite is compiled from source)
set -eu

fail() {
    printf 'retentive: %s\n' "$1" >&2
    exit 1
}

# Run, not just looked up: a shim on PATH may have nothing behind it.
suitable_python() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in ${PYTHON:-} python3.14 python3.13 python3.12 python3.11 python3 python; do
        suitable_python "$candidate" || continue
        "$candidate" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
            fail "$candidate has no venv module; install it (on Debian and Ubuntu: apt-get install python3-venv)."
        printf '%s\n' "$candidate"
        return
    done
    fail 'Python 3.11 or newer is missing; get it from your system (apt-get install python3 python3-venv, brew install python) or from https://www.python.org/downloads, or name one with PYTHON=/path/to/python3.'
}

# True when version $1 is at least version $2 (major.minor).
at_least() {
    [ "${1%%.*}" -gt "${2%%.*}" ] && return 0
    [ "${1%%.*}" -eq "${2%%.*}" ] || return 1
    have_minor=${1#*.} need_minor=${2#*.}
    [ "${have_minor%%.*}" -ge "${need_minor%%.*}" ]
}

check_rust() {
    need=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    have=$(rustc --version 2>/dev/null | cut -d' ' -f2) || have=
    if [ -z "$have" ] || ! cargo --version >/dev/null 2>&1; then
        fail "Rust (cargo and rustc, $need or newer) is missing; get it from https://rustup.rs and open a new shell."
    fi
    at_least "$have" "$need" || fail "Rust $have is too old, $need or newer is needed; run: rustup update stable."
}

check_lints() {
    cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 ||
        fail 'rustfmt or clippy is missing; run: rustup component add rustfmt clippy.'
}

check_cc() {
    printf '#include <stdio.h>\n' | ${CC:-cc} -E - >/dev/null 2>&1 ||
        fail 'a C compiler with headers is missing (SQLite is compiled from source); install one (apt-get install gcc libc6-dev, xcode-select --install), or name it with CC=.'
}

case ${1:-} in
    python) find_python ;;
    rust) check_rust ;;
    lints) check_lints ;;
    cc) check_cc ;;
    *) fail "usage: tools.sh python|rust|lints|cc, not '${1:-}'." ;;
esac
