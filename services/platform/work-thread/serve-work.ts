import { readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { basename } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { FromThread, PausableWork, ToThread, WorkStep, WorkTable } from './work-messages.ts'

/** How long (ms) one account's work goes on before another's. */
const sliceMs = 10

type WorkInProgress = {
  readonly id: number
  readonly account: string
  readonly work: PausableWork
  chunksWanted: number
}

/** Whose turn it is: accounts in turn, and the works of one account in turn. */
const takeNext = (works: Map<number, WorkInProgress>, lastSliceOf: Map<string, number>): WorkInProgress | null => {
  let next: WorkInProgress | null = null
  for (const one of works.values()) {
    if (one.chunksWanted <= 0) continue
    if (next === null || (lastSliceOf.get(one.account) ?? 0) < (lastSliceOf.get(next.account) ?? 0)) next = one
  }
  if (next === null) return null
  // Behind the other works of its account.
  works.delete(next.id)
  works.set(next.id, next)
  return next
}

const beginWork = (table: WorkTable, name: string, input: unknown): PausableWork => {
  const start = table[name]
  if (start === undefined) throw new Error(`there is no work called ${name}`)
  // Both ends of the thread are written against one table.
  return start(input as never)
}

/** How far the thread's priority lies below that of the process, on the operating system's scale of -20 (first) to 19 (last). */
const lowerBy = 10

/**
 * Let the threads that answer requests go first where the CPUs do not suffice for all. Linux alone gives each thread a priority of its own;
 * elsewhere the thread keeps that of the process.
 */
const lowerPriority = (): void => {
  try {
    const thread = Number(basename(readlinkSync('/proc/thread-self')))
    setPriority(thread, Math.min(getPriority(process.pid) + lowerBy, 19))
  } catch {
    // The work is done all the same.
  }
}

/**
 * Do the work of a thread: in slices, accounts in turn, each work no further than its bytes are asked for. Messages are read between slices, so
 * that what is stopped stops within one. Source: docs/promises.md #s6.
 */
export const serveWork = (port: MessagePort, table: WorkTable): void => {
  lowerPriority()
  const works = new Map<number, WorkInProgress>()
  /** When each account had its last slice, as a count of slices. */
  const lastSliceOf = new Map<string, number>()
  let slices = 0
  let isWorking = false
  const send = (message: FromThread, moved: readonly ArrayBuffer[] = []): void => port.postMessage(message, moved)

  const drop = (id: number): void => {
    const { account } = works.get(id) ?? {}
    works.delete(id)
    if (account !== undefined && ![...works.values()].some(one => one.account === account)) lastSliceOf.delete(account)
  }

  const finish = (one: WorkInProgress, message: FromThread): void => {
    drop(one.id)
    send(message)
  }

  const sendStep = (one: WorkInProgress, step: WorkStep): void => {
    if (step === undefined) return
    if ('head' in step) {
      send({ kind: 'head', id: one.id, head: step.head })
      return
    }
    one.chunksWanted -= 1
    send({ kind: 'bytes', id: one.id, bytes: step.bytes }, [step.bytes.buffer])
  }

  const runSlice = (one: WorkInProgress): void => {
    const began = performance.now()
    try {
      do {
        const step = one.work.next()
        if (step.done === true) {
          finish(one, { kind: 'end', id: one.id })
          return
        }
        sendStep(one, step.value)
      } while (one.chunksWanted > 0 && performance.now() - began < sliceMs)
    } catch (error) {
      finish(one, {
        kind: 'fault',
        id: one.id,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      })
    }
  }

  const start = ({ id, account, name, input }: Extract<ToThread, { readonly kind: 'begin' }>): void => {
    try {
      works.set(id, { id, account, work: beginWork(table, name, input), chunksWanted: 1 })
    } catch (error) {
      send({ kind: 'fault', id, error: String(error) })
    }
  }

  const take = (message: ToThread): void => {
    const one = works.get(message.id)
    if (message.kind === 'begin') start(message)
    else if (message.kind === 'stop') drop(message.id)
    else if (one !== undefined) one.chunksWanted += message.chunks
  }

  const runWorks = async (): Promise<void> => {
    if (isWorking) return
    isWorking = true
    for (let next = takeNext(works, lastSliceOf); next !== null; next = takeNext(works, lastSliceOf)) {
      slices += 1
      lastSliceOf.set(next.account, slices)
      runSlice(next)
      for (let waiting = receiveMessageOnPort(port); waiting !== undefined; waiting = receiveMessageOnPort(port))
        take(waiting.message)
      await nextTurn()
    }
    isWorking = false
  }

  port.on('message', (message: ToThread) => {
    take(message)
    void runWorks()
  })
}
