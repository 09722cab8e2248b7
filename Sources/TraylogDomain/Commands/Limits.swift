/// How large the parts of a command may be (spec.md, section 4).
public enum Limits {
    /// user, topic, thread, category, key, collapseKey, actor, device and summaryArgument, in bytes of UTF-8;
    /// not empty and without control characters (U+0000…U+001F, U+007F…U+009F).
    public static let identifierBytes = 256
    public static let titleBytes = 1_024
    public static let bodyBytes = 16 * 1_024
    public static let dataBytes = 64 * 1_024
    /// One JSON line of `append`.
    public static let commandLineBytes = 1_024 * 1_024
    /// Items in one `mark`.
    public static let markedItems = 1_000
    /// Items (or threads) in one page.
    public static let pageItems = 100
    /// Items in a page when the caller does not say.
    public static let defaultPageItems = 20
}
