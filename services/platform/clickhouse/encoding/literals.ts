/** Return a string literal. */
export const textLiteral = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

/** Return an id or bare digits as 12 bytes. Throws a RangeError for any other text, which prevents injection. */
export const idLiteral = (id: string): string => {
  const digits = id.slice(-24)
  if (!/^([a-z]{3}_)?[0-9a-f]{24}$/.test(id)) throw new RangeError(`Not an id: ${id}.`)
  return `toFixedString(unhex('${digits}'), 12)`
}

/** Return the literal of an instant in ms. */
export const instantLiteral = (at: number): string => `fromUnixTimestamp64Milli(${wholeLiteral(at)}, 'UTC')`

export const wholeLiteral = (value: number): string => {
  if (!Number.isSafeInteger(value)) throw new RangeError(`Not a whole number: ${value}.`)
  return `toInt64(${value})`
}

export const listLiteral = (literals: readonly string[]): string => `(${literals.join(', ')})`
