/** Bytes of an answer that come one after the other. */
export type Chunks = AsyncIterable<Uint8Array<ArrayBuffer>>

export const isChunks = (body: unknown): body is Chunks =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body

/** Call `over` once when the chunks have ended, failed, or are left, also before the first one was asked for. */
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

/** Leave chunks that nobody will ask for. */
export const discardChunks = async (chunks: Chunks): Promise<void> => {
  await chunks[Symbol.asyncIterator]().return?.()
}

/** A client that takes nothing for so long is cut off, and one that has not taken all of a long answer by then. */
export const answerLimits = { stallTimeoutMs: 15_000, totalTimeoutMs: 120_000 } as const

/**
 * Give chunks as a stream that asks for a chunk when the client has taken the one before: memory holds few of them, however slow the client.
 * One that is too slow ends the stream with an error, and leaves the chunks.
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
          controller.error(new Error('the client takes its answer too slowly'))
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
          controller.error(new Error('the client takes nothing of its answer'))
          void stopReading().catch(() => undefined)
        }, limits.stallTimeoutMs).unref()
      },
      cancel: stopReading,
    },
    { highWaterMark: 0 },
  )
}
