import type { Headers, Message, StoredMessage } from '../log.ts'

/**
 * A message as one stored value: `position` is the sum of the sizes of all frames before it in the partition, so that the
 * bytes between two offsets are a difference of positions.
 * Layout, big endian: format 1 (u8), timestamp ms (f64), position (f64), header entries (u16), then key and each header's name
 * and value as length (u16) and UTF-8, then the value.
 */
export type FrameHeader = { readonly timestamp: number; readonly bytesBefore: number }

const formatByte = 1
const fixedBytes = 19

/** Number of bytes that `writeFrame` will need. */
export const frameSize = (message: Message): number => {
  let size = fixedBytes + 2 + Buffer.byteLength(message.key) + message.value.length
  for (const [name, value] of Object.entries(message.headers))
    size += 4 + Buffer.byteLength(name) + Buffer.byteLength(value)
  return size
}

/** Lay out a message in a buffer of `frameSize` bytes of its own. */
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

/** Read when a frame was appended and where it lies, without its message. */
export const readFrameHeader = (frame: Buffer): FrameHeader => ({
  timestamp: frame.readDoubleBE(1),
  bytesBefore: frame.readDoubleBE(9),
})

/** Read a message back; its value shares memory with `frame`. Throws on a format of another version. */
export const readFrame = (frame: Buffer, offset: number): StoredMessage => {
  if (frame[0] !== formatByte) throw new RangeError(`message ${offset} has format ${frame[0]}, known is ${formatByte}`)
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
