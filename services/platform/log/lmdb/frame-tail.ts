/**
 * The newest frames of a partition by offset. Whoever follows the partition reads them here and touches no page of the store: pages once
 * read stay mapped, and count as memory of the process, for as long as it runs.
 */
export type FrameTail = {
  readonly get: (offset: number) => Buffer | undefined
  /** Hold the frame behind all others; the oldest go where they are more than the tail may hold. */
  readonly put: (offset: number, frame: Buffer) => void
}

/** Make a tail that holds so many bytes of frames at the most. */
export const frameTail = (maxBytes: number): FrameTail => {
  const frames = new Map<number, Buffer>()
  let bytes = 0
  return {
    get: offset => frames.get(offset),
    put: (offset, frame) => {
      frames.set(offset, frame)
      bytes += frame.length
      for (const [oldest, { length }] of frames) {
        if (bytes <= maxBytes) return
        frames.delete(oldest)
        bytes -= length
      }
    },
  }
}
