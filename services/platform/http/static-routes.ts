import type { NextTurn } from '../../contract/operation.ts'
import { startTurns } from '../concurrency/time-slices.ts'
import { withTimeout } from '../concurrency/timeout.ts'
import type { StaticContent, StaticRoute } from './binding.ts'

/** A health check. It fails if `isHealthy` throws or exceeds the time limit. */
export type HealthCheck = { readonly name: string; readonly isHealthy: () => boolean | Promise<boolean> }

/** Time limit of a check in ms. Orchestrators restart a process that does not answer within a few seconds. */
const checkTimeoutMs = 2_000

const runCheck = ({ isHealthy }: HealthCheck): Promise<boolean> =>
  withTimeout(checkTimeoutMs, async () => isHealthy()).catch(() => false)

const runChecks = (checks: readonly HealthCheck[]) =>
  Promise.all(checks.map(async check => [check.name, await runCheck(check)] as const))

/**
 * Create a health route. A failed check answers 503. A part that refuses its requests leaves the status 200, because
 * load balancers must send the requests of all other parts.
 */
const healthRoute = (
  path: string,
  checks: readonly HealthCheck[],
  parts: readonly HealthCheck[] = [],
): StaticRoute => ({
  path,
  read: async () => {
    const [results, partResults] = await Promise.all([runChecks(checks), runChecks(parts)])
    const isFailing = results.some(([, isHealthy]) => !isHealthy)
    const isDegraded = partResults.some(([, isHealthy]) => !isHealthy)
    const status = isFailing ? 'failing' : isDegraded ? 'degraded' : 'ok'
    return {
      status: isFailing ? 503 : 200,
      mediaType: 'application/json; charset=utf-8',
      body: JSON.stringify({ status, checks: Object.fromEntries([...results, ...partResults]) }),
      headers: { 'Cache-Control': 'no-store' },
    }
  },
})

/**
 * Create `/health/live` (the loops make progress) and `/health/ready` (the required stores answer; `parts` that refuse
 * requests are named).
 */
export const healthRoutes = (
  live: readonly HealthCheck[],
  ready: readonly HealthCheck[],
  parts: readonly HealthCheck[] = [],
): readonly StaticRoute[] => [healthRoute('/health/live', live), healthRoute('/health/ready', ready, parts)]

const inBytes = (content: StaticContent): StaticContent => {
  const body = typeof content.body === 'string' ? Buffer.from(content.body) : content.body
  return { ...content, body }
}

/**
 * Serve content that is created at the first request. The bytes and their compressed form are cached. Long work awaits
 * `nextTurn` between its steps.
 */
export const lazyRoute = (
  path: string,
  make: (nextTurn: NextTurn) => StaticContent | Promise<StaticContent>,
): StaticRoute => {
  const create = async (): Promise<StaticContent> => inBytes(await make(startTurns()))
  let content: Promise<StaticContent> | undefined
  return {
    path,
    read: () => {
      content ??= create()
      return content
    },
  }
}

/** Serve a constant JSON document. */
export const documentRoute = (path: string, make: (nextTurn: NextTurn) => Promise<unknown>): StaticRoute =>
  lazyRoute(path, async nextTurn => {
    const document = await make(nextTurn)
    await nextTurn()
    const body = JSON.stringify(document)
    return { status: 200, mediaType: 'application/json; charset=utf-8', body, headers: { 'Cache-Control': 'no-cache' } }
  })
