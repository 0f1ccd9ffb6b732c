const digitOf = new Uint8Array(128).fill(128)
for (const [i, digit] of [...'0123456789abcdef'].entries()) digitOf[digit.charCodeAt(0)] = i

/**
 * Write the 24 lower-case hexadecimal digits of an id, which begin at `from` and end it, as 12 bytes at `at`.
 * Throws a RangeError for any other text.
 */
export const putDigits = (bytes: Buffer, at: number, id: string, from: number): void => {
  let to = at
  let wrong = id.length - from - 24
  for (let i = from; i < from + 24; i += 2) {
    const first = id.charCodeAt(i)
    const second = id.charCodeAt(i + 1)
    const high = digitOf[first & 127] as number
    const low = digitOf[second & 127] as number
    wrong |= ((high | low) & 128) | ((first | second) & ~127)
    bytes[to++] = (high << 4) | low
  }
  if (wrong !== 0) throw new RangeError(`not an id of 24 hexadecimal digits: ${id}`)
}

const digitCodes = Uint8Array.from('0123456789abcdef', digit => digit.charCodeAt(0))
const first = (bytes: Uint8Array, at: number): number => digitCodes[(bytes[at] as number) >> 4] as number
const second = (bytes: Uint8Array, at: number): number => digitCodes[(bytes[at] as number) & 15] as number

/** Give 12 bytes as 24 hexadecimal digits: `toString('hex')` takes twice as long. */
export const digitsAt = (bytes: Uint8Array, at: number): string =>
  String.fromCharCode(
    first(bytes, at),
    second(bytes, at),
    first(bytes, at + 1),
    second(bytes, at + 1),
    first(bytes, at + 2),
    second(bytes, at + 2),
    first(bytes, at + 3),
    second(bytes, at + 3),
    first(bytes, at + 4),
    second(bytes, at + 4),
    first(bytes, at + 5),
    second(bytes, at + 5),
    first(bytes, at + 6),
    second(bytes, at + 6),
    first(bytes, at + 7),
    second(bytes, at + 7),
    first(bytes, at + 8),
    second(bytes, at + 8),
    first(bytes, at + 9),
    second(bytes, at + 9),
    first(bytes, at + 10),
    second(bytes, at + 10),
    first(bytes, at + 11),
    second(bytes, at + 11),
  )
