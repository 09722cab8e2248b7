import Traylog

// Tests ask from threads, and say `store.tray(of:)` for `store.blocking.tray(of:)`. What they perform so is `package` in the
// library.

extension Store: BlockingQueries {}
extension StoreReader: BlockingQueries {}
