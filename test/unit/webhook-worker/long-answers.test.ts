import { describe, expect, it } from 'vitest'
import { startLocalServer } from '../../support/http/local-server.ts'
import { until } from '../../support/system/until.ts'
import { openWebhookFixture } from '../../support/webhooks/webhook-fixture.ts'

const events = 60
/** Long enough that a busy machine has several requests at once. */
const answerMs = 100
/** The first answers set the pace. */
const first = 20

/** Send events to a subscriber that answers late. Return the maximum of concurrent requests after the first ones. */
const maxConcurrency = async (answerBytes: number): Promise<number> => {
  const answer = Buffer.alloc(answerBytes, 'x')
  let answered = 0
  let underWay = 0
  let max = 0
  await using server = await startLocalServer((_, response) => {
    underWay += 1
    if (answered >= first) max = Math.max(max, underWay)
    setTimeout(() => {
      underWay -= 1
      answered += 1
      response.writeHead(200).end(answer)
    }, answerMs)
  })
  await using world = await openWebhookFixture({ at: Date.now })
  const { id } = await world.subscribe(`${server.url}/`)
  await world.emit(events)
  await until(
    async () => (await world.deliveries(id)).filter(({ status }) => status === 'DELIVERED').length,
    count => count === events,
  )
  return max
}

describe('responses longer than their stored part', () => {
  it('are all delivered, but few at once', { timeout: 60_000 }, async () => {
    expect(await maxConcurrency(65_536)).toBeLessThanOrEqual(4)
    expect(await maxConcurrency(100)).toBeGreaterThan(8)
  })
})
