import Testing

@testable import TraylogServer

/// The path of a store, in words that people read.
struct StorePathTests {
    @Test(arguments: [
        ("event 172168 is damaged", "event 172168 is damaged"),
        ("/srv/dam: event 1 is damaged", "the store: event 1 is damaged"),
        ("/srv/dam/data.mdb: page 7", "the store/data.mdb: page 7"), ("(/srv/dam)", "(the store)"),
        ("it is at /srv/dam.", "it is at the store."), ("/srv/damaged and /srv/dam", "/srv/damaged and the store"),
        ("/srv/dam.restored", "/srv/dam.restored"), ("/old/srv/dam", "/old/srv/dam"),
        ("/srv/dam-2, /srv/dam_2", "/srv/dam-2, /srv/dam_2"),
        ("'/srv/dam' '/srv/dam'", "'the store' 'the store'"), ("", ""),
    ])
    func onlyTheWholePathOfTheStoreIsReplaced(message: String, shown: String) {
        #expect(StorePath.replace("/srv/dam", in: message, with: "the store") == shown)
        #expect(StorePath.replace("/srv/dam/", in: message, with: "the store") == shown)
    }

    @Test func aPathThatIsAWordIsReplacedAloneOnly() {
        let shown = StorePath.replace("dam", in: "event 1 is damaged in dam", with: "the store")
        #expect(shown == "event 1 is damaged in the store")
        #expect(StorePath.replace("", in: "a", with: "b") == "a")
        #expect(StorePath.replace("/", in: "a / b", with: "c") == "a / b")
    }
}
