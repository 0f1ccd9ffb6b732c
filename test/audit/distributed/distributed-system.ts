import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Role } from '../../../services/platform/config.ts'
import type { Sandbox } from '../../../services/platform/sandbox-file.ts'
import { print } from '../../demo/terminal.ts'
import type { Client } from '../../support/client.ts'
import { type Post, postOf } from '../../support/kafka/post.ts'
import { openProxy, type RoleProcess, startRoles } from '../../support/kafka/processes.ts'
import { type AuditedSystem, type Caller, lastingClient } from '../audited-system.ts'
import { faultDeck, type Posts } from './faults.ts'
import { openParts } from './open-parts.ts'

const mostStarts = 5
const againMs = 2_000

/** A process that did not start, because something it needs is away, is started again, as whoever supervises processes does. */
const supervised = async (start: () => Promise<RoleProcess>): Promise<RoleProcess> => {
  for (let starts = 1; ; starts += 1) {
    try {
      return await start()
    } catch (error) {
      if (starts === mostStarts) throw error
      print(
        `  a process did not start and is started again: ${String(error)
          .split('\n')
          .findLast(line => line !== '')}`,
      )
      await sleep(againMs)
    }
  }
}

/** The system of many processes, which others may join; `engineUrl` is where its rows are. */
export type DistributedAudited = AuditedSystem & {
  readonly join: (...roles: readonly Role[]) => Promise<RoleProcess>
  readonly engineUrl: string
}

/** Make the system of many processes on a folder, not started: brokers, registry and stores run. */
export const distributedSystem = async (folder: string): Promise<DistributedAudited> => {
  await using opening = new AsyncDisposableStack()
  const parts = opening.use(await openParts(folder))
  const start = (roles: readonly Role[]): Promise<RoleProcess> => supervised(() => startRoles(folder, parts.variables, roles))
  const postsOf = (count: number, ...roles: readonly Role[]): readonly Post[] => Array.from({ length: count }, () => postOf(roles, start))
  const posts: Posts = {
    queries: postsOf(1, 'query-service', 'webhook-worker'),
    gateways: postsOf(2, 'ingest-gateway'),
    workers: postsOf(2, 'cost-worker'),
  }
  const all = [...posts.queries, ...posts.gateways, ...posts.workers]
  const next = faultDeck()
  const ways: { readonly client: () => Client; readonly gateway: Post }[] = []
  const failedStops: string[] = []
  let turn = 0

  const sandbox = (): Sandbox => {
    const query = posts.queries[0]?.process()
    if (!query) throw new Error('no query-service is there')
    return { ...(JSON.parse(readFileSync(join(folder, 'sandbox.json'), 'utf8')) as Sandbox), base_url: query.url }
  }

  /** One way in for each gateway, which goes on while processes come and go behind it. */
  const openWays = async (): Promise<void> => {
    for (const gateway of posts.gateways) {
      const proxy = opened.use(
        await openProxy(
          () => [gateway.process()],
          () => posts.queries[0]?.process() ?? null,
        ),
      )
      ways.push({ gateway, client: await lastingClient(() => ({ ...sandbox(), base_url: proxy.url })) })
    }
  }

  const caller = (): Caller | null => {
    const open = ways.filter(({ gateway }) => gateway.process() !== null)
    const way = open[turn++ % open.length]
    return way === undefined ? null : { client: way.client(), lives: () => way.gateway.living().map(({ isGone }) => ({ isOver: isGone })) }
  }

  const stop = async (): Promise<void> => {
    for (const { code } of await Promise.all(all.map(post => post.stop()))) {
      if (code !== 0) throw new Error(`a process stopped with ${code}`)
    }
    await parts.engine.stop()
  }

  const opened = opening.move()
  let isStarted = false
  return {
    join: (...roles) => start(roles),
    engineUrl: parts.engine.url,
    caller,
    sandbox,
    start: async () => {
      if (isStarted) await parts.engine.start()
      isStarted = true
      // The first one makes the sandbox.
      for (const query of posts.queries) await query.start()
      await Promise.all([...posts.gateways, ...posts.workers].map(post => post.start()))
      if (ways.length === 0) await openWays()
      const started = caller()
      if (started === null) throw new Error('no gateway is there')
      return started.client
    },
    harm: async random => {
      const { kind, happen } = next(random)
      await happen({ parts, posts, failedStops }, random)
      return kind
    },
    failedStops: () => failedStops,
    stop,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(all.flatMap(post => post.living()).map(process => process.end('SIGKILL')))
      await opened.disposeAsync()
    },
  }
}
