import TraylogCLibrary

/// The file that is being written beside its final name, which a signal takes away.
enum PartialFile {
    // nonisolated(unsafe): set before the handlers are, and cleared when the file has its name.
    private nonisolated(unsafe) static var path: UnsafeMutablePointer<CChar>?

    static func keep(_ partial: String) {
        unsafe path = strdup(partial)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal(number) { number in
                if let path = unsafe PartialFile.path { unsafe _ = unlink(path) }
                _ = signal(number, SIG_DFL)
                _ = raise(number)
            }
        }
    }

    static func forget() {
        for number in [SIGINT, SIGTERM, SIGHUP] { _ = signal(number, SIG_DFL) }
        unsafe free(path)
        unsafe path = nil
    }
}
