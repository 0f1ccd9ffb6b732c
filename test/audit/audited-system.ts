import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'
import type { Random } from '../support/random.ts'
import { type Client, login } from '../support/system/client.ts'

/** Lifetime of a process that receives records. After its end no request to this process can still be executed. */
export type ProcessLifetime = { readonly isOver: () => boolean }

/** Client of the system, and the lifetimes of the processes that can receive its requests now. */
export type Caller = { readonly client: Client; readonly lifetimes: () => readonly ProcessLifetime[] }

/** System under audit. It has one data folder and survives injected faults. */
export type AuditedSystem = AsyncDisposable & {
  /** Return a client, in rotation over the gateways; null if no gateway runs. */
  readonly caller: () => Caller | null
  readonly start: () => Promise<Client>
  /** Return address and keys. Throws if the system does not run. */
  readonly sandbox: () => Sandbox
  /** Count the messages that the cost workers have not committed. Recost requests are among them. */
  readonly unread: () => Promise<number>
  /** Inject a random fault, wait until the system runs again, and return the kind of the fault. */
  readonly injectFault: (random: Random) => Promise<string>
  /** List the processes that stopped after SIGTERM with an error or too late. */
  readonly failedStops: () => readonly string[]
  readonly stop: () => Promise<void>
  /** Alter one stored row of the stopped system. Return the id of the record. */
  readonly alterRow: () => Promise<string>
}

/** Alter one row of a store: the folder of the embedded engine, or the URL of a server. Return the id of the record. */
export const alterRow = (store: string): string => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'alter-row.ts'), store], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`The row could not be altered:\n${stderr}`)
  return stdout.trim()
}

/** Sum the unread messages of all partitions from the metrics of a cost worker. */
export const unreadOf = async (metricsUrl: string): Promise<number> => {
  const text = await (await fetch(metricsUrl)).text()
  const counts = [...text.matchAll(/^wattledger_lane_unread_messages\{[^}]*\} (\d+)$/gm)].map(([, count]) =>
    Number(count),
  )
  if (counts.length === 0) throw new Error(`The metrics have no unread messages:\n${text}`)
  return counts.reduce((sum, count) => sum + count)
}

export type DeadLetter = { readonly id: string; readonly code: string; readonly reason: string }

/** List up to 100 dead letters, newest first. */
export const listDeadLetters = async ({
  base_url: baseUrl,
  operator_key: key,
}: Sandbox): Promise<readonly DeadLetter[]> => {
  const answer = await fetch(`${baseUrl}/operator/dead-letters?limit=100`, { headers: { 'X-Operator-Key': key } })
  if (!answer.ok) throw new Error(`The list of dead letters failed: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { data: readonly DeadLetter[] }).data
}

const tokenMs = 40 * 60_000

/** Return a function that returns a client. The client logs in again after 40 min, because tokens expire after 1 h. */
export const renewingClient = async (sandbox: () => Sandbox): Promise<() => Client> => {
  let client = await login(sandbox())
  let loggedInAt = performance.now()
  const renew = async (): Promise<void> => {
    loggedInAt = performance.now()
    client = (await login(sandbox()).catch(() => null)) ?? client
  }
  return () => {
    if (performance.now() - loggedInAt > tokenMs) void renew()
    return client
  }
}
