import { readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { basename } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { FromThread, ToThread, WorkResult, WorkTable } from './work-messages.ts'

/** Time in ms that a task sends chunks before another account gets its turn. */
const sliceMs = 10

/** `start` is null after the work is done; its bytes are then written chunk by chunk. */
type Task = {
  readonly id: number
  readonly account: string
  start: (() => WorkResult) | null
  chunks: Iterator<Uint8Array<ArrayBuffer>>
  chunksWanted: number
}

type ThreadState = {
  readonly port: MessagePort
  readonly table: WorkTable
  readonly tasks: Map<number, Task>
  /** Number of the last turn of each account. */
  readonly lastTurnOf: Map<string, number>
  turns: number
  isWorking: boolean
}

/**
 * Return the next task: accounts take turns, and so do the tasks of an account. Null if no task has requested chunks.
 */
const takeNext = ({ tasks, lastTurnOf }: ThreadState): Task | null => {
  let next: Task | null = null
  for (const task of tasks.values()) {
    if (task.chunksWanted <= 0) continue
    if (next === null || (lastTurnOf.get(task.account) ?? 0) < (lastTurnOf.get(next.account) ?? 0)) next = task
  }
  if (next === null) return null
  // Move the task to the end of the queue.
  tasks.delete(next.id)
  tasks.set(next.id, next)
  return next
}

/**
 * Difference between the priority of this thread and of the process, on the scale of `nice`: -20 (first) to 19 (last).
 */
const lowerBy = 10

/**
 * Lower the priority of this thread, so that threads that answer requests run first.
 * Only Linux has a priority for each thread. Other systems keep the priority of the process.
 */
const lowerPriority = (): void => {
  try {
    const thread = Number(basename(readlinkSync('/proc/thread-self')))
    setPriority(thread, Math.min(getPriority(process.pid) + lowerBy, 19))
  } catch {
    // The thread works with the priority of the process.
  }
}

const send = ({ port }: ThreadState, message: FromThread, moved: readonly ArrayBuffer[] = []): void =>
  port.postMessage(message, moved)

const drop = ({ tasks, lastTurnOf }: ThreadState, id: number): void => {
  const { account } = tasks.get(id) ?? {}
  tasks.delete(id)
  if (account !== undefined && ![...tasks.values()].some(task => task.account === account)) lastTurnOf.delete(account)
}

const finish = (state: ThreadState, task: Task, message: FromThread): void => {
  drop(state, task.id)
  send(state, message)
}

/** Do the work of a task and send its head. */
const doWork = (state: ThreadState, task: Task, start: () => WorkResult): void => {
  task.start = null
  const { head, chunks } = start()
  task.chunks = chunks[Symbol.iterator]()
  send(state, { kind: 'head', id: task.id, head })
}

/** Send the next chunk of a task. Return false after the last one. */
const sendChunk = (state: ThreadState, task: Task): boolean => {
  const { done, value } = task.chunks.next()
  if (done === true) {
    finish(state, task, { kind: 'end', id: task.id })
    return false
  }
  task.chunksWanted -= 1
  send(state, { kind: 'bytes', id: task.id, bytes: value }, [value.buffer])
  return true
}

const runTurn = (state: ThreadState, task: Task): void => {
  const startedAt = performance.now()
  try {
    if (task.start !== null) doWork(state, task, task.start)
    while (task.chunksWanted > 0 && sendChunk(state, task)) if (performance.now() - startedAt >= sliceMs) return
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    finish(state, task, { kind: 'fault', id: task.id, error: text })
  }
}

const noChunks: Iterator<Uint8Array<ArrayBuffer>> = [][Symbol.iterator]()

const addTask = ({ table, tasks }: ThreadState, message: Extract<ToThread, { readonly kind: 'begin' }>): void => {
  const { id, account, name, input } = message
  const start = (): WorkResult => {
    const work = table[name]
    if (work === undefined) throw new Error(`Unknown work ${name}`)
    // Both ends of the thread are written against one table, so the input has the type of its function.
    return work(input as never)
  }
  tasks.set(id, { id, account, start, chunks: noChunks, chunksWanted: 1 })
}

const receive = (state: ThreadState, message: ToThread): void => {
  const task = state.tasks.get(message.id)
  if (message.kind === 'begin') addTask(state, message)
  else if (task === undefined) return
  else if (message.kind === 'more') task.chunksWanted += message.chunks
  else finish(state, task, { kind: 'end', id: message.id })
}

const runTasks = async (state: ThreadState): Promise<void> => {
  if (state.isWorking) return
  state.isWorking = true
  for (let next = takeNext(state); next !== null; next = takeNext(state)) {
    state.turns += 1
    state.lastTurnOf.set(next.account, state.turns)
    runTurn(state, next)
    for (let waiting = receiveMessageOnPort(state.port); waiting !== undefined; ) {
      receive(state, waiting.message)
      waiting = receiveMessageOnPort(state.port)
    }
    await nextTurn()
  }
  state.isWorking = false
}

/**
 * Do the work of a thread, one task after the other. Accounts take turns. Chunks are written while the caller has
 * requested some, and between the tasks of others. A task that is stopped ends after its current turn.
 * Source: docs/promises.md #s6.
 */
export const serveWork = (port: MessagePort, table: WorkTable): void => {
  lowerPriority()
  const state: ThreadState = {
    port,
    table,
    tasks: new Map(),
    lastTurnOf: new Map(),
    turns: 0,
    isWorking: false,
  }
  port.on('message', (message: ToThread) => {
    receive(state, message)
    void runTasks(state)
  })
}
