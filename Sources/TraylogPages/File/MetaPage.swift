/// One of the two pages of the header, as commits leave them alternately.
struct MetaPage {
    var transaction: UInt64
    var lastPage: UInt64
    var freeList: TableRecord
    var tables: TableRecord

    /// LMDB's flag for keys that are numbers.
    static let integerKeys: UInt16 = 8

    /// Nil when it makes no sense; see ``DataFileHeader`` for the offsets.
    init?(_ page: Page) {
        guard let transaction = page.number(at: 144), let lastPage = page.number(at: 136), lastPage < 1 << 47,
            let freeList = TableRecord(
                page, at: 40, name: .freePages, flags: Self.integerKeys, pageCount: lastPage + 1),
            let tables = TableRecord(page, at: 88, name: .tables, flags: 0, pageCount: lastPage + 1)
        else { return nil }
        self.transaction = transaction
        self.lastPage = lastPage
        self.freeList = freeList
        self.tables = tables
    }
}
