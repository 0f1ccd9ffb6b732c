import { inSlices } from '../../contract/slices.ts'
import { answerWithin } from '../patience.ts'
import type { Page, PageContent } from './binding.ts'

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

const inBytes = (content: PageContent): PageContent => {
  const body = typeof content.body === 'string' ? Buffer.from(content.body) : content.body
  return { ...content, body }
}

/** Serve content that is made in slices when it is first asked for; its bytes are kept, and what is made of them with them. */
export const lazyPage = (path: string, make: () => Generator<void, PageContent>): Page => {
  let made: Promise<PageContent> | undefined
  return {
    path,
    read: () => {
      made ??= inSlices(make()).then(inBytes)
      return made
    },
  }
}

/** Serve a JSON document that does not change while the process runs. */
export const documentPage = (path: string, make: () => Generator<void, unknown>): Page =>
  lazyPage(path, function* () {
    const document = yield* make()
    yield
    const body = JSON.stringify(document)
    return { status: 200, mediaType: 'application/json; charset=utf-8', body, headers: { 'Cache-Control': 'no-cache' } }
  })
