import pg from 'pg'

/**
 * How columns are read: `timestamptz` as integer ms, `bigint` as number (no column of ours passes 2^53; exact amounts are `numeric`,
 * which stays text until its repository reads it), `json` as text where order and digits must last. Sessions run in UTC.
 */
const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  [pg.types.builtins.INT8]: text => safeInteger(text),
  [pg.types.builtins.TIMESTAMPTZ]: text => fromTimestamp(text),
  [pg.types.builtins.JSON]: text => text,
}

/** Strings that a caller stores with an object. */
export type Metadata = Readonly<Record<string, string>>

export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    parsers[oid] ?? pg.types.getTypeParser(oid, format as 'text'),
}

const safeInteger = (text: string): number => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} does not fit into a number`)
  return value
}

/** Read `2026-03-29 01:00:00.123+00` as ms; digits finer than a millisecond are cut. */
export const fromTimestamp = (text: string): number => {
  const value = Date.parse(`${text.slice(0, 10)}T${text.slice(11, 23).replace(/\+.*/, '')}Z`)
  if (Number.isNaN(value) || !text.endsWith('+00')) throw new RangeError(`timestamp ${text} cannot be read`)
  return value
}

/** Write ms as a parameter for a `timestamptz`. */
export const toTimestamp = (at: number): string => new Date(at).toISOString()

export const toTimestampOrNull = (at: number | null): string | null => (at === null ? null : toTimestamp(at))

/** Read a `numeric` with nine decimals as an integer of 1e-9. */
export const fromNano = (text: string): bigint => BigInt(text.replace('.', ''))
