/// Replaced by the wrapper.
package struct LMDBError: Error {}
