import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Mood } from '../../support/clickhouse-front.ts'
import type { Post } from '../../support/kafka/post.ts'
import type { Random } from '../../support/ledger/random.ts'
import { type Parts, sessionMs } from './open-parts.ts'

export type Posts = Readonly<Record<'gateways' | 'workers' | 'queries', readonly Post[]>>

/** What is harmed. */
export type Harmed = { readonly parts: Parts; readonly posts: Posts; readonly failedStops: string[] }

/** One kind of harm; it is over when this resolves. */
export type Fault = { readonly kind: string; readonly happen: (harmed: Harmed, random: Random) => Promise<void> }

const second = 1_000
/** A process that is asked to stop has this long. */
const drainMs = 15 * second
/** A broker that is back has fetched what it missed by then, and may be needed. */
const caughtUpMs = 5 * second

const killed = (kind: string, role: keyof Posts): Fault => ({
  kind,
  happen: async ({ posts }, random) => {
    const post = random.pick(posts[role])
    await post.kill()
    await sleep(random.whole(4 * second))
    await post.start()
  },
})

/** Each process of a role in its turn. */
const restarted = (kind: string, role: keyof Posts): Fault => ({
  kind,
  happen: async ({ posts, failedStops }) => {
    for (const post of posts[role]) {
      const { code, ms } = await post.replace()
      if (code !== 0 || ms > drainMs) failedStops.push(`${post.roles.join()} stopped with ${code} after ${Math.round(ms)} ms`)
    }
  },
})

const moody = (kind: string, moods: readonly Mood[]): Fault => ({
  kind,
  happen: async ({ parts }, random) => {
    parts.engine.be(random.pick(moods))
    await sleep(2 * second + random.whole(8 * second))
    parts.engine.be('well')
  },
})

const frozenWorker: Fault = {
  kind: 'worker frozen past its session',
  happen: async ({ posts }, random) => {
    const pid = random.pick(posts.workers).process()?.pid
    if (pid === undefined) throw new Error('there is no worker')
    process.kill(pid, 'SIGSTOP')
    await sleep(sessionMs + 5 * second + random.whole(25 * second))
    process.kill(pid, 'SIGCONT')
  },
}

/** With two of three gone nothing can be written: the gateways answer 503. */
const killedBrokers = (kind: string, count: number): Fault => ({
  kind,
  happen: async ({ parts }, random) => {
    const first = random.whole(parts.cluster.nodes.length)
    const nodes = parts.cluster.nodes.filter((_, index) => (index + first) % parts.cluster.nodes.length < count)
    for (const node of nodes) node.kill('SIGKILL')
    await Promise.all(nodes.map(node => node.exited()))
    await sleep(random.whole(8 * second))
    await Promise.all(nodes.map(node => node.start()))
    await sleep(caughtUpMs)
  },
})

const killedEngine: Fault = {
  kind: 'ClickHouse killed',
  happen: async ({ parts }, random) => {
    await parts.engine.kill()
    await sleep(random.whole(4 * second))
    await parts.engine.start()
  },
}

const killedPostgres: Fault = {
  kind: 'PostgreSQL killed',
  happen: async ({ parts }) => {
    process.kill(Number(readFileSync(join(parts.postgresFolder, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL')
    await sleep(3 * second)
  },
}

/** All kinds of harm. */
export const faults: readonly Fault[] = [
  killed('gateway killed', 'gateways'),
  killed('worker killed', 'workers'),
  killed('query-service killed', 'queries'),
  killedBrokers('broker of three killed', 1),
  killedBrokers('two brokers of three killed', 2),
  frozenWorker,
  restarted('gateways restarted in turn', 'gateways'),
  restarted('workers restarted in turn', 'workers'),
  restarted('query-service restarted', 'queries'),
  moody('ClickHouse refuses', ['refuse']),
  moody('ClickHouse hangs', ['hang']),
  moody('ClickHouse cuts its answers', ['cut', 'cut after']),
  killedEngine,
  killedPostgres,
]

/** Give faults without an end, each kind once before any comes again, in random order. */
export const faultDeck = (): ((random: Random) => Fault) => {
  let left: Fault[] = []
  return random => {
    if (left.length === 0) left = [...faults]
    const [fault] = left.splice(random.whole(left.length), 1)
    return fault as Fault
  }
}
