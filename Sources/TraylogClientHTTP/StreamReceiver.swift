#if canImport(FoundationNetworking)
    import CTraylogCurl
    import Foundation
    import Synchronization
    import TraylogClient

    /// Receives an answer, by libcurl on a thread of its own, no faster than it is read.
    ///
    /// `URLSession` on Linux asks whether a socket can be written to for as long as a request lasts. It always can, so an
    /// idle stream would keep a processor busy.
    @safe final class StreamReceiver {
        /// Lets other threads wake the thread that waits for bytes.
        private final class Wait: Sendable {
            @safe private struct State: @unchecked Sendable {
                // @unchecked: threads use the pointer under the lock, for `curl_multi_wakeup`, which any thread may call.
                var multi: UnsafeMutableRawPointer?
                var isCancelled = false
            }
            private let state = Mutex(State())

            var isCancelled: Bool { state.withLock { $0.isCancelled } }

            func set(_ multi: UnsafeMutableRawPointer?) {
                // The caller keeps no other use of it: the pointer goes into the state, under the lock.
                nonisolated(unsafe) let multi = unsafe multi
                state.withLock { unsafe $0.multi = multi }
            }

            func cancel() { wake { $0.isCancelled = true } }

            /// Lets the thread look again whether it may go on.
            func wake() { wake { _ in } }

            private func wake(_ change: (inout State) -> Void) {
                state.withLock { state in
                    change(&state)
                    if let multi = unsafe state.multi { _ = unsafe curl_multi_wakeup(multi) }
                }
            }
        }

        private static let isReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

        private let transfer: UnsafeMutableRawPointer
        private var fields: UnsafeMutablePointer<curl_slist>?
        private let exchange: Exchange
        private var headers: [String: String] = [:]
        private var lastByte = ContinuousClock.now
        private var headBytes = 0
        /// Nobody reads fast enough: the sender waits until there is room.
        private var isPaused = false
        /// A head is not longer.
        private static let headLimit = 1 << 16

        /// Sends a request; its thread ends with the answer, or when nobody reads it any more.
        static func open(
            _ request: ServiceRequest, at url: String, _ bound: Exchange.Bound, silence: Duration
        ) -> Exchange {
            let wait = Wait()
            let exchange = Exchange(bound, progress: nil, stop: { wait.cancel() }, hasRead: { wait.wake() })
            let thread = Thread {
                guard isReady, let transfer = unsafe curl_easy_init() else {
                    return exchange.ended(.interrupted("libcurl does not start"))
                }
                let receiver = unsafe StreamReceiver(transfer, exchange)
                receiver.prepare(request, url)
                exchange.ended(receiver.run(wait, silence))
            }
            thread.name = "traylog-stream"
            thread.start()
            return exchange
        }

        private init(_ transfer: UnsafeMutableRawPointer, _ exchange: Exchange) {
            unsafe self.transfer = transfer
            self.exchange = exchange
        }

        deinit {
            unsafe curl_easy_cleanup(transfer)
            unsafe curl_slist_free_all(fields)
        }

        private func prepare(_ request: ServiceRequest, _ url: String) {
            set(CURLOPT_URL, url)
            set(CURLOPT_CUSTOMREQUEST, request.method)
            // Signals are the program's.
            _ = unsafe traylog_curl_set_number(transfer, CURLOPT_NOSIGNAL, 1)
            if let body = request.body {
                _ = unsafe traylog_curl_set_number(transfer, CURLOPT_POSTFIELDSIZE, body.count)
                _ = unsafe body.withUnsafeBytes {
                    unsafe traylog_curl_set_pointer(
                        transfer, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
                }
            }
            for (name, value) in request.headers { unsafe fields = curl_slist_append(fields, "\(name): \(value)") }
            _ = unsafe traylog_curl_set_pointer(transfer, CURLOPT_HTTPHEADER, fields)
            // The authorities that `URLSession` trusts on Linux.
            if let authorities = ProcessInfo.processInfo.environment["URLSessionCertificateAuthorityInfoFile"] {
                set(CURLOPT_CAINFO, authorities)
            }
            let context = unsafe Unmanaged.passUnretained(self).toOpaque()
            _ = unsafe traylog_curl_set_receiver(transfer, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                let isTaken = unsafe StreamReceiver.of(context).header(StreamReceiver.bytes(bytes, size * count))
                return isTaken ? size * count : 0
            }
            _ = unsafe traylog_curl_set_pointer(transfer, CURLOPT_HEADERDATA, context)
            _ = unsafe traylog_curl_set_receiver(transfer, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                let isTaken = unsafe StreamReceiver.of(context).body(StreamReceiver.bytes(bytes, size * count))
                return isTaken ? size * count : Int(CURL_WRITEFUNC_PAUSE)
            }
            _ = unsafe traylog_curl_set_pointer(transfer, CURLOPT_WRITEDATA, context)
        }

        private func set(_ option: CURLoption, _ text: String) {
            _ = unsafe traylog_curl_set_text(transfer, option, text)
        }

        private static func of(_ context: UnsafeMutableRawPointer?) -> StreamReceiver {
            unsafe Unmanaged<StreamReceiver>.fromOpaque(context!).takeUnretainedValue()
        }

        private static func bytes(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> [UInt8] {
            unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
        }

        /// Takes a line of the head, the empty one at its end among them.
        ///
        /// - Returns: false ends the transfer.
        private func header(_ bytes: [UInt8]) -> Bool {
            lastByte = .now
            headBytes += bytes.count
            guard headBytes <= Self.headLimit else {
                exchange.ended(.interrupted("the answer was cut: its head is longer than \(Self.headLimit) bytes"))
                return false
            }
            let line = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            if let colon = line.firstIndex(of: ":") {
                let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                headers[line[..<colon].lowercased()] = value
            } else if line.isEmpty {
                var status = 0
                _ = unsafe traylog_curl_status(transfer, &status)
                // Answers below 200 come before the one that counts.
                if status >= 200 { exchange.answered(.success((status, headers))) }
                headers = [:]
            }
            return true
        }

        /// - Returns: false where there is no room, and the same bytes have to come again.
        private func body(_ bytes: [UInt8]) -> Bool {
            lastByte = .now
            isPaused = !exchange.hasRoom
            if !isPaused { exchange.received(bytes) }
            return !isPaused
        }

        /// Works until the answer ends.
        ///
        /// - Returns: nil when it is whole.
        private func run(_ wait: Wait, _ silence: Duration) -> ServiceFailure? {
            guard let multi = unsafe curl_multi_init() else { return .interrupted("libcurl does not start") }
            unsafe wait.set(multi)
            defer {
                unsafe wait.set(nil)
                _ = unsafe curl_multi_remove_handle(multi, transfer)
                _ = unsafe curl_multi_cleanup(multi)
            }
            _ = unsafe curl_multi_add_handle(multi, transfer)
            lastByte = .now
            while !wait.isCancelled {
                if isPaused, exchange.hasRoom {
                    // It calls the receiver, which may pause again.
                    isPaused = false
                    _ = unsafe curl_easy_pause(transfer, CURLPAUSE_CONT)
                }
                if isPaused { lastByte = .now }
                var running: Int32 = 0
                _ = unsafe curl_multi_perform(multi, &running)
                var result = CURLE_OK
                if unsafe traylog_curl_ended(multi, &result) != 0 { return ServiceFailure(result) }
                if !exchange.isStream, exchange.isSlow(after: silence * 10) { return Exchange.tooSlow }
                let left = silence - lastByte.duration(to: .now)
                guard left > .zero else { return .interrupted("the server was silent for too long") }
                let milliseconds = left.components.seconds * 1_000 + left.components.attoseconds / 1_000_000_000_000_000
                _ = unsafe curl_multi_poll(multi, nil, 0, Int32(clamping: milliseconds + 1), nil)
            }
            return .interrupted("cancelled")
        }
    }

    extension ServiceFailure {
        fileprivate init?(_ result: CURLcode) {
            let message = unsafe String(cString: curl_easy_strerror(result))
            switch result {
            case CURLE_OK: return nil
            case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT:
                self = .offline(message)
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ISSUER_ERROR,
                CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CACERT_BADFILE:
                self = .untrusted(message)
            default: self = .interrupted(message)
            }
        }
    }
#endif
