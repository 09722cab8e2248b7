import Traylog
import TraylogDomain

/// The interface that the model tests need of a store: ``Store``, or the naive one behind the same interface.
package protocol StoreUnderTest: AnswersQueries {
    func perform(_ command: Command) throws(TraylogError) -> Receipt
    func perform(_ commands: [Command]) throws(TraylogError) -> [Receipt]
    func submit(_ commands: [Command], stopAtRefusal: Bool) throws(TraylogError) -> [Result<Receipt, Refusal>]
    /// Expires and wakes what is due.
    func advance(to time: Timestamp) throws(TraylogError)
    /// Stops the process when the store's memory contradicts itself.
    func checkInvariants() throws(TraylogError)
    func close()
}

extension StoreUnderTest {
    package func checkInvariants() throws(TraylogError) {}
}

extension Store: StoreUnderTest {
    package func advance(to time: Timestamp) throws(TraylogError) {
        try tick(now: time)
    }
}
