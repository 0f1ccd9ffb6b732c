import type { Headers, Message, StoredMessage } from '../log.ts'

/**
 * A message as one stored value. `bytesBefore` is the total size of all earlier frames of the partition, so that a
 * difference of two values gives the bytes between two offsets.
 * Layout, big endian: format 1 (u8), timestamp in ms (f64), bytesBefore (f64), number of headers (u16), the key, name
 * and value of each header, the value. Key, names and header values have a length (u16) and UTF-8 bytes.
 */
export type FrameHeader = { readonly timestamp: number; readonly bytesBefore: number }

const formatByte = 1
const fixedBytes = 19

/** Return the number of bytes that `writeFrame` needs. */
export const frameSize = (message: Message): number => {
  let size = fixedBytes + 2 + Buffer.byteLength(message.key) + message.value.length
  for (const [name, value] of Object.entries(message.headers))
    size += 4 + Buffer.byteLength(name) + Buffer.byteLength(value)
  return size
}

/** Write a message into a new buffer of `size` bytes, which is its `frameSize`. */
export const writeFrame = (message: Message, size: number, header: FrameHeader): Buffer => {
  const frame = Buffer.allocUnsafeSlow(size)
  const headers = Object.entries(message.headers)
  frame[0] = formatByte
  frame.writeDoubleBE(header.timestamp, 1)
  frame.writeDoubleBE(header.bytesBefore, 9)
  frame.writeUInt16BE(headers.length, 17)
  let at = writeText(frame, fixedBytes, message.key)
  for (const [name, value] of headers) at = writeText(frame, writeText(frame, at, name), value)
  message.value.copy(frame, at)
  return frame
}

/** Read the append time of a frame and the bytes before it, without its message. */
export const readFrameHeader = (frame: Buffer): FrameHeader => ({
  timestamp: frame.readDoubleBE(1),
  bytesBefore: frame.readDoubleBE(9),
})

/** Read a message. Its value shares memory with `frame`. Throws a RangeError for another format. */
export const readFrame = (frame: Buffer, offset: number): StoredMessage => {
  if (frame[0] !== formatByte)
    throw new RangeError(`Message ${offset} has format ${frame[0]}; this release reads format ${formatByte}.`)
  let at = fixedBytes
  const text = (): string => {
    const length = frame.readUInt16BE(at)
    at += 2 + length
    return frame.toString('utf8', at - length, at)
  }
  const key = text()
  const headers: Record<string, string> = {}
  for (let left = frame.readUInt16BE(17); left > 0; left -= 1) {
    const name = text()
    headers[name] = text()
  }
  return {
    offset,
    timestamp: frame.readDoubleBE(1),
    key,
    headers: headers satisfies Headers,
    value: frame.subarray(at),
  }
}

const writeText = (frame: Buffer, at: number, text: string): number => {
  const length = frame.write(text, at + 2)
  frame.writeUInt16BE(length, at)
  return at + 2 + length
}
