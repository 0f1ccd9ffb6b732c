const digits = '0123456789abcdef'
const notDigits = 256

/** Byte of two hexadecimal digits, by their codes of 7 bits each. */
const byteOf = new Uint16Array(128 * 128).fill(notDigits)
for (let byte = 0; byte < 256; byte += 1)
  byteOf[(digits.charCodeAt(byte >> 4) << 7) | digits.charCodeAt(byte & 15)] = byte

/**
 * Write the 24 lower-case hexadecimal digits of an id as 12 bytes at `at`. The digits are the text from `from` to its
 * end. Throws a RangeError for any other text.
 */
export const putDigits = (bytes: Buffer, at: number, id: string, from: number): void => {
  let to = at
  let wrong = id.length - from - 24
  for (let i = from; i < from + 24; i += 2) {
    const first = id.charCodeAt(i)
    const second = id.charCodeAt(i + 1)
    const byte = byteOf[((first & 127) << 7) | (second & 127)] as number
    wrong |= (byte & notDigits) | ((first | second) & ~127)
    bytes[to++] = byte
  }
  if (wrong !== 0) throw new RangeError(`Not an id of 24 hexadecimal digits: ${id}.`)
}

const digitCodes = Uint8Array.from(digits, digit => digit.charCodeAt(0))
const first = (bytes: Uint8Array, at: number): number => digitCodes[(bytes[at] as number) >> 4] as number
const second = (bytes: Uint8Array, at: number): number => digitCodes[(bytes[at] as number) & 15] as number

/** Return 12 bytes as 24 hexadecimal digits. `toString('hex')` takes twice as long. */
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
