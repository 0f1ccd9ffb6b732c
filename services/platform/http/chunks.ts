/** Bytes of a streamed answer. */
export type Chunks = AsyncIterable<Uint8Array<ArrayBuffer>>

export const isChunks = (body: unknown): body is Chunks =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body

/** Call `onEnd` once when the chunks end, fail or are discarded, also before the first chunk. */
export const onChunksEnd = (chunks: Chunks, onEnd: () => void): Chunks => {
  const iterator = chunks[Symbol.asyncIterator]()
  let isOver = false
  const end = (): void => {
    if (isOver) return
    isOver = true
    onEnd()
  }
  const wrapped: AsyncIterableIterator<Uint8Array<ArrayBuffer>, undefined> = {
    [Symbol.asyncIterator]: () => wrapped,
    next: async () => {
      try {
        const step = await iterator.next()
        if (step.done !== true) return step
        end()
        return { done: true, value: undefined }
      } catch (error) {
        end()
        throw error
      }
    },
    return: async () => {
      end()
      await iterator.return?.()
      return { done: true, value: undefined }
    },
  }
  return wrapped
}

/** Discard chunks that are not sent, so that their source stops. */
export const discardChunks = async (chunks: Chunks): Promise<void> => {
  await chunks[Symbol.asyncIterator]().return?.()
}

/** Time limits of a client that reads a streamed answer, in ms: without progress, and for the whole answer. */
export const answerLimits = { stallTimeoutMs: 15_000, totalTimeoutMs: 120_000 } as const

/** Time limits of a client that reads a table of any size. Source: docs/rules/export.md #limits. */
export const tableLimits = { stallTimeoutMs: 60_000, totalTimeoutMs: 3_600_000 } as const

/**
 * Create a stream of chunks.
 * It requests a chunk after the client has read the previous one, so that few chunks are in memory.
 * If the client exceeds a time limit, the stream ends with an error and the chunks are discarded.
 */
export const streamOf = (
  chunks: Chunks,
  limits: { readonly stallTimeoutMs: number; readonly totalTimeoutMs: number } = answerLimits,
): ReadableStream => {
  const iterator = chunks[Symbol.asyncIterator]()
  let stallTimer: NodeJS.Timeout | undefined
  let totalTimer: NodeJS.Timeout | undefined
  const clear = (): void => {
    clearTimeout(stallTimer)
    clearTimeout(totalTimer)
  }
  const stopReading = async (): Promise<void> => {
    clear()
    await iterator.return?.()
  }
  return new ReadableStream(
    {
      start: controller => {
        const abortStream = (): void => {
          controller.error(new Error('The client reads the answer too slowly'))
          void stopReading().catch(() => undefined)
        }
        totalTimer = setTimeout(abortStream, limits.totalTimeoutMs).unref()
      },
      pull: async controller => {
        clearTimeout(stallTimer)
        try {
          const step = await iterator.next()
          if (step.done === true) {
            clear()
            controller.close()
            return
          }
          controller.enqueue(step.value)
        } catch (error) {
          clear()
          throw error
        }
        stallTimer = setTimeout(() => {
          controller.error(new Error('The client has stopped reading the answer'))
          void stopReading().catch(() => undefined)
        }, limits.stallTimeoutMs).unref()
      },
      cancel: stopReading,
    },
    { highWaterMark: 0 },
  )
}
