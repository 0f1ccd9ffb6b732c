import { readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { basename } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'
import { type MessagePort, receiveMessageOnPort, resourceLimits } from 'node:worker_threads'
import {
  type FromThread,
  newObjectsMiB,
  type PausableWork,
  type ToThread,
  usableShareOfHeap,
  type WorkStep,
  type WorkTable,
} from './work-messages.ts'

/** Time in ms that a task runs before another account gets its turn. */
const sliceMs = 10

type Task = {
  readonly id: number
  readonly account: string
  readonly work: PausableWork
  chunksWanted: number
}

type ThreadState = {
  readonly port: MessagePort
  readonly table: WorkTable
  readonly tasks: Map<number, Task>
  /** Number of the last slice of each account. */
  readonly lastSliceOf: Map<string, number>
  slices: number
  isWorking: boolean
}

/**
 * Return the next task: accounts take turns, and so do the tasks of an account. Null if no task has requested chunks.
 */
const takeNext = ({ tasks, lastSliceOf }: ThreadState): Task | null => {
  let next: Task | null = null
  for (const task of tasks.values()) {
    if (task.chunksWanted <= 0) continue
    if (next === null || (lastSliceOf.get(task.account) ?? 0) < (lastSliceOf.get(next.account) ?? 0)) next = task
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

const drop = ({ tasks, lastSliceOf }: ThreadState, id: number): void => {
  const { account } = tasks.get(id) ?? {}
  tasks.delete(id)
  if (account !== undefined && ![...tasks.values()].some(task => task.account === account)) lastSliceOf.delete(account)
}

const finish = (state: ThreadState, task: Task, message: FromThread): void => {
  drop(state, task.id)
  send(state, message)
}

const sendStep = (state: ThreadState, task: Task, step: WorkStep): void => {
  if (step === undefined) return
  if ('head' in step) {
    send(state, { kind: 'head', id: task.id, head: step.head })
    return
  }
  task.chunksWanted -= 1
  send(state, { kind: 'bytes', id: task.id, bytes: step.bytes }, [step.bytes.buffer])
}

const runSlice = (state: ThreadState, task: Task): void => {
  const startedAt = performance.now()
  try {
    do {
      const step = task.work.next()
      if (step.done === true) {
        finish(state, task, { kind: 'end', id: task.id })
        return
      }
      sendStep(state, task, step.value)
    } while (task.chunksWanted > 0 && performance.now() - startedAt < sliceMs)
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    finish(state, task, { kind: 'fault', id: task.id, error: text })
  }
}

const startTask = (
  state: ThreadState,
  { id, account, name, input }: Extract<ToThread, { readonly kind: 'begin' }>,
): void => {
  try {
    const start = state.table[name]
    if (start === undefined) throw new Error(`Unknown work ${name}`)
    // Both ends of the thread are written against one table, so the input has the type of its function.
    state.tasks.set(id, { id, account, work: start(input as never), chunksWanted: 1 })
  } catch (error) {
    send(state, { kind: 'fault', id, error: String(error) })
  }
}

const receive = (state: ThreadState, message: ToThread): void => {
  const task = state.tasks.get(message.id)
  if (message.kind === 'begin') startTask(state, message)
  else if (message.kind === 'stop') drop(state, message.id)
  else if (task !== undefined) task.chunksWanted += message.chunks
}

/**
 * End this thread if its objects use more than the usable share of its heap.
 * V8 has a limit too, but V8 ends the whole process if a large array grows beyond that limit.
 * The spaces of new objects are not counted, because most of these objects are garbage.
 */
const endIfTooLarge = (): void => {
  const heapMiB = (resourceLimits.maxOldGenerationSizeMb ?? Number.POSITIVE_INFINITY) - newObjectsMiB
  const maxBytes = heapMiB * 2 ** 20 * usableShareOfHeap
  let bytes = 0
  for (const { space_name: name, space_used_size: used } of getHeapSpaceStatistics()) {
    if (!name.startsWith('new_')) bytes += used
  }
  if (bytes > maxBytes) process.exit(1)
}

const runTasks = async (state: ThreadState): Promise<void> => {
  if (state.isWorking) return
  state.isWorking = true
  for (let next = takeNext(state); next !== null; next = takeNext(state)) {
    state.slices += 1
    state.lastSliceOf.set(next.account, state.slices)
    runSlice(state, next)
    endIfTooLarge()
    for (let waiting = receiveMessageOnPort(state.port); waiting !== undefined; ) {
      receive(state, waiting.message)
      waiting = receiveMessageOnPort(state.port)
    }
    await nextTurn()
  }
  state.isWorking = false
}

/**
 * Do the work of a thread in time slices. Accounts take turns. A task runs only while its caller has requested chunks.
 * Messages are read between slices, so that a stopped task ends within one slice. Source: docs/promises.md #s6.
 */
export const serveWork = (port: MessagePort, table: WorkTable): void => {
  lowerPriority()
  const state: ThreadState = {
    port,
    table,
    tasks: new Map(),
    lastSliceOf: new Map(),
    slices: 0,
    isWorking: false,
  }
  port.on('message', (message: ToThread) => {
    receive(state, message)
    void runTasks(state)
  })
}
