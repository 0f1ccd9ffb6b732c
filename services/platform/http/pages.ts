import { answerWithin } from '../patience.ts'
import type { Page } from './binding.ts'

/** How a part of the system is doing; one that throws or does not tell in time is not well. */
export type Check = { readonly name: string; readonly isWell: () => boolean | Promise<boolean> }

/** Whoever asks for health waits a few seconds, and takes no answer for the death of the process. */
const answerMs = 2_000

const tell = ({ isWell }: Check): Promise<boolean> => answerWithin(answerMs, async () => isWell()).catch(() => false)

const health = (path: string, checks: readonly Check[]): Page => ({
  path,
  read: async () => {
    const results = await Promise.all(checks.map(async check => [check.name, await tell(check)] as const))
    const failing = results.filter(([, well]) => !well).map(([name]) => name)
    return {
      status: failing.length === 0 ? 200 : 503,
      mediaType: 'application/json; charset=utf-8',
      body: JSON.stringify({ status: failing.length === 0 ? 'ok' : 'failing', checks: Object.fromEntries(results) }),
      headers: { 'Cache-Control': 'no-store' },
    }
  },
})

/** Health is progress: live while the loops move, ready while the stores answer that the process can do nothing without. */
export const healthPages = (live: readonly Check[], ready: readonly Check[]): readonly Page[] => [
  health('/health/live', live),
  health('/health/ready', ready),
]

/** Serve a JSON document that does not change while the process runs; it is made when it is first asked for. */
export const documentPage = (path: string, make: () => unknown): Page => {
  let body: string | undefined
  return {
    path,
    read: async () => {
      body ??= JSON.stringify(make())
      return { status: 200, mediaType: 'application/json; charset=utf-8', body, headers: { 'Cache-Control': 'no-cache' } }
    },
  }
}
