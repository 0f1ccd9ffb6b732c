import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import type { Role } from '../../../services/platform/config/config.ts'
import { print } from '../../demo/terminal.ts'
import { openProxy, type RoleProcess, startRoles } from '../../support/kafka/processes.ts'
import { type RoleInstance, roleInstance } from '../../support/kafka/role-instance.ts'
import type { Client } from '../../support/system/client.ts'
import { metricsUrlOf } from '../../support/system/running-system.ts'
import { type AuditedSystem, alterRow, type Caller, renewingClient, unreadOf } from '../audited-system.ts'
import { type RoleInstances, shuffledFaults } from './faults.ts'
import { openStores } from './open-stores.ts'

const maxStarts = 5
const retryMs = 2_000

/** Start a process, and retry if it fails because a store is unavailable, as a process supervisor does. */
const startWithRetries = async (start: () => Promise<RoleProcess>): Promise<RoleProcess> => {
  for (let starts = 1; ; starts += 1) {
    try {
      return await start()
    } catch (error) {
      if (starts === maxStarts) throw error
      print(
        `  A process failed to start, retrying: ${String(error)
          .split('\n')
          .findLast(line => line !== '')}`,
      )
      await sleep(retryMs)
    }
  }
}

/** System of many processes that other processes can join. `engineUrl` is the address of its ClickHouse. */
export type DistributedAuditedSystem = AuditedSystem & {
  readonly join: (...roles: readonly Role[]) => Promise<RoleProcess>
  readonly engineUrl: string
}

/**
 * Open a proxy for each gateway. The address of a proxy stays the same when processes are replaced.
 * Returns a function that returns the callers in rotation; null if no gateway runs.
 */
const openCallers = async (
  opened: AsyncDisposableStack,
  { gateways, queries }: RoleInstances,
  sandbox: () => Sandbox,
): Promise<() => Caller | null> => {
  const entryPoints: { readonly client: () => Client; readonly gateway: RoleInstance }[] = []
  for (const gateway of gateways) {
    const proxy = opened.use(
      await openProxy(
        () => [gateway.process()],
        () => queries[0]?.process() ?? null,
      ),
    )
    entryPoints.push({ gateway, client: await renewingClient(() => ({ ...sandbox(), base_url: proxy.url })) })
  }
  let nextIndex = 0
  return () => {
    const open = entryPoints.filter(({ gateway }) => gateway.process() !== null)
    const entryPoint = open[nextIndex++ % open.length]
    if (entryPoint === undefined) return null
    const { client, gateway } = entryPoint
    return {
      client: client(),
      lifetimes: () => gateway.runningProcesses().map(({ hasExited }) => ({ isOver: hasExited })),
    }
  }
}

/**
 * Create a system of many processes on a data folder. Brokers, registry and stores run; the processes are not started.
 */
export const distributedSystem = async (folder: string): Promise<DistributedAuditedSystem> => {
  await using opening = new AsyncDisposableStack()
  const stores = opening.use(await openStores(folder))
  const start = (roles: readonly Role[]): Promise<RoleProcess> =>
    startWithRetries(() => startRoles(folder, stores.variables, roles))
  const createInstances = (count: number, ...roles: readonly Role[]): readonly RoleInstance[] =>
    Array.from({ length: count }, () => roleInstance(roles, start))
  const instances: RoleInstances = {
    queries: createInstances(1, 'query-service', 'webhook-worker'),
    gateways: createInstances(2, 'ingest-gateway'),
    workers: createInstances(2, 'cost-worker'),
  }
  const all = [...instances.queries, ...instances.gateways, ...instances.workers]
  const nextFault = shuffledFaults()
  const failedStops: string[] = []
  let nextCaller: (() => Caller | null) | null = null

  const sandbox = (): Sandbox => {
    const query = instances.queries[0]?.process()
    if (!query) throw new Error('No query-service runs.')
    return { ...(JSON.parse(readFileSync(join(folder, 'sandbox.json'), 'utf8')) as Sandbox), base_url: query.url }
  }

  const stop = async (): Promise<void> => {
    for (const { code } of await Promise.all(all.map(instance => instance.stop()))) {
      if (code !== 0) throw new Error(`A process exited with code ${code}.`)
    }
    await stores.engine.stop()
  }

  const opened = opening.move()
  return {
    join: (...roles) => start(roles),
    engineUrl: stores.engine.url,
    caller: () => nextCaller?.() ?? null,
    sandbox,
    unread: () => unreadOf(metricsUrlOf(instances.workers[0]?.process()?.output() ?? '')),
    start: async () => {
      if (nextCaller !== null) await stores.engine.start()
      // The query service creates the sandbox.
      for (const query of instances.queries) await query.start()
      await Promise.all([...instances.gateways, ...instances.workers].map(instance => instance.start()))
      nextCaller ??= await openCallers(opened, instances, sandbox)
      const started = nextCaller()
      if (started === null) throw new Error('No gateway runs.')
      return started.client
    },
    injectFault: async random => {
      const { kind, inject } = nextFault(random)
      await inject({ stores, instances, failedStops }, random)
      return kind
    },
    failedStops: () => failedStops,
    stop,
    alterRow: async () => {
      await stores.engine.start()
      return alterRow(stores.engine.directUrl)
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(all.flatMap(instance => instance.runningProcesses()).map(process => process.end('SIGKILL')))
      await opened.disposeAsync()
    },
  }
}
