#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

enum Pause {
    static func milliseconds(_ number: UInt32) { _ = usleep(number * 1_000) }
}
