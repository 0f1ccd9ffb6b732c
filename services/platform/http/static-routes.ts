import { runInTimeSlices } from '../concurrency/time-slices.ts'
import { withTimeout } from '../concurrency/timeout.ts'
import type { StaticContent, StaticRoute } from './binding.ts'

/** How a part of the system is doing; one that throws or does not tell in time is not well. */
export type HealthCheck = { readonly name: string; readonly isHealthy: () => boolean | Promise<boolean> }

/** Whoever asks for health waits a few seconds, and takes no answer for the death of the process. */
const checkTimeoutMs = 2_000

const runCheck = ({ isHealthy }: HealthCheck): Promise<boolean> =>
  withTimeout(checkTimeoutMs, async () => isHealthy()).catch(() => false)

const healthRoute = (path: string, checks: readonly HealthCheck[]): StaticRoute => ({
  path,
  read: async () => {
    const results = await Promise.all(checks.map(async check => [check.name, await runCheck(check)] as const))
    const failing = results.filter(([, isHealthy]) => !isHealthy).map(([name]) => name)
    return {
      status: failing.length === 0 ? 200 : 503,
      mediaType: 'application/json; charset=utf-8',
      body: JSON.stringify({ status: failing.length === 0 ? 'ok' : 'failing', checks: Object.fromEntries(results) }),
      headers: { 'Cache-Control': 'no-store' },
    }
  },
})

/** Health is progress: live while the loops move, ready while the stores answer that the process can do nothing without. */
export const healthRoutes = (live: readonly HealthCheck[], ready: readonly HealthCheck[]): readonly StaticRoute[] => [
  healthRoute('/health/live', live),
  healthRoute('/health/ready', ready),
]

const inBytes = (content: StaticContent): StaticContent => {
  const body = typeof content.body === 'string' ? Buffer.from(content.body) : content.body
  return { ...content, body }
}

/** Serve content that is made in slices when it is first asked for; its bytes are kept, and what is made of them with them. */
export const lazyRoute = (path: string, make: () => Generator<void, StaticContent>): StaticRoute => {
  let content: Promise<StaticContent> | undefined
  return {
    path,
    read: () => {
      content ??= runInTimeSlices(make()).then(inBytes)
      return content
    },
  }
}

/** Serve a JSON document that does not change while the process runs. */
export const documentRoute = (path: string, make: () => Generator<void, unknown>): StaticRoute =>
  lazyRoute(path, function* () {
    const document = yield* make()
    yield
    const body = JSON.stringify(document)
    return { status: 200, mediaType: 'application/json; charset=utf-8', body, headers: { 'Cache-Control': 'no-cache' } }
  })
