import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Role } from '../../../services/platform/config/config.ts'
import type { Verdict } from '../ledger/audit.ts'
import { type JournalEntry, readJournal } from '../ledger/journal.ts'
import { openLedger } from '../ledger/ledger.ts'
import { seededRandom } from '../random.ts'
import { login } from '../system/client.ts'
import { openProcesses, openProxy } from './processes.ts'
import { type RoleInstance, roleInstance } from './role-instance.ts'

/** Duration of the load between two faults, in ms. */
export const betweenMs = Number(process.env['WATTLEDGER_TEST_FAULT_MS'] ?? 1_000)

/** Result of an audit, and number of submissions without an answer. */
export type SendResult = { readonly verdict: Verdict; readonly unanswered: number }

type RoleInstances = readonly [RoleInstance, ...RoleInstance[]]

/**
 * Start two gateways, two cost workers and `queries` processes of the other roles on shared stores.
 * A proxy gives them one address. Each partition has `replicas` copies.
 */
export const openManyProcesses = async (
  brokers: readonly string[],
  { replicas, queries }: { replicas: number; queries: number },
) => {
  await using opening = new AsyncDisposableStack()
  const processes = opening.use(await openProcesses(brokers, `test-${randomUUID()}.`, { replicas }))
  Object.assign(processes.variables, { WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' })
  const createInstances = (count: number, ...roles: readonly Role[]): RoleInstances => {
    const instance = (): RoleInstance => roleInstance(roles, of => processes.start(...of))
    return [instance(), ...Array.from({ length: count - 1 }, instance)]
  }
  const instances = {
    queries: createInstances(queries, 'query-service', 'webhook-worker'),
    gateways: createInstances(2, 'ingest-gateway'),
    workers: createInstances(2, 'cost-worker'),
  }
  const [first, ...others] = Object.values(instances).flat()
  // The first process creates the sandbox.
  await first?.start()
  await Promise.all(others.map(one => one.start()))
  let nextIndex = 0
  const proxy = opening.use(
    await openProxy(
      () => instances.gateways.map(one => one.process()),
      () => instances.queries[nextIndex++ % instances.queries.length]?.process() ?? null,
    ),
  )
  const client = await login({ ...processes.sandbox(), base_url: proxy.url })

  /** Send records before, during and after a fault, then audit them. */
  const sendDuring = async (seed: number, injectFault: () => Promise<void>): Promise<SendResult> => {
    const size = { locations: 3, maxRecords: 40, maxTotalRecords: 1_500, maxPauseMs: 200 }
    const file = join(processes.folder, `ledger-${seed}.ndjson`)
    await using ledger = await openLedger({ file, random: seededRandom(seed), target: () => client, ...size })
    const stop = new AbortController()
    const load = ledger.run(3, stop.signal)
    await sleep(betweenMs)
    await injectFault()
    await sleep(betweenMs)
    stop.abort()
    await load
    await ledger.resendUnknown()
    const verdict = await ledger.audit(client)
    process.stdout.write(`submitted and audited: ${JSON.stringify(verdict.seen)}\n`)
    expect(verdict.seen.records).toBeGreaterThan(50)
    const answers = readJournal<JournalEntry>(file).filter(entry => entry.kind === 'answered')
    return { verdict, unanswered: answers.filter(({ status }) => status === null).length }
  }

  const open = opening.move()
  return { ...instances, processes, client, sendDuring, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

export type ManyProcesses = Awaited<ReturnType<typeof openManyProcesses>>
