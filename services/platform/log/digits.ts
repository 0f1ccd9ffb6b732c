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
