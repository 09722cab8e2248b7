import Traylog
import TraylogCLibrary

/// One request by the program `curl`, which does TLS, proxies and certificates as the system has them.
///
/// It ends within ten seconds, and so does what waits for it.
struct CurlCall {
    private let process: pid_t
    private let output: Descriptor

    private static let seconds = "10"
    /// As long as an answer may be, in bytes.
    private static let longestAnswer = 64 << 10
    /// What the child gets of this process's environment.
    private static let variables = [
        "PATH", "HOME", "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
        "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR",
    ]

    /// Starts a POST, or a GET where there is no body.
    ///
    /// - Parameter body: at most 32 KiB, so that a pipe holds it.
    /// - Throws: ``SystemFailure`` where `curl` cannot be started.
    init(_ url: String, body: [UInt8]?) throws(SystemFailure) {
        var words = [
            "curl", "-q", "--silent", "--globoff", "--proto", "=http,https", "--connect-timeout", "5", "--max-time",
            Self.seconds, "--max-filesize", String(Self.longestAnswer), "--header", "Content-Type: text/plain",
            "--header", "Expect:", "--write-out", "\n%{http_code} %{errormsg}", "--url", url,
        ]
        if body != nil { words += ["--data-binary", "@-"] }
        let input = try Descriptor.pipe()
        let output = try Descriptor.pipe()
        defer { for end in [input.reading, input.writing, output.writing] { close(end.number) } }
        if let body { try input.writing.write(body) }
        process = try Self.spawn(words, input: input.reading.number, output: output.writing.number)
        self.output = output.reading
    }

    private static func spawn(_ words: [String], input: Int32, output: Int32) throws(SystemFailure) -> pid_t {
        let settings = variables.compactMap { name in Environment.value(of: name).map { "\(name)=\($0)" } }
        let arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        let environment = unsafe settings.map { unsafe strdup($0) } + [nil]
        defer { unsafe (arguments + environment).forEach { unsafe free($0) } }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        var process = pid_t()
        let code = unsafe posix_spawnp(&process, "curl", &actions, nil, arguments, environment)
        guard code == 0 else { throw SystemFailure("curl", code: code) }
        return process
    }

    /// Waits for the answer; to be called once.
    ///
    /// - Returns: the status, or 0 with the reason where there is no answer.
    func result() -> (status: Int, body: [UInt8], reason: String) {
        var (bytes, count) = ([UInt8](repeating: 0, count: 80 << 10), 0)
        while count < bytes.count, let more = try? output.read(into: &bytes, from: count), more > 0 { count += more }
        close(output.number)
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        let answer = bytes[..<count]
        guard let end = answer.lastIndex(of: 0x0A) else { return (0, [], "curl gave no answer") }
        let line = String(decoding: answer[(end + 1)...], as: UTF8.self).split(separator: " ", maxSplits: 1)
        return (
            line.first.flatMap { Int($0) } ?? 0, Array(answer[..<end]), line.count > 1 ? String(line[1]) : "no answer"
        )
    }
}
