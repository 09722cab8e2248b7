import TraylogCLibrary

enum Pause {
    static func milliseconds(_ number: UInt32) { _ = usleep(number * 1_000) }
}
