/// A hash that nothing gives any more: all events below it left the log, and no transaction ended there.
struct ForgottenNode: Error {}
