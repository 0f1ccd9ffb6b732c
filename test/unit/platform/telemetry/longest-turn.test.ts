import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createMetrics, serveMetrics, watchEventLoop } from '../../../../services/platform/telemetry/metrics.ts'
import { readSamples } from '../../../bench/samples.ts'

/** Keep the event loop busy for one turn. */
const block = (ms: number): void => {
  for (const until = performance.now() + ms; performance.now() < until; );
}

const metric = 'wattledger_event_loop_longest_turn_seconds'

describe('the longest turn of the event loop', () => {
  it('is the longest of the window, for any number of reads', async () => {
    using turns = watchEventLoop(3_000)
    await sleep(50)
    block(300)
    await sleep(50)
    const first = turns.longestTurnMs()
    expect(first).toBeGreaterThan(280)
    expect(turns.longestTurnMs()).toBe(first)
    await sleep(1_000)
    expect(turns.longestTurnMs()).toBeGreaterThanOrEqual(first)
  })

  it('is dropped after the window', async () => {
    using turns = watchEventLoop(600)
    await sleep(50)
    block(700)
    await sleep(50)
    expect(turns.longestTurnMs()).toBeGreaterThan(650)
    await sleep(900)
    expect(turns.longestTurnMs()).toBeLessThan(650)
  })

  it('is a metric of each process, with the same value for each scraper', async () => {
    await using server = await serveMetrics(createMetrics(), { host: '127.0.0.1', port: 0 })
    await sleep(50)
    block(200)
    await sleep(50)
    const read = async () => (await readSamples([`http://127.0.0.1:${server.port}/metrics`])).get(metric) ?? 0
    const first = await read()
    expect(first).toBeGreaterThan(0.18)
    expect(await read()).toBeGreaterThanOrEqual(first)
  })
})
