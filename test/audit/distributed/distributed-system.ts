import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import type { Role } from '../../../services/platform/config/config.ts'
import { print } from '../../demo/terminal.ts'
import { openProxy, type RoleProcess, startRoles } from '../../support/kafka/processes.ts'
import { type RoleInstance, roleInstance } from '../../support/kafka/role-instance.ts'
import type { Client } from '../../support/system/client.ts'
import { type AuditedSystem, type Caller, renewingClient } from '../audited-system.ts'
import { type RoleInstances, shuffledFaults } from './faults.ts'
import { openStores } from './open-stores.ts'

const maxStarts = 5
const retryMs = 2_000

/** A process that did not start, because something it needs is away, is started again, as whoever supervises processes does. */
const startWithRetries = async (start: () => Promise<RoleProcess>): Promise<RoleProcess> => {
  for (let starts = 1; ; starts += 1) {
    try {
      return await start()
    } catch (error) {
      if (starts === maxStarts) throw error
      print(
        `  a process did not start and is started again: ${String(error)
          .split('\n')
          .findLast(line => line !== '')}`,
      )
      await sleep(retryMs)
    }
  }
}

/** The system of many processes, which others may join; `engineUrl` is where its rows are. */
export type DistributedAuditedSystem = AuditedSystem & {
  readonly join: (...roles: readonly Role[]) => Promise<RoleProcess>
  readonly engineUrl: string
}

/** Make the system of many processes on a folder, not started: brokers, registry and stores run. */
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
  const next = shuffledFaults()
  const entryPoints: { readonly client: () => Client; readonly gateway: RoleInstance }[] = []
  const failedStops: string[] = []
  let nextIndex = 0

  const sandbox = (): Sandbox => {
    const query = instances.queries[0]?.process()
    if (!query) throw new Error('no query-service is there')
    return { ...(JSON.parse(readFileSync(join(folder, 'sandbox.json'), 'utf8')) as Sandbox), base_url: query.url }
  }

  /** One way in for each gateway, which goes on while processes come and go behind it. */
  const openEntryPoints = async (): Promise<void> => {
    for (const gateway of instances.gateways) {
      const proxy = opened.use(
        await openProxy(
          () => [gateway.process()],
          () => instances.queries[0]?.process() ?? null,
        ),
      )
      entryPoints.push({ gateway, client: await renewingClient(() => ({ ...sandbox(), base_url: proxy.url })) })
    }
  }

  const caller = (): Caller | null => {
    const open = entryPoints.filter(({ gateway }) => gateway.process() !== null)
    const entryPoint = open[nextIndex++ % open.length]
    return entryPoint === undefined
      ? null
      : {
          client: entryPoint.client(),
          lifetimes: () => entryPoint.gateway.runningProcesses().map(({ isGone }) => ({ isOver: isGone })),
        }
  }

  const stop = async (): Promise<void> => {
    for (const { code } of await Promise.all(all.map(instance => instance.stop()))) {
      if (code !== 0) throw new Error(`a process stopped with ${code}`)
    }
    await stores.engine.stop()
  }

  const opened = opening.move()
  let isStarted = false
  return {
    join: (...roles) => start(roles),
    engineUrl: stores.engine.url,
    caller,
    sandbox,
    start: async () => {
      if (isStarted) await stores.engine.start()
      isStarted = true
      // The first one makes the sandbox.
      for (const query of instances.queries) await query.start()
      await Promise.all([...instances.gateways, ...instances.workers].map(instance => instance.start()))
      if (entryPoints.length === 0) await openEntryPoints()
      const started = caller()
      if (started === null) throw new Error('no gateway is there')
      return started.client
    },
    injectFault: async random => {
      const { kind, inject: happen } = next(random)
      await happen({ stores, instances, failedStops }, random)
      return kind
    },
    failedStops: () => failedStops,
    stop,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(all.flatMap(instance => instance.runningProcesses()).map(process => process.end('SIGKILL')))
      await opened.disposeAsync()
    },
  }
}
