import Testing

@_spi(Operations) import TraylogDomain

@Suite struct BackoffTests {
    @Test func pausesDoubleUpToTheLongestAndBeginAgain() {
        var backoff = Backoff(from: .seconds(1), to: .seconds(5))
        #expect((0..<5).map { _ in backoff.pause() } == [1, 2, 4, 5, 5].map { .seconds($0) })
        #expect(backoff.failures == 5)
        backoff.reset()
        #expect(backoff.failures == 0 && backoff.pause() == .seconds(1))
    }
}
