import pg from 'pg'

/**
 * Types of columns in results. `timestamptz` is integer ms. `bigint` is a number; no column exceeds 2^53. `numeric`
 * stays text, which the query's function reads exactly. `json` stays text, which keeps order and digits. Sessions use
 * UTC.
 */
const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  [pg.types.builtins.INT8]: text => safeInteger(text),
  [pg.types.builtins.TIMESTAMPTZ]: text => fromTimestamp(text),
  [pg.types.builtins.JSON]: text => text,
}

export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    parsers[oid] ?? pg.types.getTypeParser(oid, format as 'text'),
}

const safeInteger = (text: string): number => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} is too large for a number`)
  return value
}

/** Read `2026-03-29 01:00:00.123+00` as ms; finer digits are cut off. */
export const fromTimestamp = (text: string): number => {
  const value = Date.parse(`${text.slice(0, 10)}T${text.slice(11, 23).replace(/\+.*/, '')}Z`)
  if (Number.isNaN(value) || !text.endsWith('+00')) throw new RangeError(`Invalid timestamp ${text}`)
  return value
}

/** Write ms as a parameter for a `timestamptz`. */
export const toTimestamp = (at: number): string => new Date(at).toISOString()

export const toTimestampOrNull = (at: number | null): string | null => (at === null ? null : toTimestamp(at))

/** Read a `numeric` with nine decimals as an integer of 1e-9. */
export const fromNano = (text: string): bigint => BigInt(text.replace('.', ''))
