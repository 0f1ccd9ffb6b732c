/**
 * The offsets of a time zone as plain data, so that the domain needs no calendar package.
 * `changes` are the instants (ms) at which the offset changes, ascending; `offsets[i]` (ms, local = instant + offset)
 * holds before `changes[i]`, and the last one from the last change on: `offsets.length === changes.length + 1`.
 */
export type TimeZone = { readonly name: string; readonly changes: readonly number[]; readonly offsets: readonly number[] }
