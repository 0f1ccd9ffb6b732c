import { Worker } from 'node:worker_threads'
import { Failure } from '../failure.ts'
import { type FromThread, newObjectsMiB, type ToThread, usableShareOfHeap } from './work-messages.ts'

export type ThreadOptions = {
  /** File of the thread. It calls `serveWork`. */
  readonly script: URL
  /** Max memory of the objects of all threads in MiB. If they exceed it, the largest thread ends and its work fails. */
  readonly memoryMiB: number
}

type Waiter = { readonly resolve: () => void }

/** Messages of a task that the caller has not read yet. `isStopped`: the caller reads no more. */
export type Inbox = {
  readonly chunks: Uint8Array<ArrayBuffer>[]
  head: { readonly value: unknown } | null
  isOver: boolean
  isStopped: boolean
  error: Error | null
  waiting: Waiter | null
  /** Called after the thread has done the work, or has ended. */
  readonly onDone: () => void
  /** Called after the thread has ended the task, or has ended. */
  readonly onOver: () => void
}

export const wake = (inbox: Inbox): void => {
  const { waiting } = inbox
  inbox.waiting = null
  waiting?.resolve()
}

const receiveMessage = (inbox: Inbox, message: FromThread): void => {
  if (message.kind === 'head') inbox.head = { value: message.head }
  else if (message.kind === 'bytes') inbox.chunks.push(message.bytes)
  else {
    inbox.isOver = true
    if (message.kind === 'fault') inbox.error = new Error(`Work in the thread failed: ${message.error}`)
  }
  if (message.kind !== 'bytes') inbox.onDone()
  if (inbox.isOver) inbox.onOver()
  wake(inbox)
}

export const lost = (cause: unknown): Failure =>
  new Failure('work_thread_lost', 'The work thread has ended. Send the request again.', { retriable: true, cause })

/** A thread that starts at the first task, and again after it has ended. */
export type Thread = {
  readonly inboxes: Map<number, Inbox>
  /** Start work. Throws if the thread is closed. */
  readonly begin: (message: ToThread & { readonly kind: 'begin' }, inbox: Inbox) => void
  /** Send a message about a running task. A thread that has ended has no tasks, so the message is dropped. */
  readonly send: (message: ToThread & { readonly kind: 'more' | 'stop' }) => void
  /** Return the memory of the objects in bytes, also while the thread does work; 0 if it does not run. */
  readonly usedBytes: () => Promise<number>
  /** End the thread now. Its tasks fail, and the next task starts it again. */
  readonly restart: () => void
  /** End the thread for good. Its tasks fail. */
  readonly close: () => Promise<void>
}

export const openThread = ({ script, memoryMiB }: ThreadOptions): Thread => {
  const inboxes = new Map<number, Inbox>()
  let worker: Worker | null = null
  let isClosed = false
  const failAll = (cause: unknown): void => {
    worker = null
    const failed = [...inboxes.values()]
    inboxes.clear()
    for (const inbox of failed) {
      inbox.isOver = true
      inbox.error ??= lost(cause)
      inbox.onDone()
      inbox.onOver()
      wake(inbox)
    }
  }
  const start = (): Worker => {
    const maxOldGenerationSizeMb = Math.ceil(memoryMiB / usableShareOfHeap) + newObjectsMiB
    const started = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb }, stdout: false, stderr: false })
    const failIfCurrent = (cause: unknown): void => {
      if (worker === started) failAll(cause)
    }
    started.on('message', (message: FromThread) => {
      const inbox = inboxes.get(message.id)
      if (message.kind === 'end' || message.kind === 'fault') inboxes.delete(message.id)
      if (inbox !== undefined) receiveMessage(inbox, message)
    })
    started.on('error', failIfCurrent)
    started.on('exit', code => failIfCurrent(new Error(`Exit code ${code}`)))
    started.unref()
    return started
  }
  return {
    inboxes,
    begin: (message, inbox) => {
      if (isClosed) throw lost(new Error('The service is stopping'))
      worker ??= start()
      // Throws for an input that cannot be copied.
      worker.postMessage(message)
      inboxes.set(message.id, inbox)
    },
    send: message => worker?.postMessage(message),
    usedBytes: async () => {
      try {
        return (await worker?.getHeapStatistics())?.used_heap_size ?? 0
      } catch {
        // The thread has ended, or has not begun.
        return 0
      }
    },
    restart: () => {
      void worker?.terminate()
    },
    close: async () => {
      isClosed = true
      const open = worker
      failAll(new Error('The service is stopping'))
      await open?.terminate()
    },
  }
}
