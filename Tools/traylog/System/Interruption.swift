import TraylogCLibrary

/// SIGINT and SIGTERM, as a request to end instead of the end.
enum Interruption {
    // nonisolated(unsafe): set before the handlers are, and only read afterwards.
    nonisolated(unsafe) private static var listener: Int32 = -1

    // nonisolated(unsafe): a single word, which a handler writes and the main thread reads afterwards.
    nonisolated(unsafe) private static var wasTold: sig_atomic_t = 0

    /// Whether a signal has come.
    static var hasCome: Bool { unsafe wasTold != 0 }

    /// The signal that came last; 0 when none has.
    static var signalNumber: Int32 { unsafe Int32(wasTold) }

    /// From now on a signal writes a byte to `listener` and does nothing else; one that the caller ignores stays
    /// ignored.
    static func tell(_ listener: Descriptor) {
        unsafe self.listener = listener.number
        for number in [SIGINT, SIGTERM] {
            let former = signal(number) { Interruption.note($0) }
            if isIgnored(former) { _ = signal(number, SIG_IGN) }
        }
        unblock()
    }

    /// A parent that started this program from a thread that blocks signals has passed that on.
    private static func unblock() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in [SIGINT, SIGTERM] { unsafe sigaddset(&signals, number) }
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    /// Runs in a signal handler: only what is safe there.
    private static func note(_ number: Int32) {
        let former = errno
        unsafe wasTold = sig_atomic_t(number)
        var byte: UInt8 = 1
        _ = unsafe write(listener, &byte, 1)
        errno = former
    }

    private static func isIgnored(_ handler: (@convention(c) (Int32) -> Void)?) -> Bool {
        let ignored: (@convention(c) (Int32) -> Void)? = SIG_IGN
        return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(ignored, to: Int.self)
    }
}
