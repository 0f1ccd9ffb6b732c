/** Bytes of an answer that come one after the other. */
export type Chunks = AsyncIterable<Uint8Array<ArrayBuffer>>

export const isChunks = (body: unknown): body is Chunks => typeof body === 'object' && body !== null && Symbol.asyncIterator in body

/** Call `over` once when the chunks have ended, failed, or are left, also before the first one was asked for. */
export const whenOver = (chunks: Chunks, over: () => void): Chunks => {
  const iterator = chunks[Symbol.asyncIterator]()
  let isOver = false
  const end = (): void => {
    if (isOver) return
    isOver = true
    over()
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
export const leaveChunks = async (chunks: Chunks): Promise<void> => {
  await chunks[Symbol.asyncIterator]().return?.()
}

/** A client that takes nothing for so long is cut off, and one that has not taken all of a long answer by then. */
export const answerLimits = { stalledMs: 15_000, wholeMs: 120_000 } as const

/**
 * Give chunks as a stream that asks for a chunk when the client has taken the one before: memory holds few of them, however slow the client.
 * One that is too slow ends the stream with an error, and leaves the chunks.
 */
export const streamOf = (
  chunks: Chunks,
  limits: { readonly stalledMs: number; readonly wholeMs: number } = answerLimits,
): ReadableStream => {
  const iterator = chunks[Symbol.asyncIterator]()
  let stalled: NodeJS.Timeout | undefined
  let whole: NodeJS.Timeout | undefined
  const clear = (): void => {
    clearTimeout(stalled)
    clearTimeout(whole)
  }
  const leave = async (): Promise<void> => {
    clear()
    await iterator.return?.()
  }
  return new ReadableStream(
    {
      start: controller => {
        const cut = (): void => {
          controller.error(new Error('the client takes its answer too slowly'))
          void leave().catch(() => undefined)
        }
        whole = setTimeout(cut, limits.wholeMs).unref()
      },
      pull: async controller => {
        clearTimeout(stalled)
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
        stalled = setTimeout(() => {
          controller.error(new Error('the client takes nothing of its answer'))
          void leave().catch(() => undefined)
        }, limits.stalledMs).unref()
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}
