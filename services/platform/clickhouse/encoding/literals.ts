/** A string literal. */
export const textLiteral = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

/** An id or bare digits as the 12 bytes of the tables. Throws a RangeError for another form, so that nothing else gets into a statement. */
export const idLiteral = (id: string): string => {
  const digits = id.slice(-24)
  if (!/^([a-z]{3}_)?[0-9a-f]{24}$/.test(id)) throw new RangeError(`not an id: ${id}`)
  return `toFixedString(unhex('${digits}'), 12)`
}

/** An instant in ms. */
export const instantLiteral = (at: number): string => `fromUnixTimestamp64Milli(${wholeLiteral(at)}, 'UTC')`

export const wholeLiteral = (value: number): string => {
  if (!Number.isSafeInteger(value)) throw new RangeError(`not a whole number: ${value}`)
  return `toInt64(${value})`
}

export const listLiteral = (literals: readonly string[]): string => `(${literals.join(', ')})`
