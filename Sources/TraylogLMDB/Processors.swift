import Glibc

/// The processors of the machine.
package enum Processors {
    /// Threads for work that can be done on two: as many as are wanted, or as there are processors; one or two.
    package static func threads(_ wanted: Int?) -> Int {
        min(max(wanted ?? sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 2)
    }
}
