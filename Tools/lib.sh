# shellcheck shell=bash
# Shared by Tools/demo and Tools/test: finds the checkout, installs missing packages, builds.
# Source it; it does nothing by itself but set `root`.

root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

# A heading between steps; bold only on a terminal that wants it.
step() {
    if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
        printf '\n\033[1m==> %s\033[0m\n' "$*"
    else
        printf '\n==> %s\n' "$*"
    fi
}

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Ends every process that descends from this script: with an interrupt first, and after ten seconds by force.
end_children() {
    local children round
    # Of one look at all processes those whose parent's parent … is this one.
    mapfile -t children < <(ps -e -o pid= -o ppid= | awk -v root="$$" '{ parent[$1] = $2 } END {
        for (process in parent) {
            for (above = parent[process]; above in parent && above != root; above = parent[above]) { }
            if (above == root) print process
        }
    }')
    kill -INT "${children[@]}" 2>/dev/null || true
    for ((round = 0; round < 100; round++)); do
        kill -0 "${children[@]}" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL "${children[@]}" 2>/dev/null || true
}

# Runs a command as root: as it is, or by sudo; false where neither is possible.
as_root() {
    if [[ $(id -u) -eq 0 ]]; then
        "$@"
    elif has sudo; then
        sudo "$@"
    else
        return 1
    fi
}

# Installs Debian packages, or says that they are needed. Looks at the package lists only when something is missing.
install_packages() {
    local packages="$*"
    has apt-get || fail "needed and not found: $packages (Debian's names); install them with this system's package manager"
    if [[ $(id -u) -ne 0 ]] && ! has sudo; then
        fail "needed and not found: $packages; as root run: apt-get install $packages"
    fi
    step "Installing $packages"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update ||
        printf 'warning: the package lists could not be renewed; going on with the present ones\n' >&2
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends "$@" >/dev/null ||
        fail "apt-get could not install $packages"
}

# The Debian package with the headers of a library that pkg-config knows by this name.
library_package() {
    case $1 in
        lmdb) echo liblmdb-dev ;;
        libcrypto) echo libssl-dev ;;
        libcurl) echo libcurl4-openssl-dev ;;
        *) echo "$1-dev" ;;
    esac
}

# need COMMAND=PACKAGE … and `lmdb`, `libzstd`, `libcrypto`, `libcurl`, `libnats` for the libraries: installs those that are not there, in one go.
need() {
    local wanted missing=()
    for wanted in "$@"; do
        case $wanted in
            lmdb | libzstd | libcrypto | libcurl | libnats)
                { has pkg-config && pkg-config --exists "$wanted"; } || missing+=("$(library_package "$wanted")")
                ;;
            *) has "${wanted%%=*}" || missing+=("${wanted#*=}") ;;
        esac
    done
    if [[ ${#missing[@]} -gt 0 ]]; then
        install_packages "${missing[@]}"
    fi
    pkg-config --exists 'libzstd >= 1.4' || fail "pkg-config does not find libzstd 1.4 or newer; is libzstd-dev installed?"
    pkg-config --exists 'libcrypto >= 1.1.1' || fail "pkg-config does not find libcrypto 1.1.1 or newer; is libssl-dev installed?"
    case $(pkg-config --modversion lmdb 2>/dev/null) in
        0.9.*) ;;
        '') fail "pkg-config does not find lmdb; is liblmdb-dev installed?" ;;
        *) fail "LMDB $(pkg-config --modversion lmdb) is installed; Traylog's files are of LMDB 0.9 (see Docs/decisions)" ;;
    esac
}

# Whether packages can be installed here at all.
can_install() { has apt-get && { [[ $(id -u) -eq 0 ]] || has sudo; }; }

# want PACKAGE=COMMAND …: installs what is not there, where that is possible. Tests say what they lack; in CI that fails the run.
want() {
    local wanted missing=()
    for wanted in "$@"; do
        # Ubuntu's browsers are only pointers to snaps, which no container runs.
        [[ $wanted == chromium* || $wanted == firefox* ]] && grep -qs '^ID=ubuntu' /etc/os-release && continue
        has "${wanted#*=}" || missing+=("${wanted%%=*}")
    done
    if [[ ${#missing[@]} -eq 0 ]] || ! can_install; then return 0; fi
    (install_packages "${missing[@]}") || printf 'warning: not installed: %s\n' "${missing[*]}" >&2
}

need_linux() {
    [[ $(uname -s) == Linux ]] || fail "Traylog runs on Linux; $(uname -s) is not supported yet"
}

need_swift() {
    local hint="Swift 6.2 or newer is needed: see https://www.swift.org/install, then put its usr/bin in PATH"
    local said version
    has swift || fail "swift was not found. $hint"
    # A toolchain that was only unpacked lacks libraries and headers of the system.
    if has apt-get && { ! swift --version >/dev/null 2>&1 || [[ ! -d /usr/include/c++ ]]; }; then
        install_packages binutils ca-certificates g++ git libc6-dev libcurl4-openssl-dev libncurses-dev libsqlite3-dev \
            libxml2-dev tzdata zlib1g-dev
    fi
    said=$(swift --version 2>&1) || fail "swift --version fails: $said"$'\n'"$hint"
    version=$(sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' <<<"$said" | sed -n 1p)
    [[ -n $version ]] || fail "swift does not say its version. $hint"
    if ((${version%%.*} < 6 || (${version%%.*} == 6 && ${version#*.} < 2))); then
        fail "this is Swift $version. $hint"
    fi
}

# built VARIABLE PRODUCT [OPTION …]: builds a program, or takes the one that the environment names, and sets $program to its path.
built() {
    local build=(swift build --package-path "$root" "${@:3}" --product "$2")
    program=${!1:-}
    [[ -z $program ]] || return 0
    "${build[@]}"
    program=$("${build[@]}" --show-bin-path)/$2
    [[ -x $program ]] || fail "the build made no program at $program"
}

# Python with the packages that the server's tests use: sets `python`.
need_python() {
    local directory=$root/.build/tools/python list=$root/Tools/Server/Tests/requirements.txt
    local newer=$root/Tools/Server/Tests/requirements-any-python.txt
    python=$directory/bin/python
    if ! cat "$list" "$newer" | cmp -s - "$directory/installed"; then
        python3 -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
        step "Installing Python packages"
        python3 -m venv "$directory" || fail "python3 -m venv fails; Debian's package is python3-venv"
        "$python" -m pip install --quiet --requirement "$list" || fail "pip could not install the packages of $list"
        "$python" -m pip install --quiet --no-deps --ignore-requires-python --requirement "$newer" \
            || fail "pip could not install the packages of $newer"
        cat "$list" "$newer" >"$directory/installed"
    fi
}

# The proxies of Docs/operating/proxy.md, unpacked but not installed, because an installed one would start to serve: sets `proxies`
# to their directory.
want_proxies() {
    proxies=$root/.build/tools/proxies
    if [[ -x $proxies/usr/sbin/nginx && -x $proxies/usr/bin/caddy ]] || ! can_install || ! has dpkg-deb; then return; fi
    step "Fetching nginx and Caddy"
    rm -rf -- "$proxies" && mkdir -p "$proxies"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update || true
    if ! (cd "$proxies" && apt-get -qq download nginx caddy && for package in *.deb; do dpkg-deb --extract "$package" .; done); then
        printf 'warning: nginx and Caddy could not be fetched\n' >&2
    fi
}

# Builds the tray for terminals, and sets `traylog_tray`.
build_tray() { built TRAYLOG_TRAY traylog-tray && traylog_tray=$program; }

# Builds the server, and sets `traylog_server`.
build_server() {
    TRAYLOG_BUILD_SERVER=1 built TRAYLOG_SERVER traylog-server && traylog_server=$program
}
