/// A fixed number of elements in memory of their own, in pages as large as the system gives.
///
/// Who reads at random from many megabytes in pages of 4 KiB waits for the page's address as long as for its bytes.
///
/// A reference to the memory: copies of it are the same elements.
@safe
package final class LargeMemory<Element: ~Copyable> {
    @usableFromInline let elements: UnsafeMutableBufferPointer<Element>

    /// - Parameter element: makes each of them.
    package init(count: Int, _ element: () -> Element) {
        let byteCount = max(count * MemoryLayout<Element>.stride, 1)
        let isLarge = byteCount >= LargePages.byteCount
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: byteCount, alignment: isLarge ? LargePages.byteCount : cacheLineBytes)
        unsafe LargePages.advise(UnsafeMutableRawBufferPointer(start: memory, count: byteCount))
        let first = unsafe memory.bindMemory(to: Element.self, capacity: count)
        unsafe elements = UnsafeMutableBufferPointer(start: first, count: count)
        for index in 0..<count { unsafe elements.initializeElement(at: index, to: element()) }
    }

    deinit {
        unsafe elements.deinitialize()
        unsafe elements.deallocate()
    }

    @inlinable package var count: Int { unsafe elements.count }

    /// Lends one element.
    @inlinable @inline(__always)
    package func withElement<R>(at index: Int, _ body: (borrowing Element) -> R) -> R {
        unsafe precondition(index >= 0 && index < elements.count, "there is no such element")
        return unsafe body(elements[index])
    }

    /// The same to change it; nobody else may look at it meanwhile.
    @inlinable @inline(__always)
    package func updateElement<R>(at index: Int, _ body: (inout Element) -> R) -> R {
        unsafe precondition(index >= 0 && index < elements.count, "there is no such element")
        return unsafe body(&elements[index])
    }
}

private let cacheLineBytes = 64
