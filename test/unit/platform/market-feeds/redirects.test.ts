import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { serviceClient } from '../../../../services/command-line/service-client.ts'
import { fetchPrices } from '../../../../services/platform/market-feeds/fetch-prices.ts'
import { jsonFeeds } from '../../../../services/platform/market-feeds/json-feeds.ts'
import { startLocalServer } from '../../../support/http/local-server.ts'
import { settings } from './feed-samples.ts'

const { awattar } = jsonFeeds

/** A server that redirects each request, and a target that counts its requests. */
const openElsewhere = async () => {
  let visits = 0
  const canary = await startLocalServer((_, response) => {
    visits += 1
    response.end('{}')
  })
  const front = await startLocalServer((request, response) => {
    const status = Number(/status=(\d+)/.exec(request.url ?? '')?.[1] ?? 302)
    response.writeHead(status, { Location: `${canary.url}/stolen` }).end()
  })
  return {
    url: front.url,
    visits: () => visits,
    [Symbol.asyncDispose]: async () => {
      await canary[Symbol.asyncDispose]()
      await front[Symbol.asyncDispose]()
    },
  }
}

describe('a redirect', () => {
  it('of a market feed is refused and not followed', async () => {
    await using elsewhere = await openElsewhere()
    const span = { from: Date.UTC(2025, 8, 1), to: Date.UTC(2025, 8, 2) }
    for (const status of [301, 302, 303, 307, 308]) {
      const fetching = fetchPrices(
        { name: 'awattar', feed: awattar, settings },
        { area: 'AT', currencyCode: 'EUR' },
        span,
        {
          fetch: (_, init) => fetch(`${elsewhere.url}/?status=${status}`, init),
          signal: new AbortController().signal,
        },
      )
      await expect(fetching).rejects.toMatchObject({ code: 'feed_refused' })
    }
    expect(elsewhere.visits()).toBe(0)
  })

  it('is not followed by the command line, which sends keys', async () => {
    await using elsewhere = await openElsewhere()
    expect((await serviceClient(elsewhere.url, { 'X-Operator-Key': 'secret' }).call('GET', '/markets')).status).toBe(
      302,
    )
    expect(elsewhere.visits()).toBe(0)
  })
})

describe('the code', () => {
  it('sets the redirect mode of each outgoing request', () => {
    const services = join(import.meta.dirname, '../../../../services')
    const files = readdirSync(services, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
    const silent = files.filter(file => {
      const text = readFileSync(join(services, file), 'utf8')
      // The console calls the app of its own process. That call is not an outgoing request.
      const sends = [...text.matchAll(/(?<![.\w])(?:options\.)?fetch\((?!new Request|request)/g)].length
      return sends > [...text.matchAll(/redirect: '(?:manual|error)'/g)].length
    })
    expect(silent).toEqual([])
  })
})
