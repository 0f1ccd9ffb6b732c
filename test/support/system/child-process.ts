import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

const endTimeoutMs = 30_000

/** Return the next message of a child process. Rejects if the process exits first. */
export const nextMessage = async <T>(child: ChildProcess): Promise<T> => {
  const ended = new AbortController()
  const { signal } = ended
  // The last messages of a child can arrive after its exit. All have arrived when the channel is closed.
  const closed = child.connected ? once(child, 'disconnect', { signal }) : []
  const exited = Promise.all([once(child, 'exit', { signal }), closed]).then(([[code, signal]]) => {
    throw new Error(`A child process exited with ${code ?? signal}.`)
  })
  exited.catch(() => undefined)
  try {
    const [message] = (await Promise.race([once(child, 'message'), exited])) as [T]
    return message
  } finally {
    ended.abort()
  }
}

/** End a child process: close its channel, and kill it if it is still running 30 s later. */
export const endProcess = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  const timer = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs)
  if (child.connected) child.disconnect()
  await exited
  clearTimeout(timer)
}
