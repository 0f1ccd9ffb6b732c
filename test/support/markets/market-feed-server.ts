import type { IncomingMessage, ServerResponse } from 'node:http'
import { startLocalServer } from '../http/local-server.ts'

/** Reaction of a feed to a request: an answer or a fault. */
export type FeedAnswer =
  | { readonly status?: number; readonly text: string; readonly headers?: Readonly<Record<string, string>> }
  | 'hang'
  | 'cut'
  | 'endless'

/** A feed on the loopback interface. Tests may change `answer` at any time. `requests` lists the requested paths. */
export type FeedServer = AsyncDisposable & {
  readonly baseUrl: string
  readonly requests: string[]
  answer: (url: URL) => FeedAnswer
}

const failWith = (how: 'hang' | 'cut' | 'endless', response: ServerResponse): void => {
  if (how === 'hang') return
  response.writeHead(200, { 'Content-Type': 'application/json' })
  if (how === 'cut') {
    response.write('{"license_info":', () => response.destroy())
    return
  }
  const block = 'x'.repeat(65_536)
  const more = (): void => {
    while (!response.destroyed && response.write(block));
  }
  response.on('drain', more)
  more()
}

/** Start a feed. It answers 404 until a test sets `answer`. */
export const startFeedServer = async (): Promise<FeedServer> => {
  const requests: string[] = []
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url ?? '/', 'http://feed.test')
    requests.push(`${url.pathname}${url.search}`)
    const answer = feed.answer(url)
    if (typeof answer === 'string') failWith(answer, response)
    else
      response
        .writeHead(answer.status ?? 200, { 'Content-Type': 'application/json', ...answer.headers })
        .end(answer.text)
  }
  const { url: baseUrl, [Symbol.asyncDispose]: stop } = await startLocalServer(serve)
  const feed: FeedServer = {
    baseUrl,
    requests,
    answer: () => ({ status: 404, text: '' }),
    [Symbol.asyncDispose]: stop,
  }
  return feed
}

const quarter = 900

/**
 * Answer like Energy-Charts: the quarter hours of the requested interval that are published until an instant (ms).
 * The price of a quarter hour in EUR/MWh is its index in the UTC day, 0 … 95, plus `more`.
 */
export const energyChartsUntil =
  (publishedUntil: number, more = 0) =>
  (url: URL): FeedAnswer => {
    const from = Date.parse((url.searchParams.get('start') ?? '').replace('Z', ':00Z')) / 1000
    const to = Math.min(Date.parse((url.searchParams.get('end') ?? '').replace('Z', ':00Z')), publishedUntil) / 1000
    const starts = Array.from({ length: Math.max(0, (to - from) / quarter) }, (_, index) => from + index * quarter)
    const prices = starts.map(start => ((start / quarter) % 96) + more)
    return {
      text: JSON.stringify({
        license_info: '',
        unix_seconds: starts,
        price: prices,
        unit: 'EUR / MWh',
        deprecated: false,
      }),
    }
  }
