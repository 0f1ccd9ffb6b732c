import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RoleInstance } from '../../support/kafka/role-instance.ts'
import type { Random } from '../../support/random.ts'
import type { EngineFault } from '../../support/stores/clickhouse-proxy.ts'
import { type SharedStores, sessionMs } from './open-stores.ts'

export type RoleInstances = Readonly<Record<'gateways' | 'workers' | 'queries', readonly RoleInstance[]>>

/** Processes and stores that a fault can affect. */
export type FaultTarget = {
  readonly stores: SharedStores
  readonly instances: RoleInstances
  readonly failedStops: string[]
}

/** One kind of fault. `inject` resolves when the fault is over. */
export type Fault = { readonly kind: string; readonly inject: (target: FaultTarget, random: Random) => Promise<void> }

const secondMs = 1_000
/** Time limit of a stop. */
const drainMs = 15 * secondMs
/** Time after which a restarted broker has caught up with the others. */
const caughtUpMs = 5 * secondMs

const killFault = (kind: string, role: keyof RoleInstances): Fault => ({
  kind,
  inject: async ({ instances }, random) => {
    const instance = random.pick(instances[role])
    await instance.kill()
    await sleep(random.below(4 * secondMs))
    await instance.start()
  },
})

/** Restart the processes of a role one after the other. */
const restartFault = (kind: string, role: keyof RoleInstances): Fault => ({
  kind,
  inject: async ({ instances, failedStops }) => {
    for (const instance of instances[role]) {
      const { code, ms } = await instance.replace()
      if (code !== 0 || ms > drainMs)
        failedStops.push(`${instance.roles.join()} stopped with ${code} after ${Math.round(ms)} ms`)
    }
  },
})

const engineFault = (kind: string, engineFaults: readonly EngineFault[]): Fault => ({
  kind,
  inject: async ({ stores }, random) => {
    stores.engine.proxy.fault = random.pick(engineFaults)
    await sleep(2 * secondMs + random.below(8 * secondMs))
    stores.engine.proxy.fault = 'well'
  },
})

const freezeWorkerFault: Fault = {
  kind: 'worker paused for longer than its session',
  inject: async ({ instances }, random) => {
    const pid = random.pick(instances.workers).process()?.pid
    if (pid === undefined) throw new Error('No worker runs.')
    process.kill(pid, 'SIGSTOP')
    await sleep(sessionMs + 5 * secondMs + random.below(25 * secondMs))
    process.kill(pid, 'SIGCONT')
  },
}

/** If two of three brokers are down, nothing can be written and the gateways answer 503. */
const killBrokersFault = (kind: string, count: number): Fault => ({
  kind,
  inject: async ({ stores }, random) => {
    const first = random.below(stores.cluster.nodes.length)
    const nodes = stores.cluster.nodes.filter((_, index) => (index + first) % stores.cluster.nodes.length < count)
    for (const node of nodes) node.kill('SIGKILL')
    await Promise.all(nodes.map(node => node.exited()))
    await sleep(random.below(8 * secondMs))
    await Promise.all(nodes.map(node => node.start()))
    await sleep(caughtUpMs)
  },
})

const killEngineFault: Fault = {
  kind: 'ClickHouse killed',
  inject: async ({ stores }, random) => {
    await stores.engine.kill()
    await sleep(random.below(4 * secondMs))
    await stores.engine.start()
  },
}

const killPostgresFault: Fault = {
  kind: 'PostgreSQL killed',
  inject: async ({ stores }) => {
    process.kill(Number(readFileSync(join(stores.postgresFolder, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL')
    await sleep(3 * secondMs)
  },
}

/** All kinds of faults. */
export const faults: readonly Fault[] = [
  killFault('gateway killed', 'gateways'),
  killFault('worker killed', 'workers'),
  killFault('query-service killed', 'queries'),
  killBrokersFault('broker of three killed', 1),
  killBrokersFault('two brokers of three killed', 2),
  freezeWorkerFault,
  restartFault('gateways restarted one by one', 'gateways'),
  restartFault('workers restarted one by one', 'workers'),
  restartFault('query-service restarted', 'queries'),
  engineFault('ClickHouse refuses', ['refuse', 'gateway']),
  engineFault('ClickHouse hangs', ['hang']),
  engineFault('ClickHouse cuts its answers', ['reset', 'cut', 'lose']),
  killEngineFault,
  killPostgresFault,
]

/** Return a generator of faults in random order. Each kind occurs once before a kind is repeated. */
export const shuffledFaults = (): ((random: Random) => Fault) => {
  let left: Fault[] = []
  return random => {
    if (left.length === 0) left = [...faults]
    const [fault] = left.splice(random.below(left.length), 1)
    return fault as Fault
  }
}
