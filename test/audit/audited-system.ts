import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'
import type { Random } from '../support/ledger/random.ts'
import { type Client, login } from '../support/system/client.ts'

/** The life of a process that takes records; once it is over, nothing that was sent to it can still arrive. */
export type ProcessLifetime = { readonly isOver: () => boolean }

/** A way into the system, and whose lives hold what is sent by it at the moment and not yet answered. */
export type Caller = { readonly client: Client; readonly lifetimes: () => readonly ProcessLifetime[] }

/** The system under audit, which is harmed and overcomes it on one folder of data. */
export type AuditedSystem = AsyncDisposable & {
  /** Another way in each time, where there are several; null while nobody is there. */
  readonly caller: () => Caller | null
  readonly start: () => Promise<Client>
  /** Where it is and how to be let in; throws while it does not run. */
  readonly sandbox: () => Sandbox
  /** Do it some harm; gives the kind of harm once it runs again. */
  readonly injectFault: (random: Random) => Promise<string>
  /** How processes that were asked to stop ended, where it was not well. */
  readonly failedStops: () => readonly string[]
  readonly stop: () => Promise<void>
}

export type DeadLetter = { readonly id: string; readonly code: string; readonly reason: string }

/** List what was put aside, newest first, up to a hundred. */
export const listDeadLetters = async ({
  base_url: baseUrl,
  operator_key: key,
}: Sandbox): Promise<readonly DeadLetter[]> => {
  const answer = await fetch(`${baseUrl}/operator/dead-letters?limit=100`, { headers: { 'X-Operator-Key': key } })
  if (!answer.ok) throw new Error(`the dead letters were not listed: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { data: readonly DeadLetter[] }).data
}

const tokenMs = 40 * 60_000

/** A client that logs in again in time: tokens end after an hour. */
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
