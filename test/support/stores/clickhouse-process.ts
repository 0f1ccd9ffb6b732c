import { type ChildProcess, fork } from 'node:child_process'
import { endProcess, nextMessage } from '../system/child-process.ts'
import { type EngineFault, openClickHouseFront } from './clickhouse-front.ts'

/** ClickHouse over HTTP in a child process. */
export type ClickHouseProcess = AsyncDisposable & {
  readonly url: string
  /** Start the process again after `stop` or `kill`. Address and data stay the same if folder and port are given. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  readonly kill: () => Promise<void>
  readonly setFault: (fault: EngineFault) => void
  /** Return the CPU time of the process, in seconds. */
  readonly cpuSeconds: () => Promise<number>
}

type ProcessOptions = {
  /** Default: a temporary folder. */
  readonly folder?: string
  /** Default: a free port. */
  readonly port?: number
  /** Added to the environment of the process. */
  readonly environment?: Readonly<Record<string, string>>
}

type Started = { readonly child: ChildProcess; readonly url: string }

const launch = async ({ folder, port = 0, environment = {} }: ProcessOptions): Promise<Started> => {
  const args = [String(port), ...(folder === undefined ? [] : [folder])]
  const child = fork(import.meta.filename, args, { execArgv: [], env: { ...process.env, ...environment } })
  return { child, ...(await nextMessage<{ readonly url: string }>(child)) }
}

/** Start ClickHouse in a child process. The process also exits when this process exits. */
export const openClickHouseProcess = async (options: ProcessOptions = {}): Promise<ClickHouseProcess> => {
  const { url, ...first } = await launch(options)
  let { child } = first
  const stop = (): Promise<void> => endProcess(child)
  return {
    url,
    start: async () => {
      child = (await launch(options)).child
    },
    stop,
    kill: async () => {
      child.kill('SIGKILL')
      await endProcess(child)
    },
    setFault: fault => {
      if (child.connected) child.send(fault)
    },
    cpuSeconds: async () => {
      child.send('cpu')
      return (await nextMessage<{ readonly cpuSeconds: number }>(child)).cpuSeconds
    },
    [Symbol.asyncDispose]: stop,
  }
}

if (import.meta.main) {
  const [port = '0', folder] = process.argv.slice(2)
  const front = await openClickHouseFront({ port: Number(port), ...(folder === undefined ? {} : { folder }) })
  process.on('message', (message: EngineFault | 'cpu') => {
    const { user, system } = process.cpuUsage()
    if (message === 'cpu') process.send?.({ cpuSeconds: (user + system) / 1e6 })
    else front.fault = message
  })
  process.once('disconnect', () => void front[Symbol.asyncDispose]().then(() => process.exit(0)))
  process.send?.({ url: front.url })
}
