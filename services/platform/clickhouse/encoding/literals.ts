/** Return a string literal. */
export const textLiteral = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

/** Return the digits of an id or bare digits. Throws a RangeError for any other text, which prevents injection. */
const digitsOf = (id: string): string => {
  if (!/^([a-z]{3}_)?[0-9a-f]{24}$/.test(id)) throw new RangeError(`Not an id: ${id}.`)
  return id.slice(-24)
}

/** Return an id or bare digits as 12 bytes. Throws a RangeError for any other text. */
export const idLiteral = (id: string): string => `toFixedString(unhex('${digitsOf(id)}'), 12)`

/** Digits that are stored if there is no id. */
const noId = '0'.repeat(24)

/**
 * Return the condition that a column is one of some ids; null means no id. The engine plans an equation faster than a
 * set. It parses 4,000 literals in 30 ms and 4,000 function calls in 300 ms. One array of all ids is parsed faster, but
 * then the engine reads without its indexes.
 */
export const isAmong = (column: string, ids: readonly (string | null)[]): string => {
  const [first = null, ...others] = ids
  if (ids.length === 0) return 'false'
  if (others.length === 0) return `${column} = ${idLiteral(first ?? noId)}`
  return `${column} IN ${listLiteral(ids.map(id => `x'${digitsOf(id ?? noId)}'`))}`
}

/** Return the literal of an instant in ms. */
export const instantLiteral = (at: number): string => `fromUnixTimestamp64Milli(${wholeLiteral(at)}, 'UTC')`

/** Return the condition that a column of instants in UTC is one of some instants in ms. */
export const isInstantAmong = (column: string, instants: readonly number[]): string =>
  `${column} IN ${listLiteral(instants.map(at => `'${new Date(at).toISOString().slice(0, -1).replace('T', ' ')}'`))}`

/** Return the digits of a whole number. Throws a RangeError for any other number. */
export const wholeDigits = (value: number): string => {
  if (!Number.isSafeInteger(value)) throw new RangeError(`Not a whole number: ${value}.`)
  return String(value)
}

export const wholeLiteral = (value: number): string => `toInt64(${wholeDigits(value)})`

/** Return an array of whole numbers. One text is parsed faster than an expression for each number. */
export const wholeList = (values: readonly number[]): string =>
  `CAST('[${values.map(wholeDigits).join(',')}]', 'Array(Int64)')`

export const listLiteral = (literals: readonly string[]): string => `(${literals.join(', ')})`
