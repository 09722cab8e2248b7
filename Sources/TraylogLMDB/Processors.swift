import Glibc

/// The processors of the machine.
package enum Processors {
    /// Threads that are worth having for work that can be done on two: one or two.
    package static var usable: Int { min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 2) }
}
